"""What Python code runs with as long as its loader lives: workers, cores, and decoded pictures."""

from __future__ import annotations

import copy
import os
import weakref
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from drapps import _core
from drapps.accelerate.acceleration import Acceleration
from drapps.policy import Policy
from drapps.worker.process_knob import ProcessKnob

if TYPE_CHECKING:
    from drapps.torch.worker_iterator import WorkerIterator


class PythonResources:
    """What one loader runs with. A copy has its own, and begins with the knob as it stands.

    Attributes:
        acceleration: makes pictures natively, and counts them.
    """

    def __init__(self) -> None:
        """Nothing is made before it is needed."""
        self.acceleration = Acceleration()
        self._knob: ProcessKnob | None = None
        self._workers: weakref.ref[WorkerIterator] | None = None
        self._limit: tuple[int, _core.BudgetLimit] | None = None  # and the process that made it

    def knob(self, policy: Policy | None, settings: Mapping[str, Any] | None) -> ProcessKnob:
        """The number of worker processes, which begins with `policy` and `settings`."""
        if self._knob is None:
            self._knob = ProcessKnob.from_settings(policy, settings)
        return self._knob

    def set_policy(self, policy: Policy | None) -> None:
        """Sets the policy of the knob, where there is one."""
        if self._knob is not None:
            self._knob.set_policy(policy)

    def limit(self, cpu_budget: float | None) -> _core.BudgetLimit:
        """The budget of cores in this process, which holds as long as the loader lives."""
        if self._limit is None or self._limit[0] != os.getpid():
            self._limit = (os.getpid(), _core.limit_cpus(cpu_budget))
        return self._limit[1]

    def follow(self, workers: WorkerIterator) -> None:
        """`workers` gives the latest one as long as it lives."""
        self._workers = weakref.ref(workers)

    def workers(self) -> WorkerIterator | None:
        """The latest iterator over workers."""
        return None if self._workers is None else self._workers()

    def __getstate__(self) -> dict[str, Any]:
        fresh = PythonResources()
        fresh._knob = copy.deepcopy(self._knob)
        return fresh.__dict__
