"""How many processes: more while the consumer waits and cores are idle, fewer above the budget.

Processes that sleep (in a read, on a network) use no core, so the number that fills the budget is
not known beforehand: it is found by trials.

1. Time is cut into short windows. A window in which the consumer hardly waited, or the processes
   had nothing to do for a while, is dropped: it says neither that more of them would help nor that
   they did not.
2. While the consumer waits and cores are idle, half as many processes again are started, on trial;
   the first time of a loader as many as fill the cores: budget times wall time by CPU time.
3. The trial's windows begin once all its processes have made a sample. They are compared with those
   before it until the difference is larger than its noise, or a few seconds are over.
4. Without a gain worth having, or above the budget, the processes of the trial are retired, and the
   next trial has to wait; after each further failure in a row twice as long.
"""

from __future__ import annotations

import math
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from drapps.worker.crew import Crew, Member
from drapps.worker.moves import Moves
from drapps.worker.standing import Standing

_WINDOW = 0.25  # seconds, at least
_LEAST = 1e-3  # seconds of a window that a process did not pause for, so that none divides by 0
_FEWEST = 2  # windows that say anything
_MOST = 12  # windows that are remembered, and after which a trial ends
_WAITS = 0.1  # share of the time from which on the consumer counts as waiting
_IDLE = 0.05  # share of the budget from which on cores count as idle
_OVER = 0.05  # share of the budget by which it may be exceeded
_ALMOST = 0.1  # of a process, for which no more than the others are kept
_GAIN = 0.03  # that a trial must bring
_NOISE = 0.01  # of a rate, at least
_COOL_DOWN = 10.0  # seconds after a trial that failed
_START = 30.0  # seconds after which processes that have made nothing are not waited for any more
_HIRING = 0.05  # seconds that starting processes may take at a time


@dataclass(frozen=True)
class Sight:
    """What a window showed.

    Attributes:
        processes: that worked in it.
        cores: that they used, or would have without the pauses of those ahead of the budget.
        waited: share of the time that the consumer waited for a batch.
        rate: samples, and batches as such, per second.
    """

    processes: int
    cores: float
    waited: float
    rate: float


@dataclass(frozen=True)
class _Counters:
    """Of one process: CPU seconds, seconds of pauses, samples and batches."""

    cpu: float
    paused: float
    made: float

    def since(self, then: _Counters) -> _Counters:
        return _Counters(self.cpu - then.cpu, self.paused - then.paused, self.made - then.made)


@dataclass(frozen=True)
class _Move:
    """From so many processes to so many, why, and what that was seen by."""

    before: int
    target: int
    why: str
    seen: dict[str, float]


def mean(sights: list[Sight]) -> Sight:
    """Their average; the number of processes is the last one's."""
    return Sight(
        processes=sights[-1].processes,
        cores=statistics.fmean(s.cores for s in sights),
        waited=statistics.fmean(s.waited for s in sights),
        rate=statistics.fmean(s.rate for s in sights),
    )


