"""What happens when a worker process dies: a typed error, or its lost samples once more."""

from __future__ import annotations

import dataclasses
import reprlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Protocol

from drapps.errors import WorkerStartError
from drapps.worker.binding import Binding
from drapps.worker.child import Batch, Resume
from drapps.worker.crew import Crew, Death, last_act
from drapps.worker.moves import publish
from drapps.worker.process_knob import ProcessKnob

_ATTEMPTS = 3  # processes that one sample may cost, or the start of one
_START = (-1, -1)  # in the place of a sample


class Asked(Protocol):
    """A task that is being made, and whose it is."""

    ticket: int
    worker: int
    order: Batch | Resume
    position: int


class WorkerDiedError(RuntimeError):
    """A worker process ended, or stands still; the message names it, the cause and the sample.

    Attributes:
        worker: id of the virtual worker that the process began as.
        pid: of the process.
        cause: what ended it.
    """

    def __init__(self, message: str, worker: int = -1, pid: int = -1, cause: str = "") -> None:
        super().__init__(message)
        self.worker = worker
        self.pid = pid
        self.cause = cause

    @classmethod
    def of(cls, death: Death, asked: list[Asked], advice: str) -> WorkerDiedError:
        """The error of a death, with what can be done; `asked` are the tasks under way."""
        orders = {one.ticket: one.order for one in asked}
        last = last_act(death.status, _index_of(death, orders.get(death.status.ticket)))
        message = (
            f"DataLoader worker (pid(s) {death.pid}) exited unexpectedly: {death.cause}; as worker "
            f"{death.worker}, {last}. {advice}"
        )
        return cls(message, death.worker, death.pid, death.cause)


def _index_of(death: Death, order: Batch | Resume | None) -> str:
    """What the sampler gave for the sample that a process did last."""
    if not isinstance(order, Batch) or order.index is None:
        return ""
    if order.grain == 0 or death.status.piece < 0:
        return f" (index {reprlib.repr(order.index)})"
    first = death.status.piece * order.grain
    indices = order.index[first : first + order.grain]
    return f" (index {reprlib.repr(indices[0] if order.grain == 1 else indices)})"


@dataclass
class Recovery:
    """How another process takes the place of one that died.

    Attributes:
        crew: the processes.
        restarts: replace what dies; otherwise it is an error.
        binding: which process a virtual worker is bound to.
        knob: whose log has a remark per replacement.
    """

    crew: Crew
    restarts: bool
    binding: Binding
    knob: ProcessKnob
    # What each was asked for, with tickets and positions.
    _history: dict[int, list[tuple[int, Batch | Resume, int]]] = field(default_factory=dict)
    _passes: int = 0  # that the processes have ended
    _losses: Counter[tuple[int, int]] = field(default_factory=Counter)

    def remember(self, worker: int, ticket: int, order: Batch | Resume, position: int) -> None:
        """Keeps what a bound worker was asked, so that another process can repeat it."""
        if self.restarts and (self.binding.serial or self.binding.untold):
            self._history.setdefault(worker, []).append((ticket, order, position))

    def settle(self, asked: Iterable[Asked]) -> None:
        """All processes have told what they keep; `asked` is what is being made."""
        board = self.crew.board
        if not self.binding.serial:
            self._history.clear()
        for one in asked:
            if not self.binding.bound and not board.done(one.ticket):
                board.repin(one.ticket, -1)
            elif isinstance(one.order, Batch) and one.order.shared and not board.done(one.ticket):
                self._ask_again(one, one.order)

    def _ask_again(self, one: Asked, order: Batch) -> None:
        """Asks a process of the worker's own for what was not made in another worker's."""
        slots = self.binding.slots
        if list(slots.values()).count(slots[one.worker]) > 1:
            slots[one.worker] = self.crew.hire(one.worker).slot
            self._history.pop(one.worker, None)
        self.crew.board.cancel(one.ticket)
        one.order = dataclasses.replace(order, shared=False)
        place = (slots[one.worker], one.position)
        one.ticket = publish(self.crew.board, one.order, one.worker, *place)
        self.remember(one.worker, one.ticket, one.order, one.position)

    def began(self, worker: int, ticket: int, resume: Resume) -> None:
        """A pass has begun in the process of `worker`: nothing before `ticket` is repeated."""
        self._passes += 1
        if worker in self._history:
            later = [entry for entry in self._history[worker] if entry[0] > ticket]
            self._history[worker] = [(ticket, resume, 0), *later]

    def progressed(self) -> None:
        """A result has come, so processes do start."""
        del self._losses[_START]

    def check(self, outstanding: Iterable[Asked]) -> None:
        """Looks after the processes.

        Args:
            outstanding: what is being made.

        Raises:
            WorkerDiedError: one died and nothing replaces it.
        """
        while deaths := self.crew.check():
            asked = list(outstanding)
            for death in deaths:
                self._answer(death, asked)

    def _answer(self, death: Death, asked: list[Asked]) -> None:
        if not self.restarts:
            raise WorkerDiedError.of(
                death,
                asked,
                'on_worker_death="restart" makes the lost samples again in a new process.',
            )
        if self._passes and self.binding.lasting:
            lost = ", ".join(self.binding.lasting)
            raise WorkerDiedError.of(
                death, asked, f"What its dataset kept in {lost} in earlier passes is lost with it."
            )
        if death.stopped:
            reaped = self.crew.kill(death.slot)
            if reaped is not None:
                death = dataclasses.replace(reaped, cause=f"{death.cause}, and was killed")
        for place in self._blamed(death):
            self._losses[place] += 1
            if self._losses[place] >= _ATTEMPTS:
                what = "at their start" if place == _START else "of it"
                raise WorkerDiedError.of(death, asked, f"{_ATTEMPTS} processes have died {what}.")
        who = "another process takes the place of a dead one, and makes"
        if self.binding.bound:
            self._rebind(death, asked)
        elif death.retired and self.crew.active:
            who = "a process that was to end anyway died; the others make"
        else:
            who = self._replace(death, who)
        again = "its pass up to the place" if self._history else "what was lost"
        self.knob.remark(
            f"{who} {again} again",
            worker=death.worker,
            pid=death.pid,
            cause=death.cause,
        )

    def _replace(self, death: Death, who: str) -> str:
        """Starts another process; who makes what was lost."""
        try:
            self.crew.hire(death.worker)
        except WorkerStartError as error:
            if not self.crew.active:
                raise
            left = len(self.crew.active)
            self.knob.control.want(left)
            return f"no process can be added ({error}); {left} are left, and make"
        return who

    def _blamed(self, death: Death) -> list[tuple[int, int]]:
        """What a process may have died of: what it was at, not all that waited for it."""
        if death.status.phase == "starting":
            return [_START]
        pieces = [place for place in death.lost if place[1] >= 0]
        return pieces or list(death.lost)

    def _rebind(self, death: Death, asked: list[Asked]) -> None:
        board = self.crew.board
        slots = self.binding.slots
        home = [worker for worker, slot in slots.items() if slot == death.slot]
        own = [one.ticket for one in asked if one.worker in home]
        mine = [ticket for ticket in own if not board.done(ticket)]
        history = self._history.get(death.worker, [])
        replay = tuple(entry[1:] for entry in history if entry[0] not in mine)
        slot = self.crew.hire(death.worker, replay).slot
        slots.update(dict.fromkeys(home, slot))
        for ticket in mine:
            board.repin(ticket, slot)
