"""What happens when a worker process dies: a typed error, or its lost samples once more."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from drapps.worker.child import Batch, Resume
from drapps.worker.crew import Crew, Death

_ATTEMPTS = 3  # processes that one sample may cost


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
    def of(cls, death: Death, advice: str) -> WorkerDiedError:
        """The error of a death, with what can be done."""
        message = (
            f"DataLoader worker (pid(s) {death.pid}) exited unexpectedly: {death.cause}; as worker "
            f"{death.worker}, {death.last}. {advice}"
        )
        return cls(message, death.worker, death.pid, death.cause)


@dataclass
class Recovery:
    """Which process a virtual worker is bound to, and how another takes its place.

    Attributes:
        crew: the processes.
        restarts: replace what dies; otherwise it is an error.
        bound: each virtual worker has a process of its own.
        serial: what a process makes depends on what it made before.
        log: one record per replacement.
    """

    crew: Crew
    restarts: bool
    bound: bool
    serial: bool
    log: list[dict[str, Any]] = field(default_factory=list)
    _slots: dict[int, int] = field(default_factory=dict)  # of virtual workers
    _history: dict[int, list[tuple[int, Batch | Resume]]] = field(default_factory=dict)
    _losses: Counter[int] = field(default_factory=Counter)

    def place(self, worker: int, slot: int) -> None:
        """`worker` is bound to the process in `slot`."""
        self._slots[worker] = slot

    def slot_of(self, worker: int) -> int:
        """Where a task of `worker` is to run; -1 for anywhere."""
        return self._slots[worker] if self.bound else -1

    def remember(self, worker: int, ticket: int, order: Batch | Resume) -> None:
        """Keeps what a bound worker was asked, so that another process can repeat it."""
        if self.serial and self.restarts:
            self._history.setdefault(worker, []).append((ticket, order))

    def began(self, worker: int, ticket: int, resume: Resume) -> None:
        """A pass has begun in the process of `worker`: nothing before `ticket` is repeated."""
        if worker in self._history:
            later = [entry for entry in self._history[worker] if entry[0] > ticket]
            self._history[worker] = [(ticket, resume), *later]

    def check(self, outstanding: Iterable[tuple[int, int]]) -> None:
        """Looks after the processes.

        Args:
            outstanding: (ticket, virtual worker) of what is being made.

        Raises:
            WorkerDiedError: one died and nothing replaces it.
        """
        deaths = self.crew.check()
        if not deaths:
            return
        tickets = list(outstanding)
        for death in deaths:
            self._answer(death, tickets)

    def _answer(self, death: Death, outstanding: list[tuple[int, int]]) -> None:
        if not self.restarts:
            raise WorkerDiedError.of(
                death,
                'on_worker_death="restart" makes the lost samples again in a new process.',
            )
        if death.stopped:
            death = self.crew.kill(death.slot) or death
        for ticket, piece in death.lost if death.began else ((-1, -1),):
            place = (ticket << 16) + piece
            self._losses[place] += 1
            if self._losses[place] >= _ATTEMPTS:
                raise WorkerDiedError.of(death, f"{_ATTEMPTS} processes have died of it.")
        if self.bound:
            self._rebind(death, outstanding)
        else:
            self.crew.hire(death.worker)
        self.log.append(
            {"event": "restart", "worker": death.worker, "pid": death.pid, "cause": death.cause}
        )

    def _rebind(self, death: Death, outstanding: list[tuple[int, int]]) -> None:
        board = self.crew.board
        mine = [t for t, worker in outstanding if worker == death.worker and not board.done(t)]
        history = self._history.get(death.worker, [])
        replay = tuple(order for ticket, order in history if ticket not in mine)
        slot = self.crew.hire(death.worker, replay).slot
        self.place(death.worker, slot)
        for ticket in mine:
            board.repin(ticket, slot)
