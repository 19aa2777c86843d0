"""Brings the processes of a crew to the number that the control plane wants.

It decides in a thread of its own. What is surplus it retires itself; processes are started here,
between two batches or while the consumer waits for one, and a few at a time.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from drapps.errors import WorkerStartError
from drapps.worker.crew import Crew
from drapps.worker.moves import Moves
from drapps.worker.process_knob import ProcessKnob

_HIRING = 0.05  # seconds that starting processes may take at a time
_PERIOD = 2.0  # seconds between looks at how many there may be


@dataclass
class Elastic:
    """Starts processes of a crew, and has virtual workers move.

    Attributes:
        crew: whose.
        knob: whose control plane decides.
        most: gives how many processes there may be for other reasons than the budget.
        fixed: no process may come or go.
        moves: how processes come and go to which virtual workers are bound.
        clock: gives seconds.
    """

    crew: Crew
    knob: ProcessKnob
    most: Callable[[], int]
    fixed: bool = True
    moves: Moves | None = None
    clock: Callable[[], float] = time.monotonic
    _aimed: int = 0
    _looked: float = 0.0

    def begin(self, processes: int, all_needed: bool) -> list[int]:
        """Starts the first processes, or fewer at a limit where not all are needed; their slots.

        Raises:
            WorkerStartError: none could be started, or not all that are needed.
        """
        started = self.crew.members
        try:
            for worker in range(processes):
                self.crew.hire(worker)
        except WorkerStartError as error:
            if not started or all_needed:
                raise
            self.knob.control.want(len(started))
            self.knob.remark(f"{len(started)} processes instead of {processes}: {error}")
        return list(started)

    def staff(self, fixed: bool, moves: Moves | None) -> None:
        """From now on the number of processes is fixed, or changes in this way."""
        self.fixed, self.moves = fixed, moves
        self._aimed = len(self.crew.active)
        self._look()

    def _look(self) -> None:
        self._looked = self.clock()
        most = self.most() if self.moves is None else self.moves.most
        moves = self.moves is not None
        self.knob.control.set_scaling(fixed=self.fixed, migrates=moves, most=most)

    def step(self) -> None:
        """Does what was decided since. For after each batch, and while one is awaited."""
        if not self.fixed and self.clock() - self._looked > _PERIOD:
            self._look()
        self.crew.note_retired()
        wanted = self.knob.control.processes
        if self.fixed or wanted == self._aimed:
            return
        if self.moves is not None:
            self._aimed = wanted
            self.moves.aim(wanted, f"{wanted} processes are wanted")
            return
        self._hire(wanted)

    def _hire(self, wanted: int) -> None:
        until = self.clock() + _HIRING
        active = self.crew.active
        try:
            for _ in range(min(wanted, self.most()) - len(active)):
                self.crew.hire(active[0].worker)
                if self.clock() > until:
                    return
        except (OSError, RuntimeError) as error:  # a limit on processes, memory or places
            self.knob.remark(f"no process can be added: {error}")
        self._aimed = len(self.crew.active)
        self.knob.control.want(self._aimed)
