"""The description of packed text as the core reads it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
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
    origins: bool = False
    cu_seqlens: bool = False
    overlap: int = 0
    truncate: bool = False
    budget: int = 0
    multiple: int = 1
    lengths: tuple[int, ...] = ()
    pad_left: bool = False
    mask: int = NO_ID
    mask_probability: float = 0.15
    mask_replaced: float = 0.8
    mask_random: float = 0.1
    mask_words: bool = False


# Fields that came later: where they are not used, states of before stay valid.
_LATER = [each.name for each in fields(Packing)]
_LATER = ["weights", *_LATER[_LATER.index("ends") :]]


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
            "parts": {"text": {"modality": "packed_text", **described(self.packing)}},
            "sampler": asdict(self.sampler),
            "seed": self.seed,
            "on_error": self.on_error,
        }

    @property
    def attached(self) -> dict[str, Any]:
        """What JSON cannot hold of the description, as the core's loader takes it."""
        return {"tokenizer": self.tokenizer.core}

    @property
    def attached_digests(self) -> tuple[str, ...]:
        """The digests of what `attached` has."""
        return (self.tokenizer.digest,)


def described(packing: Packing) -> dict[str, Any]:
    """All fields of a packing, but those that came later and are not used."""
    plain = Packing(length=packing.length)
    named = {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in asdict(packing).items()
    }
    for name in _LATER:
        if getattr(packing, name) == getattr(plain, name):
            del named[name]
    return named
