"""The description of rows of tokens as the core reads it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any

from drapps.spec import VERSION, Sampler

if TYPE_CHECKING:
    from drapps.tokenizers.tokenizer import Tokenizer


@dataclass(frozen=True)
class Rows:
    """What a batch holds; see `drapps.token_shards.pipeline.TokenPipeline.pack`."""

    length: int
    labels: str = "same"
    mask_starts: bool = False
    positions: bool = False
    documents: bool = False
    packing: str = "concatenate"
    pad: int = 0
    special: tuple[int, ...] = ()
    mask: int = -1
    mask_probability: float = 0.15
    mask_replaced: float = 0.8
    mask_random: float = 0.1
    mask_words: bool = False

    @property
    def by_document(self) -> bool:
        """Whether it matters where documents begin."""
        listed = self.positions or self.documents or self.of_documents
        return self.mask_starts or self.mask_words or listed

    @property
    def of_documents(self) -> bool:
        """Whether there is a row for each document."""
        return self.packing == "documents"


# Fields that came later: where they are not used, states of before stay valid.
_LATER = [each.name for each in fields(Rows)]
_LATER = _LATER[_LATER.index("special") :]


@dataclass(frozen=True)
class TokenRowsSpec:
    """A whole description; the tokenizer is the one that made the ids, which some masks need."""

    rows: Rows
    sampler: Sampler = field(default_factory=Sampler)
    seed: int = 0
    on_error: str = "raise"
    tokenizer: Tokenizer | None = None

    @property
    def attached(self) -> dict[str, Any]:
        """What JSON cannot hold of the description, as the core's loader takes it."""
        return {} if self.tokenizer is None else {"tokenizer": self.tokenizer.core}

    @property
    def attached_digests(self) -> tuple[str, ...]:
        """The digests of what `attached` has."""
        return () if self.tokenizer is None else (self.tokenizer.digest,)

    def to_json(self) -> dict[str, Any]:
        """The description as plain, JSON-able data."""
        plain = Rows(length=self.rows.length)
        rows = {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in asdict(self.rows).items()
            if name not in _LATER or value != getattr(plain, name)
        }
        return {
            "version": VERSION,
            "parts": {"tokens": {"modality": "token_rows", **rows}},
            "sampler": asdict(self.sampler),
            "seed": self.seed,
            "on_error": self.on_error,
        }
