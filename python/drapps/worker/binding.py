"""Which process makes what: a virtual worker's own one, or any.

A virtual worker is bound to one process where what it makes depends on that process: always, or
because its dataset keeps state on itself. Whether a dataset does, each process tells behind its
first batch. Until all have told, workers are bound, so that nothing that was made is wrong. Where
there are fewer processes than workers, some workers share the processes of others meanwhile; a
process whose dataset keeps state makes nothing for those, which then get processes of their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from drapps.worker.process_knob import ProcessKnob

_MOST_NAMED = 3
_CONSEQUENCES = {
    True: "each virtual worker has a process, and a dataset, of its own",
    False: "it was seen too late for the processes that run, of which any makes any sample",
}


@dataclass
class Binding:
    """The virtual workers of one iterator.

    Attributes:
        knob: has the log, and what is known of the dataset for later iterators.
        always: workers are bound whatever the dataset does.
        ordered: what a process makes depends on what it made before, whatever the dataset does.
        slots: where each virtual worker is at home.
        own_state: what the datasets keep on themselves, by path, as far as it was known when it was
            decided how the workers run; True where it depends on how often it has changed.
        untold: processes that have not told yet, by the virtual workers that they began as.
    """

    knob: ProcessKnob
    always: bool
    ordered: bool
    slots: dict[int, int] = field(default_factory=dict)
    own_state: dict[str, bool] = field(default_factory=dict)
    untold: set[int] = field(default_factory=set)
    _homes: int = 0

    def begin(self) -> None:
        """Other processes are about to start."""
        self.own_state = dict(self.knob.own_state)

    def started(self, slots: list[int], workers: int, watched: bool) -> None:
        """So many `workers` are at home in the processes in `slots`, in turn.

        Args:
            slots: of the first workers.
            workers: all of them.
            watched: the processes will tell what their batches change.
        """
        self._homes = min(len(slots), workers)
        self.slots.update((worker, slots[worker % self._homes]) for worker in range(workers))
        self.untold = set(range(self._homes)) if watched and not self.serial else set()

    @property
    def bound(self) -> bool:
        """A virtual worker's batches are made where it is at home."""
        return self.always or self.serial or bool(self.untold)

    @property
    def serial(self) -> bool:
        """What a process makes depends on what it made before."""
        return self.ordered or bool(self.own_state)

    @property
    def lasting(self) -> list[str]:
        """Of what the datasets keep, that which depends on how often it has changed."""
        return [path for path, lasting in self.knob.own_state.items() if lasting]

    def slot_of(self, worker: int) -> int:
        """Where a task of `worker` is to run; -1 for anywhere."""
        return self.slots[worker] if self.bound else -1

    def shares(self, worker: int) -> bool:
        """Its home is another worker's process, until all have told."""
        return bool(self.untold) and worker >= self._homes

    def told(self, worker: int, changed: Mapping[str, bool]) -> bool:
        """What the process of `worker` says of its dataset; whether that decides how all run."""
        known = self.knob.own_state
        new = [path for path in changed if path not in known]
        known |= {path: lasting or known.get(path, False) for path, lasting in changed.items()}
        waited = bool(self.untold)
        self.untold.discard(worker)
        if changed and (waited or self.serial):
            self.own_state |= changed
            self.untold.clear()
        if new:
            more = " and more" if len(new) > _MOST_NAMED else ""
            self.knob.remark(
                f"making samples changes {', '.join(new[:_MOST_NAMED])}{more}: "
                + _CONSEQUENCES[self.serial]
            )
        return waited and not self.untold
