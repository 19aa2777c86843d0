"""How many processes: more while the consumer waits and cores are idle, fewer above the budget.

Processes that sleep (in a read, on a network) use no core, so the number that fills the budget is
not known beforehand: it is found by trials.

1. Time is cut into short windows. A window in which the consumer hardly waited is dropped: it says
   neither that more processes would help nor that they did not.
2. While the consumer waits and cores are idle, half as many processes again are started, on trial.
3. The trial's windows begin once all its processes have made a sample. They are compared with those
   before it until the difference is larger than its noise, or a few seconds are over.
4. Without a gain worth having, or above the budget, the processes of the trial are retired, and the
   next trial has to wait; after each further failure in a row twice as long.
"""

from __future__ import annotations

import math
import os
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from drapps.worker.crew import Crew

_WINDOW = 0.25  # seconds, at least
_FEWEST = 2  # windows that say anything
_MOST = 12  # windows that are remembered, and after which a trial ends
_WAITS = 0.1  # share of the time from which on the consumer counts as waiting
_IDLE = 0.05  # share of the budget from which on cores count as idle
_OVER = 0.05  # share of the budget by which it may be exceeded
_GAIN = 0.03  # that a trial must bring
_NOISE = 0.01  # of a rate, at least
_COOL_DOWN = 10.0  # seconds after a trial that failed
_START = 30.0  # seconds after which processes that have made nothing are not waited for any more
_MOST_PER_CORE = 8


@dataclass(frozen=True)
class Sight:
    """What a window showed.

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


def mean(sights: list[Sight]) -> Sight:
    """Their average; the number of processes is the last one's."""
    return Sight(
        processes=sights[-1].processes,
        cores=statistics.fmean(s.cores for s in sights),
        waited=statistics.fmean(s.waited for s in sights),
        rate=statistics.fmean(s.rate for s in sights),
    )


def wanted(sight: Sight, budget: float) -> int:
    """The number of processes that `sight` speaks for, trials and cool-downs apart."""
    if sight.cores > (1 + _OVER) * budget:
        return min(sight.processes, max(1, math.floor(sight.processes * budget / sight.cores)))
    most = math.ceil(budget * _MOST_PER_CORE)
    idle = budget - sight.cores
    if sight.waited > _WAITS and idle > _IDLE * budget and sight.processes < most:
        return min(most, sight.processes + max(1, sight.processes // 2))
    return sight.processes


def gained(before: list[Sight], after: list[Sight]) -> bool | None:
    """Whether the rate rose by what a trial must bring; None where the windows do not tell yet."""
    if len(after) < _FEWEST:
        return None
    old, new = mean(before).rate, mean(after).rate
    gain = new - (1 + _GAIN) * old
    if len(after) >= _MOST or abs(gain) > 2 * math.hypot(_error(before), _error(after)):
        return gain > 0
    return None


def _error(sights: list[Sight]) -> float:
    """The standard error of the mean rate."""
    rates = [s.rate for s in sights]
    spread = statistics.stdev(rates) if len(rates) > 1 else 0.0
    return max(spread, _NOISE * statistics.fmean(rates)) / math.sqrt(len(rates))


@dataclass
class Elastic:
    """Moves the number of processes of a crew.

    Attributes:
        crew: whose.
        cpu_budget: cores; those that this process may use where None.
        enabled: False where virtual workers are bound to their processes.
        log: one record per move.
        clock: seconds.
    """

    crew: Crew
    cpu_budget: float | None
    enabled: bool
    log: list[dict[str, Any]] = field(default_factory=list)
    clock: Callable[[], float] = time.monotonic
    _since: float | None = None
    _seen: dict[int, tuple[float, int]] = field(default_factory=dict)  # pid: CPU seconds, samples
    _waited: float = 0.0
    _sights: list[Sight] = field(default_factory=list)
    _trial: list[Sight] | None = None  # the windows before it
    _trial_began: float = 0.0
    _starting: bool = False  # processes of the trial that have not made a sample yet
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
        """Looks once per window, and moves where that is enough. For after each batch."""
        now = self.clock()
        if not self.enabled or (self._since is not None and now - self._since < _WINDOW):
            return
        sight = self._look(now)
        if sight is None or not self._began(now):
            return
        self._sights = [*self._sights, sight][-_MOST:]
        if self._trial is not None:
            self._judge(self._trial, now)
        elif len(self._sights) >= _FEWEST:
            self._decide(now)

    def _look(self, now: float) -> Sight | None:
        """The window that ends now, and begins the next one; None where it says nothing."""
        seen = {member.pid: self._counters(member) for member in self.crew.members.values()}
        old = [(*self._seen[pid], *counters) for pid, counters in seen.items() if pid in self._seen]
        past = math.inf if self._since is None else now - self._since
        sight = Sight(
            processes=len(self.crew.active),
            cores=sum(cpu - cpu_then for cpu_then, _, cpu, _ in old) / past,
            waited=self._waited / past,
            rate=sum(samples - samples_then for _, samples_then, _, samples in old) / past,
        )
        self._since, self._seen, self._waited = now, seen, 0.0
        over = sight.cores > (1 + _OVER) * self.budget
        return sight if sight.rate > 0 and (sight.waited > _WAITS or over) else None

    def _counters(self, member: Any) -> tuple[float, int]:
        samples = self.crew.board.status(member.slot).samples
        try:  # the heartbeat counts CPU time too, but in steps as long as a window
            return time.clock_gettime((~member.pid << 3) | 2), samples  # clock_getcpuclockid(3)
        except OSError:  # it has just ended
            return self._seen.get(member.pid, (0.0, 0))[0], samples

    def _began(self, now: float) -> bool:
        """Whether all processes were at work when this window began."""
        if self._starting:
            made = (self.crew.board.status(member.slot).samples for member in self.crew.active)
            self._starting = not all(made) and now - self._trial_began < _START
            return False
        return True

    def _judge(self, before: list[Sight], now: float) -> None:
        sight = mean(self._sights)
        within = wanted(sight, self.budget) >= sight.processes
        better = gained(before, self._sights)
        if better is None and within:
            return
        self._trial = None
        if better and within:
            self._failed = 0
            return
        self._failed += 1
        self._cool_until = now + _COOL_DOWN * 2 ** (self._failed - 1)
        why = "more processes gain nothing" if within else "more cores in use than the budget has"
        self._move(sight, before[-1].processes, why)

    def _decide(self, now: float) -> None:
        sight = mean(self._sights)
        target = wanted(sight, self.budget)
        if target > sight.processes and now >= self._cool_until:
            self._trial, self._trial_began, self._starting = self._sights, now, True
            self._move(sight, target, "the consumer waits and cores are idle")
        elif target < sight.processes:
            self._move(sight, target, "more cores in use than the budget has")

    def _move(self, sight: Sight, target: int, why: str) -> None:
        active = self.crew.active
        for member in active[target:]:
            self.crew.retire(member.slot)
        for _ in range(target - len(active)):
            self.crew.hire(active[0].worker)
        self._sights = []
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
