"""The commands that are under way, and the results that have come of them."""

from __future__ import annotations

import functools
from abc import abstractmethod
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch._utils import ExceptionWrapper

from drapps import _core
from drapps.torch.progress import Progress
from drapps.torch.transfer import AHEAD, Transfer, TransferThread
from drapps.worker.commands import BeginPass, MakeBatch, SentCommand
from drapps.worker.job import ResultKind
from drapps.worker.serialise import load


@dataclass
class Result:
    """What has come of a command, and its way to its destination, if it has one."""

    sent: SentCommand
    kind: int
    parts: list[Any]
    transfer: Transfer | None

    def value(self) -> Any:
        """What the process has sent."""
        return load(self.parts) if self.transfer is None else self.transfer.taken()

    def delivered(self, data: Any) -> Any:
        """The batch `data`; a failure is raised."""
        if self.kind == ResultKind.ERROR or isinstance(data, ExceptionWrapper):
            data.reraise()
        return data


class CommandWindow:
    """The commands of one pass.

    Attributes:
        sent: commands without a result.
        taken: results that are not yielded yet; not more than one without a transfer thread.
        batch_bytes: of the batch taken last.
    """

    def __init__(self, board: _core.Board, transfer: TransferThread | None) -> None:
        self.sent: deque[SentCommand] = deque()
        self.taken: deque[Result] = deque()
        self.batch_bytes = 0
        self._board = board
        self._transfer = transfer
        self._beginnings = 0  # of passes in the workers, among what was sent

    @property
    def batches(self) -> int:
        """Batches that were asked for, and not given to the user yet."""
        return len(self.sent) + len(self.taken) - self._beginnings

    def add(self, sent: SentCommand) -> None:
        """One more command is under way."""
        self.sent.append(sent)
        if isinstance(sent.command, BeginPass):
            self._beginnings += 1

    def clear(self) -> None:
        """Nothing is waited for any more."""
        self.sent.clear()
        self.taken.clear()

    def cancel(self) -> None:
        """Nobody makes what has no result yet."""
        for sent in self.sent:
            self._board.cancel(sent.ticket)

    def next(self, wait: Callable[[], SentCommand]) -> Result:
        """The next result, at its destination where it has one; more are on their way there.

        Args:
            wait: waits for a command to be done, and gives it.
        """
        taken = self.taken
        if not taken:
            self._take(wait())
        while self._transfer is not None and self.sent and len(taken) <= AHEAD:
            sent = self.finished()
            if sent is None:
                break
            self._take(sent)
        if taken[0].transfer is not None:
            taken[0].transfer.wait()
        result = taken.popleft()
        if isinstance(result.sent.command, BeginPass):
            self._beginnings -= 1
        return result

    def _take(self, sent: SentCommand) -> None:
        kind, parts = self._board.take(sent.ticket)
        self.batch_bytes = sum(part.nbytes for part in parts)
        transfer = None
        pins = kind == ResultKind.VALUE and isinstance(sent.command, MakeBatch)
        if self._transfer is not None and pins:
            transfer = self._transfer.submit(functools.partial(load, parts))
        self.taken.append(Result(sent, kind, parts, transfer))

    @abstractmethod
    def finished(self) -> SentCommand | None:
        """A command that is done, and not among the sent any more."""

    @abstractmethod
    def wait(self, seconds: float) -> None:
        """Waits for what `finished` did not find, at most so long."""

    @abstractmethod
    def has_room(self, worker: int, batches: int) -> bool:
        """Whether a worker who may have so many batches under way may be asked for one more."""

    @abstractmethod
    def given(self, sent: SentCommand, progress: Progress) -> None:
        """This batch is given to the user next."""


class InOrderWindow(CommandWindow):
    """Results come in the order of their commands."""

    def finished(self) -> SentCommand | None:
        """The first command, if it is done."""
        return self.sent.popleft() if self._board.done(self.sent[0].ticket) else None

    def wait(self, seconds: float) -> None:
        """Waits for the first command."""
        self._board.wait(self.sent[0].ticket, seconds)

    def has_room(self, worker: int, batches: int) -> bool:  # noqa: ARG002
        """Always: its turn would be waited for in any case."""
        return True

    def given(self, sent: SentCommand, progress: Progress) -> None:
        """Nothing was overtaken."""


class AnyOrderWindow(CommandWindow):
    """Results come as they are done."""

    _seen = 0  # of the board's events, before the commands were looked at

    def finished(self) -> SentCommand | None:
        """Any command that is done."""
        self._seen = self._board.events()
        for sent in self.sent:
            if self._board.done(sent.ticket):
                self.sent.remove(sent)
                return sent
        return None

    def wait(self, seconds: float) -> None:
        """Waits for anything to happen on the board."""
        self._board.wait_event(self._seen, seconds)

    def has_room(self, worker: int, batches: int) -> bool:
        """A worker that is slow is not asked for more, as under stock."""
        busy = Counter(one.worker for one in self.sent if isinstance(one.command, MakeBatch))
        return busy[worker] < batches

    def given(self, sent: SentCommand, progress: Progress) -> None:
        """The batch may have overtaken others, which are left."""
        waiting = [*self.sent, *(taken.sent for taken in self.taken)]
        left = [one.position for one in waiting if isinstance(one.command, MakeBatch)]
        progress.overtook(sent.position, left)
