"""What a worker process tells of itself along with what it was asked for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from drapps.torch.told_state import ToldState
from drapps.worker.serialise import Envelope


@dataclass(frozen=True)
class ReportedBatch(Envelope):
    """A batch, and where it has left the virtual worker that made it.

    Attributes:
        data: the batch.
        drawn: of `packed_states` those that are others than behind the batch before.
        changed: what the dataset keeps on itself, see `Watch`; None where nobody has looked.
    """

    data: Any
    drawn: dict[str, bytes] = field(default_factory=dict)
    changed: dict[str, bool] | None = None

    def parts(self) -> list[tuple[str, Any]]:
        """The user's batch."""
        return [("", self.data)]


@dataclass(frozen=True)
class StreamBatch(ReportedBatch):
    """A batch of a stream.

    Attributes:
        state: of the stream; None where nothing has one.
        ended: the stream has ended behind what may be less than a batch.
        whole: the stream is the same in all workers, as far as one can tell.
    """

    state: ToldState | None = None
    ended: bool = False
    whole: bool = False


@dataclass(frozen=True)
class EndedStream:
    """A stream has no more batches.

    Attributes:
        drawn: of `packed_states` those that are others than behind the batch before.
    """

    drawn: dict[str, bytes]


@dataclass(frozen=True)
class BegunPass:
    """A virtual worker has begun a pass.

    Attributes:
        random: the states of `random_states` that it began with, where another process may have to
            begin again.
        drawn: of `packed_states` those that are others than at the start of the process.
    """

    random: Any
    drawn: dict[str, bytes]
