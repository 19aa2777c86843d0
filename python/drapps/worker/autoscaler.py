"""Brings the processes of a pool to the number that the control plane wants.

It decides in a thread of its own. What is surplus it retires itself; processes are started here,
between two batches or while the consumer waits for one, and a few at a time.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable, Iterable

from drapps.worker.commands import SentCommand
from drapps.worker.migration import Migrations
from drapps.worker.pool import ProcessPool
from drapps.worker.process_knob import ProcessKnob

_STARTING = 0.05  # seconds that starting processes may take at a time
_PERIOD = 2.0  # seconds between looks at how many there may be


class Autoscaler:
    """Leaves the number of processes as it is, but for those that a decision has retired."""

    def __init__(
        self,
        pool: ProcessPool,
        knob: ProcessKnob,
        hosts: dict[int, int],  # noqa: ARG002
        most: Callable[[], int],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """From now on processes of `pool` come and go in this way.

        Args:
            pool: whose processes.
            knob: whose control plane decides.
            hosts: the process numbers of virtual workers, where those are bound to processes.
            most: gives how many processes there may be for other reasons than the budget.
            clock: gives seconds.
        """
        self._pool = pool
        self._knob = knob
        self._most = most
        self._clock = clock
        self._looked = clock()
        self._aimed = len(pool.active)
        self._tell()

    def _tell(self) -> None:
        self._knob.control.set_scaling(fixed=True, migrates=False, most=self._most())

    def resume(self, processes: int) -> None:
        """An earlier pass ended with so many processes."""

    def step(self) -> None:
        """Does what was decided since the last step: after each batch, and while one is awaited."""
        self._pool.note_retired()

    def settle(self, sent: Iterable[SentCommand]) -> None:
        """Virtual workers that are on their way go on; `sent` are the commands under way."""

    def ended(self, worker: int) -> None:
        """The stream of `worker` has ended."""


class _ChangingAutoscaler(Autoscaler):
    """Acts where another number is wanted than before."""

    def step(self) -> None:
        """Does what was decided since the last step."""
        if self._clock() - self._looked > _PERIOD:
            self._looked = self._clock()
            self._tell()
        super().step()
        wanted = self._knob.control.processes
        if wanted != self._aimed:
            self._aim(wanted)

    @abstractmethod
    def _aim(self, wanted: int) -> None:
        """Begins to bring about what is wanted."""


class ProcessAutoscaler(_ChangingAutoscaler):
    """Adds processes, any of which makes any sample."""

    def _tell(self) -> None:
        self._knob.control.set_scaling(fixed=False, migrates=False, most=self._most())

    def _aim(self, wanted: int) -> None:
        until = self._clock() + _STARTING
        active = self._pool.active
        try:
            for _ in range(min(wanted, self._most()) - len(active)):
                self._pool.start(active[0].worker)
                if self._clock() > until:
                    return
        except (OSError, RuntimeError) as error:  # a limit on processes, memory or places
            self._knob.remark(f"no process can be added: {error}")
        self._aimed = len(self._pool.active)
        self._knob.control.want(self._aimed)


class MigrationAutoscaler(_ChangingAutoscaler):
    """Has virtual workers migrate, which are bound to processes."""

    def __init__(
        self,
        pool: ProcessPool,
        knob: ProcessKnob,
        hosts: dict[int, int],
        most: Callable[[], int],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.migrations = Migrations(pool, hosts, knob)
        super().__init__(pool, knob, hosts, most, clock)

    def _tell(self) -> None:
        self._knob.control.set_scaling(fixed=False, migrates=True, most=self.migrations.most)

    def resume(self, processes: int) -> None:
        """An earlier pass ended with so many processes."""
        self._knob.control.want(min(processes, self.migrations.most))
        self.step()

    def settle(self, sent: Iterable[SentCommand]) -> None:
        """Virtual workers that are on their way go on."""
        self.migrations.settle(sent)

    def ended(self, worker: int) -> None:
        """The stream of `worker` has ended."""
        self.migrations.ended(worker)

    def _aim(self, wanted: int) -> None:
        self._aimed = wanted
        self.migrations.aim(wanted, f"{wanted} processes are wanted")
