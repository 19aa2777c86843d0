"""Virtual workers that are bound to processes migrate: to fewer of them, and to more again.

A process is given back when those that are bound to it have gone to the others; to one that is
added go those that share others, until all have as many. They go between two batches:

1. ``LeaveProcess`` is asked of the process, behind all that was asked of it before.
2. What the virtual worker takes along comes back, and ``JoinProcess`` brings it to the other
   process. What was asked for in the meantime is asked for there.
3. Who cannot go now stays. Streams without a ``state_dict`` are tried again when they have ended.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from drapps.worker.commands import JoinProcess, LeaveProcess, SentCommand, send
from drapps.worker.job import ResultKind
from drapps.worker.pool import ProcessPool
from drapps.worker.process_knob import ProcessKnob


@dataclass(frozen=True)
class _Migration:
    """A virtual worker on its way; to a process that is to be added where `target` is None."""

    ticket: int
    source: int
    target: int | None


@dataclass
class Migrations:
    """Gives processes back, and adds them.

    Attributes:
        pool: whose processes.
        hosts: the number of the process that hosts each virtual worker; changed here.
        knob: whose log says who went where, and how.
    """

    pool: ProcessPool
    hosts: dict[int, int]
    knob: ProcessKnob
    _target: int = 0
    _why: str = ""
    _under_way: dict[int, _Migration] = field(default_factory=dict)
    _staying: set[int] = field(default_factory=set)
    _joining: list[int] = field(default_factory=list)

    @property
    def most(self) -> int:
        """Processes that can host somebody."""
        return len(self.hosts)

    def aim(self, processes: int, why: str) -> None:
        """So many processes are wanted."""
        self._target, self._why = processes, why
        self._go_on()

    def ended(self, worker: int) -> None:
        """The stream of `worker` has ended."""
        self._staying.discard(worker)
        self._go_on()

    def settle(self, sent: Iterable[SentCommand]) -> None:
        """Brings those who have left to where they go on; `sent` are the commands under way."""
        board = self.pool.board
        for ticket in filter(board.done, tuple(self._joining)):
            self._joining.remove(ticket)
            board.take(ticket)
        done = [worker for worker, each in self._under_way.items() if board.done(each.ticket)]
        for worker in done:
            each = self._under_way.pop(worker)
            kind, parts = board.take(each.ticket)
            came = kind == ResultKind.VALUE
            text = bytes(parts[0]).decode(errors="replace") if came else "it did not start"
            if came and len(parts) > 1:
                target = self._added(worker, each.source) if each.target is None else each.target
                self._bring(worker, target, each.ticket, parts[1:], sent)
                self._remark(f"went on in another process: {text}", worker)
            else:
                self._staying.add(worker)
                self._remark(f"stays with its process for now: {text}", worker)
            self._give_back(each.source)
        if done:
            self._go_on()

    def _added(self, worker: int, source: int) -> int:
        """The number of one more process for `worker`; `source` where there can be none."""
        before = len(self.pool.active)
        try:
            number = self.pool.start(worker).number
        except (OSError, RuntimeError) as error:  # a limit on processes, memory or places
            self._target = before
            self.knob.control.want(before)
            self.knob.remark(f"no process can be added: {error}")
            return source
        self._count("a process more")
        return number

    def _bring(
        self, worker: int, target: int, left: int, parts: list[Any], sent: Iterable[SentCommand]
    ) -> None:
        board = self.pool.board
        self.hosts[worker] = target
        joining = JoinProcess([bytearray(part) for part in parts])
        self._joining.append(send(board, joining, worker, target))
        for one in sent:
            # A process takes what is for it alone in the order of tickets.
            if one.worker == worker and one.ticket > left:
                board.cancel(one.ticket)
                one.ticket = send(board, one.command, worker, target, one.position)

    def _remark(self, what: str, worker: int) -> None:
        self.knob.remark(f"worker {worker} {what}", worker=worker)

    def _go_on(self) -> None:
        """Begins to empty one more process, or to fill one."""
        hosted: dict[int, list[int]] = {each.number: [] for each in self.pool.active}
        if self._under_way or not self._target:
            return
        for worker, number in self.hosts.items():
            hosted[number].append(worker)
        if self._target < len(hosted):
            self._empty(hosted)
        else:
            self._spread(hosted)

    def _empty(self, hosted: dict[int, list[int]]) -> None:
        movable = [
            number for number, workers in hosted.items() if self._staying.isdisjoint(workers)
        ]
        if not movable:
            return
        source = min(movable, key=lambda number: (len(hosted[number]), -number))
        for worker in hosted.pop(source):
            target = min(hosted, key=lambda number: len(hosted[number]))
            hosted[target].append(worker)
            self._ask_to_leave(worker, source, target)

    def _spread(self, hosted: dict[int, list[int]]) -> None:
        movable = {worker for worker in self.hosts if worker not in self._staying}
        sources = [number for number, workers in hosted.items() if not movable.isdisjoint(workers)]
        if not sources:
            return
        source = max(sources, key=lambda number: len(hosted[number]))
        target = None
        if self._target <= len(hosted):
            target = min(hosted, key=lambda number: len(hosted[number]))
        if len(hosted[source]) > 1 + (0 if target is None else len(hosted[target])):
            self._ask_to_leave(min(movable.intersection(hosted[source])), source, target)

    def _ask_to_leave(self, worker: int, source: int, target: int | None) -> None:
        ticket = send(self.pool.board, LeaveProcess(), worker, source)
        self._under_way[worker] = _Migration(ticket, source, target)

    def _give_back(self, number: int) -> None:
        """Retires a process that hosts nobody any more."""
        if number in self.hosts.values():
            return
        self.pool.retire(number)
        self._count("a process less")

    def _count(self, what: str) -> None:
        self.knob.remark(f"{what}: {self._why}", processes=len(self.pool.active))
