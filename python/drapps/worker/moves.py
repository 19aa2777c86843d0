"""Virtual workers that are bound to processes, on fewer of them, and on more again.

A process is given back when those that are bound to it have gone to the others; to one that is
added go those that share others, until all have as many. They go between two batches:

1. ``Leave`` is asked of the process, behind all that was asked of it before.
2. What the virtual worker takes along comes back, and ``Arrive`` brings it to the other process.
   What was asked for in the meantime is asked for there.
3. Who cannot go now stays. Streams without a ``state_dict`` are tried again when they have ended.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol

from drapps import _core
from drapps.worker.child import Arrive, Batch, Leave, Resume
from drapps.worker.crew import Crew
from drapps.worker.job import VALUE
from drapps.worker.process_knob import ProcessKnob


class Asked(Protocol):
    """A task that is being made, and whose it is."""

    ticket: int
    worker: int
    order: Batch | Resume
    position: int


def publish(
    board: _core.Board,
    order: Batch | Resume | Leave | Arrive,
    worker: int,
    slot: int,
    position: int = 0,
    urgent: bool = False,
) -> int:
    """Asks the process in `slot`, or any (-1), for something of `worker`; gives its ticket."""
    ticket = board.publish(
        pickle.dumps(order, protocol=5),
        worker=worker,
        process=slot,
        pieces=order.pieces if isinstance(order, Batch) else 0,
        urgent=urgent,
        position=position,
    )
    assert ticket >= 0, "the board is larger than the window"
    return ticket


@dataclass(frozen=True)
class _Move:
    """A virtual worker on its way; to a process that is to be added where `target` is None."""

    ticket: int
    source: int
    target: int | None


@dataclass
class Moves:
    """Gives processes back, and adds them.

    Attributes:
        crew: whose.
        slots: where each virtual worker is at home; changed here.
        knob: whose log says who went where, and how.
    """

    crew: Crew
    slots: dict[int, int]
    knob: ProcessKnob
    _target: int = 0
    _why: str = ""
    _under_way: dict[int, _Move] = field(default_factory=dict)
    _staying: set[int] = field(default_factory=set)
    _arriving: list[int] = field(default_factory=list)

    @property
    def most(self) -> int:
        """Processes that can have somebody at home."""
        return len(self.slots)

    def aim(self, processes: int, why: str) -> None:
        """So many are wanted."""
        self._target, self._why = processes, why
        self._go_on()

    def ended(self, worker: int) -> None:
        """The stream of `worker` has ended."""
        self._staying.discard(worker)
        self._go_on()

    def settle(self, asked: Iterable[Asked]) -> None:
        """Brings those who have left to where they go on; `asked` is what is being made."""
        board = self.crew.board
        for ticket in filter(board.done, tuple(self._arriving)):
            self._arriving.remove(ticket)
            board.take(ticket)
        done = [worker for worker, move in self._under_way.items() if board.done(move.ticket)]
        for worker in done:
            move = self._under_way.pop(worker)
            kind, parts = board.take(move.ticket)
            text = bytes(parts[0]).decode(errors="replace") if kind == VALUE else "it did not start"
            if kind == VALUE and len(parts) > 1:
                target = self._added(worker, move.source) if move.target is None else move.target
                self._bring(worker, target, move.ticket, parts[1:], asked)
                self._remark(f"went on in another process: {text}", worker)
            else:
                self._staying.add(worker)
                self._remark(f"stays with its process for now: {text}", worker)
            self._give_back(move.source)
        if done:
            self._go_on()

    def _added(self, worker: int, source: int) -> int:
        """The slot of one more process for `worker`; `source` where there can be none."""
        before = len(self.crew.active)
        try:
            slot = self.crew.hire(worker).slot
        except (OSError, RuntimeError) as error:  # a limit on processes, memory or places
            self._target = before
            self.knob.control.want(before)
            self.knob.remark(f"no process can be added: {error}")
            return source
        self._count("a process more")
        return slot

    def _bring(
        self, worker: int, target: int, left: int, parts: list[Any], asked: Iterable[Asked]
    ) -> None:
        board = self.crew.board
        self.slots[worker] = target
        arrival = Arrive([bytearray(part) for part in parts])
        self._arriving.append(publish(board, arrival, worker, target))
        for one in asked:
            # A process takes what is for it alone in the order of tickets.
            if one.worker == worker and one.ticket > left:
                board.cancel(one.ticket)
                one.ticket = publish(board, one.order, worker, target, one.position)

    def _remark(self, what: str, worker: int) -> None:
        self.knob.remark(f"worker {worker} {what}", worker=worker)

    def _go_on(self) -> None:
        """Begins to empty one more process, or to fill one."""
        hosted: dict[int, list[int]] = {member.slot: [] for member in self.crew.active}
        if self._under_way or not self._target:
            return
        for worker, slot in self.slots.items():
            hosted[slot].append(worker)
        if self._target < len(hosted):
            self._empty(hosted)
        else:
            self._spread(hosted)

    def _empty(self, hosted: dict[int, list[int]]) -> None:
        movable = [slot for slot, workers in hosted.items() if self._staying.isdisjoint(workers)]
        if not movable:
            return
        source = min(movable, key=lambda slot: (len(hosted[slot]), -slot))
        for worker in hosted.pop(source):
            target = min(hosted, key=lambda slot: len(hosted[slot]))
            hosted[target].append(worker)
            self._send(worker, source, target)

    def _spread(self, hosted: dict[int, list[int]]) -> None:
        movable = {worker for worker in self.slots if worker not in self._staying}
        sources = [slot for slot, workers in hosted.items() if not movable.isdisjoint(workers)]
        if not sources:
            return
        source = max(sources, key=lambda slot: len(hosted[slot]))
        target = None
        if self._target <= len(hosted):
            target = min(hosted, key=lambda slot: len(hosted[slot]))
        if len(hosted[source]) > 1 + (0 if target is None else len(hosted[target])):
            self._send(min(movable.intersection(hosted[source])), source, target)

    def _send(self, worker: int, source: int, target: int | None) -> None:
        ticket = publish(self.crew.board, Leave(), worker, source)
        self._under_way[worker] = _Move(ticket, source, target)

    def _give_back(self, slot: int) -> None:
        """Retires a process in which nobody is at home any more."""
        if slot in self.slots.values():
            return
        self.crew.retire(slot)
        self._count("a process less")

    def _count(self, what: str) -> None:
        self.knob.remark(f"{what}: {self._why}", processes=len(self.crew.active))
