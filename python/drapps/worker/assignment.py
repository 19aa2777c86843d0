"""Which process makes what: a virtual worker's own one, or any.

A virtual worker is bound to one process where what it makes depends on that process: always, or
because its dataset keeps state on itself. Whether a dataset does, each process tells behind its
first batch. Until all have told, workers are bound, so that nothing that was made is wrong. Where
there are fewer processes than workers, some workers share the processes of others meanwhile; a
process whose dataset keeps state makes nothing for those, which then get processes of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import ClassVar

from drapps.worker.autoscaler import Autoscaler
from drapps.worker.commands import ANY_PROCESS
from drapps.worker.process_knob import ProcessKnob

_MOST_NAMED = 3


class Assignment:
    """Which process makes the batches of each virtual worker.

    Attributes:
        knob: has the log, and what is known of the dataset for later iterators.
        autoscaler: how processes come and go.
        hosts: the number of the process that hosts each virtual worker.
        bound: a worker's batches are made by its host.
        serial: what a process makes depends on what it made before.
        repeats: a process that takes the place of another repeats what that was asked.
        consequence: what follows from state that a dataset is found to keep.
    """

    bound: ClassVar[bool] = True
    serial: ClassVar[bool] = False
    repeats: ClassVar[bool] = False
    consequence: ClassVar[str] = (
        "it was seen too late for the processes that run, of which any makes any sample"
    )

    def __init__(
        self,
        knob: ProcessKnob,
        autoscaler: type[Autoscaler] = Autoscaler,
        hosts: dict[int, int] | None = None,
    ) -> None:
        self.knob = knob
        self.autoscaler = autoscaler
        self.hosts: dict[int, int] = {} if hosts is None else hosts

    @property
    def begins_bound(self) -> bool:
        """Whether each worker is to begin with a process of its own."""
        return self.bound

    @property
    def decided_bound(self) -> bool:
        """Whether workers are known to be bound."""
        return self.bound

    def place(self, numbers: list[int], workers: int) -> None:
        """The processes of these numbers host so many `workers`, in turn."""
        first = min(len(numbers), workers)
        self.hosts.update((worker, numbers[worker % first]) for worker in range(workers))

    def process_of(self, worker: int) -> int:
        """Where a command for `worker` is carried out."""
        return self.hosts[worker]

    def shares(self, worker: int) -> bool:  # noqa: ARG002
        """Whether the host of `worker` is another worker's process, until all have told."""
        return False

    def share(self, workers: Iterable[int]) -> None:
        """These `workers` are hosted by other workers' processes from now on."""

    def learn(self, worker: int, changed: Mapping[str, bool]) -> Assignment:
        """What holds from now on, where the process of `worker` says `changed` of its dataset.

        Args:
            worker: the virtual worker.
            changed: what its batches have changed, see `Watch`.
        """
        paths = self.knob.note_own_state(changed)
        after = self._after(worker, bool(changed))
        if paths:
            more = " and more" if len(paths) > _MOST_NAMED else ""
            names = ", ".join(paths[:_MOST_NAMED])
            self.knob.remark(f"making samples changes {names}{more}: {after.consequence}")
        return after

    def _after(self, worker: int, keeps_state: bool) -> Assignment:  # noqa: ARG002
        return self


class AnyProcess(Assignment):
    """Any process makes any sample."""

    bound = False

    def process_of(self, worker: int) -> int:  # noqa: ARG002
        """Where a command for `worker` is carried out."""
        return ANY_PROCESS


class OwnProcess(Assignment):
    """Each virtual worker is bound to a process, whatever it made before."""


class SerialProcess(Assignment):
    """Each virtual worker has a process, in which its batches are made one after the other."""

    serial = True
    repeats = True
    consequence = "each virtual worker has a process, and a dataset, of its own"


class Undecided(Assignment):
    """Until all processes have told whether their datasets keep state on themselves."""

    repeats = True

    def __init__(self, stateless: Assignment, stateful: Assignment) -> None:
        """One of the two assignments holds afterwards."""
        super().__init__(stateless.knob)
        stateless.hosts = stateful.hosts = self.hosts
        self._stateless = stateless
        self._stateful = stateful
        self._sharing: set[int] = set()
        self._untold: set[int] = set()  # processes, by the virtual workers that they began as

    @property
    def begins_bound(self) -> bool:
        """Whether each worker is to begin with a process of its own."""
        return self._stateless.bound

    @property
    def decided_bound(self) -> bool:
        """Whether workers are known to be bound: not yet."""
        return False

    def place(self, numbers: list[int], workers: int) -> None:
        """The processes of these numbers host so many `workers`, in turn."""
        super().place(numbers, workers)
        first = min(len(numbers), workers)
        self._untold, self._sharing = set(range(first)), set(range(first, workers))

    def shares(self, worker: int) -> bool:
        """Whether the host of `worker` is another worker's process."""
        return worker in self._sharing

    def share(self, workers: Iterable[int]) -> None:
        """These `workers` are hosted by other workers' processes from now on."""
        self._sharing.update(workers)

    def _after(self, worker: int, keeps_state: bool) -> Assignment:
        self._untold.discard(worker)
        if keeps_state:
            return self._stateful
        return self if self._untold else self._stateless
