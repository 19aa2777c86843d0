"""The description of packed text as the core reads it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from drapps.spec import VERSION, Sampler

if TYPE_CHECKING:
    from drapps.tokenizers.tokenizer import Tokenizer

NO_ID = -1


@dataclass(frozen=True)
class Packing:
    """How documents become rows; see `drapps.corpus.pipeline.TextPipeline.pack`."""

    length: int
    packing: str = "concatenate"
    pad: int = 0
    labels: str = "same"
    mask_starts: bool = False
    positions: bool = False
    documents: bool = False
    bos: int = NO_ID
    eos: int = NO_ID
    splits: int = 0
    weights: tuple[int, ...] = ()
    window: int = 4
    take: str = "all"
    held_out: float = 0.0
    ends: bool = False


@dataclass(frozen=True)
class PackedSpec:
    """A whole description."""

    tokenizer: Tokenizer
    packing: Packing
    sampler: Sampler = field(default_factory=Sampler)
    seed: int = 0
    on_error: str = "raise"

    def to_json(self) -> dict[str, Any]:
        """The description as plain, JSON-able data; the tokenizer is beside it."""
        return {
            "version": VERSION,
            "parts": {"text": {"modality": "packed_text", **_fields(self.packing)}},
            "sampler": asdict(self.sampler),
            "seed": self.seed,
            "on_error": self.on_error,
        }

    @property
    def attached(self) -> dict[str, Any]:
        """What JSON cannot hold of it, as the core's loader takes that."""
        return {"tokenizer": self.tokenizer.core}

    @property
    def attached_digests(self) -> tuple[str, ...]:
        """Of that."""
        return (self.tokenizer.digest,)


def _fields(packing: Packing) -> dict[str, Any]:
    """All of them, but what came later and is not used: so states of before stay valid."""
    later = {"weights": list(packing.weights), "ends": packing.ends}
    fields = {name: value for name, value in asdict(packing).items() if name not in later}
    return {**fields, **{name: value for name, value in later.items() if value}}
