"""A sample that could not be delivered."""

from __future__ import annotations

from dataclasses import dataclass

from drapps.errors import SampleError
from drapps.report.base import Report


@dataclass(frozen=True, eq=False, repr=False)
class BadSample(Report):
    """A sample that a pass met and could not deliver; the attributes are those of `SampleError`.

    Attributes:
        stage: where it failed: ``fetch``, ``decode``, ``augment``, ``batch`` or ``deliver``.
        code: the kind of failure, such as ``truncated`` or ``not found``.
        path: the file, for a record in a shard with its range of bytes; ``memory[i]`` for a record
            in memory.
        offset: byte of the file (or of the record, in a shard) at which it was noticed, or -1.
        index: of the sample in its source, or -1.
        message: what was wrong and what to do, without the place.
    """

    stage: str
    code: str
    path: str
    offset: int
    index: int
    message: str

    def __str__(self) -> str:
        return str(
            SampleError(self.stage, self.code, self.path, self.offset, self.index, self.message)
        )
