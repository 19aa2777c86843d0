"""The description of rows of tokens as the core reads it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar

from drapps.spec import VERSION, Sampler


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

    @property
    def by_document(self) -> bool:
        """Whether it matters where documents begin."""
        return self.mask_starts or self.positions or self.documents or self.of_documents

    @property
    def of_documents(self) -> bool:
        """Whether there is a row for each document."""
        return self.packing == "documents"


@dataclass(frozen=True)
class TokenRowsSpec:
    """A whole description."""

    rows: Rows
    sampler: Sampler = field(default_factory=Sampler)
    seed: int = 0
    on_error: str = "raise"

    attached: ClassVar[Mapping[str, Any]] = {}
    attached_digests: ClassVar[Sequence[str]] = ()

    def to_json(self) -> dict[str, Any]:
        """The description as plain, JSON-able data."""
        return {
            "version": VERSION,
            "parts": {"tokens": {"modality": "token_rows", **asdict(self.rows)}},
            "sampler": asdict(self.sampler),
            "seed": self.seed,
            "on_error": self.on_error,
        }