def wanted(sight: Sight, budget: float, jump: bool = False) -> int:
    """The number of processes that `sight` speaks for, trials and cool-downs apart.

    Args:
        sight: what was seen.
        budget: in cores.
        jump: more of them are to be as many as fill the budget, instead of half as many again.
    """
    filling = math.ceil(sight.processes * budget / max(sight.cores, _LEAST) - _ALMOST)
    if sight.cores > (1 + _OVER) * budget:
        return min(sight.processes, max(1, filling))
    idle = budget - sight.cores
    if sight.waited > _WAITS and idle > _IDLE * budget:
        more = sight.processes + max(1, sight.processes // 2)
        return max(sight.processes + 1, filling if jump else min(more, filling))
    return sight.processes


def gained(before: list[Sight], after: list[Sight]) -> bool | None:
    """Whether the rate rose by what a trial must bring; None where the windows do not tell yet."""
    if len(after) < _FEWEST:
        return None
    old, new = mean(before).rate, mean(after).rate
    gain = new - (1 + _GAIN) * old
    spread = max(_spread(before, after), _NOISE * old)
    error = spread * math.sqrt(1 / len(before) + 1 / len(after))
    return gain > 0 if len(after) >= _MOST or abs(gain) > 2 * error else None


def _spread(*groups: list[Sight]) -> float:
    """The standard deviation of the rates within the groups, pooled: few windows tell little."""
    squares = sum(statistics.pvariance(s.rate for s in group) * len(group) for group in groups)
    return math.sqrt(squares / (sum(map(len, groups)) - len(groups)))


def cpu_seconds_of(pid: int) -> float | None:
    """CPU time of a process that was not waited for yet; None of any other.

    Its heartbeat on the board tells it too, but in steps that are as long as a window.
    """
    try:
        return time.clock_gettime((~pid << 3) | 2)  # what clock_getcpuclockid(3) gives
    except OSError:
        return None


@dataclass
class Elastic:
    """Moves the number of processes of a crew.

    Attributes:
        crew: whose.
        budget: gives the cores that all loaders of this process may use now.
        enabled: False where no process may come or go.
        moves: how processes come and go to which virtual workers are bound.
        most: gives how many processes there may be for other reasons than the budget.
        standing: the knob that is moved.
        clock: gives seconds.
        cpu_seconds: of a process, by its pid.
    """

    crew: Crew
    budget: Callable[[], float]
    enabled: bool
    standing: Standing = field(default_factory=Standing)
    moves: Moves | None = None
    most: Callable[[], int] = field(default=lambda: sys.maxsize)
    clock: Callable[[], float] = time.monotonic
    cpu_seconds: Callable[[int], float | None] = cpu_seconds_of
    _since: float | None = None
    _seen: dict[int, _Counters] = field(default_factory=dict)  # by pid
    _cores: float = 0.0  # the budget at the last look
    _waited: float = 0.0
    _held: bool = False  # the processes had nothing to do for a while of this window
    _sights: list[Sight] = field(default_factory=list)
    _trial: list[Sight] | None = None  # the windows before it
    _trial_began: float = 0.0
    _aimed: int = 0  # processes of the trial
    _move_under_way: _Move | None = None  # whose processes are being started
    _starting: bool = False  # a process of the trial has not made a sample yet
    _ending: bool = False  # a retired process has not ended yet

    def waited(self, seconds: float) -> None:
        """The consumer waited so long for a batch."""
        self._waited += seconds

    def held_up(self) -> None:
        """The processes have had nothing to do: a pass ends or begins, or the consumer was away."""
        self._held = True

    def step(self) -> None:
        """Looks once per window, and moves where that is enough. For after each batch."""
        now = self.clock()
        if self.standing.frozen:
            self._since, self._sights, self._trial, self._move_under_way = None, [], None, None
            return
        self._hire()
        if not self.enabled or (self._since is not None and now - self._since < _WINDOW):
            return
        self._look_at_budget()
        began, sight = self._began(now), self._look(now)
        if sight is None or not began:
            return
        self.standing.decided()
        self._sights = [*self._sights, sight][-_MOST:]
        if self._trial is not None:
            self._judge(self._trial, now)
        elif len(self._sights) >= _FEWEST:
            self._decide(now)

    def _look_at_budget(self) -> None:
        before, self._cores = self._cores, self.budget()
        if before not in (0.0, self._cores):
            self.standing.remark("the limits have changed", cores=self._cores, cores_before=before)

    def _look(self, now: float) -> Sight | None:
        """The window that ends now, and begins the next one; None where it says nothing."""
        seen = {}
        for member in self.crew.members.values():
            cpu = self.cpu_seconds(member.pid)
            if cpu is not None:
                paused = self.crew.board.status(member.slot).paused_seconds
                seen[member.pid] = _Counters(cpu, paused, self._made(member))
        old = [
            counters.since(self._seen[pid]) for pid, counters in seen.items() if pid in self._seen
        ]
        # All that was counted lies in it, also where this thread lost its core in between.
        past = math.inf if self._since is None else self.clock() - self._since
        sight = Sight(
            processes=len(self.crew.active),
            cores=sum(each.cpu / max(past - each.paused, _LEAST) for each in old),
            waited=self._waited / past,
            rate=sum(each.made for each in old) / past,
        )
        over = sight.cores > (1 + _OVER) * self._cores
        waits = sight.waited > _WAITS and not self._held
        self._since, self._seen, self._waited, self._held = now, seen, 0.0, False
        return sight if sight.processes > 0 and sight.rate > 0 and (waits or over) else None

    def _made(self, member: Member) -> int:
        status = self.crew.board.status(member.slot)
        return status.samples + status.tasks  # some datasets make whole batches

    def _began(self, now: float) -> bool:
        """Whether just the processes that are meant to were at work when this window began."""
        members, active = self.crew.members.values(), self.crew.active
        began = not self._starting and not self._ending
        if self._starting:
            made = len(active) >= self._aimed and all(self._made(member) for member in active)
            self._starting = not made and now - self._trial_began < _START
        self._ending = len(active) < len(members)
        return began

    def _judge(self, before: list[Sight], now: float) -> None:
        sight = mean(self._sights)
        within = wanted(sight, self._cores) >= sight.processes
        better = gained(before, self._sights)
        if better is None and within:
            return
        self._trial = None
        if better:
            self.standing.failed = 0
        else:
            self._cool_down(now)
        if not within:
            fitting = max(before[-1].processes, wanted(sight, self._cores))
            self._move(sight, fitting, "more cores in use than the budget has")
        elif not better:
            self._move(sight, before[-1].processes, "more processes gain nothing")

    def _cool_down(self, now: float) -> None:
        self.standing.failed += 1
        self.standing.cool_until = now + _COOL_DOWN * 2 ** (self.standing.failed - 1)

    def _decide(self, now: float) -> None:
        sight = mean(self._sights)
        jump = not self.standing.jumped
        target = wanted(sight, self._cores, jump)
        if target > sight.processes:
            most = self.most() if self.moves is None else self.moves.most
            target = max(sight.processes, min(target, most))
        if target > sight.processes and now >= self.standing.cool_until:
            self._trial, self._trial_began, self._starting = self._sights, now, True
            self._aimed, self.standing.jumped = target, True
            why = "the consumer waits and cores are idle"
            self._move(sight, target, f"{why}: as many as fill them" if jump else why)
        elif target < sight.processes:
            self._move(sight, target, "more cores in use than the budget has")

    def _move(self, sight: Sight, target: int, why: str) -> None:
        seen = {
            "cores": round(sight.cores, 2),
            "waited": round(sight.waited, 2),
            "rate": round(sight.rate, 1),
        }
        self._sights = []
        if self.moves is not None:
            self.moves.aim(target, why, **seen)
            return
        active = self.crew.active
        for member in active[target:]:
            self.crew.retire(member.slot)
            self._ending = True
        self._move_under_way = _Move(len(active), target, why, seen)
        self._hire()

    def _hire(self) -> None:
        """Starts the processes of a move, as many as take a while: the consumer waits meanwhile."""
        move = self._move_under_way
        if move is None:
            return
        until = self.clock() + _HIRING
        active = self.crew.active
        try:
            for _ in range(move.target - len(active)):
                self.crew.hire(active[0].worker)
                if self.clock() > until:
                    return
        except (OSError, RuntimeError):  # a limit on processes, memory or places on the board
            self._cool_down(self.clock())
            self._aimed = 0
        self._move_under_way = None
        applied = len(self.crew.active)
        self.standing.moved(move.before, move.target, applied, move.why, **move.seen)
