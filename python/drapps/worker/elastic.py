"""How many processes: more while the consumer waits and cores are idle, fewer above the budget.

Processes that sleep (in a read, on a network) use no core, so the number that fills the budget is
not known beforehand. A process is added on trial; where the rate falls it is retired again.
"""

from __future__ import annotations

import math
import os
import time
from dataclasses import dataclass, field
from typing import Any

from drapps.worker.crew import Crew

_INTERVAL = 0.5  # seconds between decisions, at least
_COOL_DOWN = 10.0  # seconds after a trial that failed; doubled by each further one
_MOST_PER_CORE = 8


@dataclass(frozen=True)
class Sight:
    """What one interval showed.

    Attributes:
        processes: that worked in it.
        cores: that they used.
        waited: share of the time that the consumer waited for a batch.
        rate: samples per second.
    """

    processes: int
    cores: float
    waited: float
    rate: float


def wanted(sight: Sight, budget: float) -> int:
    """The number of processes that `sight` speaks for, trials and cool-downs apart."""
    if sight.cores > budget + 0.25 and sight.processes > 1:
        return sight.processes - 1
    idle = budget - sight.cores
    most = math.ceil(budget * _MOST_PER_CORE)
    if sight.waited > 0.1 and idle > 0.15 * budget and sight.processes < most:
        return min(most, sight.processes + max(1, sight.processes // 2))
    return sight.processes


@dataclass
class Elastic:
    """Moves the number of processes of a crew.

    Attributes:
        crew: whose.
        cpu_budget: cores; those that this process may use where None.
        enabled: False where virtual workers are bound to their processes.
        log: one record per move.
    """

    crew: Crew
    cpu_budget: float | None
    enabled: bool
    log: list[dict[str, Any]] = field(default_factory=list)
    _since: float = 0.0
    _cpu: float = 0.0
    _samples: int = 0
    _waited: float = 0.0
    _trial: Sight | None = None
    _cool_until: float = 0.0
    _failed: int = 0

    @property
    def budget(self) -> float:
        """Cores."""
        return self.cpu_budget or float(len(os.sched_getaffinity(0)))

    def waited(self, seconds: float) -> None:
        """The consumer waited so long for a batch."""
        self._waited += seconds

    def step(self) -> None:
        """Looks, and moves at most once per interval."""
        now = time.monotonic()
        if not self.enabled or now - self._since < _INTERVAL:
            return
        sight = self._look(now)
        if sight is None:
            return
        trial, self._trial = self._trial, None
        if trial is not None and sight.rate < 0.97 * trial.rate:
            self._failed += 1
            self._cool_until = now + _COOL_DOWN * 2 ** (self._failed - 1)
            self._move(sight, trial.processes, "slower with more processes")
            return
        target = wanted(sight, self.budget)
        if target > sight.processes and now >= self._cool_until:
            self._trial = sight
            self._move(sight, target, "the consumer waits and cores are idle")
        elif target < sight.processes:
            self._move(sight, target, "more cores in use than the budget has")

    def _look(self, now: float) -> Sight | None:
        states = [self.crew.board.status(member.slot) for member in self.crew.members.values()]
        cpu, samples = sum(s.cpu_seconds for s in states), sum(s.samples for s in states)
        past = now - self._since
        sight = Sight(
            processes=len(self.crew.active),
            cores=(cpu - self._cpu) / past,
            waited=self._waited / past,
            rate=(samples - self._samples) / past,
        )
        first = self._since == 0.0
        self._since, self._cpu, self._samples, self._waited = now, cpu, samples, 0.0
        return None if first or sight.cores < 0 or sight.rate <= 0 else sight

    def _move(self, sight: Sight, target: int, why: str) -> None:
        active = self.crew.active
        for member in active[target:]:
            self.crew.retire(member.slot)
        for _ in range(target - len(active)):
            self.crew.hire(active[0].worker)
        self.log.append(
            {
                "knob": "processes",
                "before": len(active),
                "after": target,
                "why": why,
                "cores": round(sight.cores, 2),
                "waited": round(sight.waited, 2),
                "rate": round(sight.rate, 1),
            }
        )
