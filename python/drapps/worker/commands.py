"""What the parent asks of the worker processes, and how it reaches them: as tasks on the board."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from drapps import _core

ANY_PROCESS = -1  # in the place of a process number


@dataclass(frozen=True)
class MakeBatch:
    """A batch of a virtual worker.

    Attributes:
        epoch: whose random numbers its samples draw.
        index: indices of its samples, or what the whole of it is made of.
        grain: samples per piece; 0 where it is made as a whole.
        shared: made in another worker's process, and only where its dataset keeps no state.
    """

    epoch: int
    index: Any
    grain: int = 0
    shared: bool = False

    @property
    def has_index(self) -> bool:
        """Whether the sampler named samples, as it does none of a stream."""
        named = self.index if isinstance(self.index, list) and self.index else [self.index]
        return any(index is not None for index in named)

    @property
    def pieces(self) -> int:
        """The number of pieces that the batch is made in."""
        return -(-len(self.index) // self.grain) if self.grain else 0


@dataclass(frozen=True)
class BeginPass:
    """A virtual worker begins a pass in its process, or goes on within one.

    Attributes:
        epoch: of the pass.
        message: what the adapter needs for it, see `Job.begin_pass`.
    """

    epoch: int
    message: Any


@dataclass(frozen=True)
class LeaveProcess:
    """A virtual worker leaves its process.

    The result is how it leaves, a pickle and buffers; where it stays, only why.
    """


@dataclass(frozen=True)
class JoinProcess:
    """A virtual worker that has left one process goes on in another.

    Attributes:
        carried: a pickle and its buffers, which can be written to.
    """

    carried: list[bytearray]


@dataclass
class SentCommand:
    """A command that is being carried out.

    Attributes:
        ticket: of its task on the board.
        worker: the virtual worker whose it is.
        command: what was asked.
        position: of the first sample in the epoch.
        sampler_state: the sampler's own, behind what it gave for this batch.
    """

    ticket: int
    worker: int
    command: MakeBatch | BeginPass
    position: int
    sampler_state: Any = None


def send(
    board: _core.Board,
    command: MakeBatch | BeginPass | LeaveProcess | JoinProcess,
    worker: int,
    process: int,
    position: int = 0,
    urgent: bool = False,
) -> int:
    """Asks a process, or any, for something of `worker`; gives the ticket of the task."""
    ticket = board.publish(
        pickle.dumps(command, protocol=5),
        worker=worker,
        process=process,
        pieces=command.pieces if isinstance(command, MakeBatch) else 0,
        urgent=urgent,
        position=position,
    )
    assert ticket >= 0, "the board is larger than the window"
    return ticket
