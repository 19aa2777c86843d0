"""What happened in a recorded run, in short."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any

from drapps.report.base import Report, mib, page
from drapps.trace.entries import (
    Began,
    Decision,
    Entry,
    Frozen,
    PassBegan,
    PolicyRenewed,
    PolicySwapped,
    Stopped,
)
from drapps.trace.reading import Trace

_MOST_BINS = 32
_BLOCKS = " ▁▂▃▄▅▆▇█"
_ACCOUNTS = ("idle", "window", "memory", "storage", "paused", "other")


@dataclass(frozen=True, eq=False, repr=False)
class Summary(Report):
    """A run in short; it prints as a page.

    Attributes:
        started: seconds since 1970.
        policies: by name, in the order in which they decided.
        machine, path: of the plan with which the recording began; empty where it has none.
        seconds: from the first observation to the last.
        passes, decisions, samples, batches: how many; samples and batches delivered.
        moves: by knob, how often it moved.
        held: by reason, proposals that were held back.
        missing: decisions without an observation.
        stall_share: of the time, for which the consumer waited; `stall_over_time` the same for
            stretches of `stall_every` seconds.
        lanes: by lane, seconds of work on it.
        accounts: seconds of all workers, by where they went.
        slowest_lane: with the most work; None where there was none.
        stopped: why the control plane has stopped; None where it has not.
        note: as `Trace.note`.
    """

    started: float
    policies: list[str]
    machine: Mapping[str, Any]
    path: str
    seconds: float
    passes: int
    decisions: int
    samples: int
    batches: int
    moves: Mapping[str, int]
    held: Mapping[str, int]
    missing: int
    stall_share: float
    stall_over_time: list[float]
    stall_every: float
    lanes: Mapping[str, float]
    accounts: Mapping[str, float]
    slowest_lane: str | None = None
    renewals: int = 0
    stopped: str | None = None
    note: str = ""

    def __str__(self) -> str:
        return page(self._rows())

    def _rows(self) -> Iterator[tuple[str, str]]:
        when = datetime.fromtimestamp(self.started, timezone.utc)
        yield "recorded", f"{when:%Y-%m-%d %H:%M:%S} UTC, {self.seconds:.1f} s"
        if self.machine:
            memory = mib(self.machine.get("memory_bytes", 0))
            yield "machine", f"{self.machine.get('cpus', 0):g} cores, {memory}"
        learnt = f"; it has learnt {self.renewals} times" if self.renewals else ""
        yield "policy", (", then ".join(self.policies) or "none") + learnt
        yield "passes", f"{self.passes}: {self.samples} samples in {self.batches} batches"
        yield "decisions", f"{self.decisions}, {self.missing} without an observation"
        moves = ", ".join(f"{knob} {count}" for knob, count in self.moves.items())
        yield "moves", moves or "none"
        held = ", ".join(f"{reason} {count}" for reason, count in self.held.items())
        yield "held back", held or "nothing"
        yield "stall", f"{self.stall_share:.1%} of the time"
        if self.stall_over_time:
            bars = "".join(_BLOCKS[min(8, int(share * 8.999))] for share in self.stall_over_time)
            yield "", f"|{bars}| of {self.stall_every:g} s each"
        yield "slowest stage", self.slowest_lane or "none was seen"
        whole = sum(self.accounts.values())
        for name, seconds in sorted(self.accounts.items(), key=lambda each: -each[1]):
            if seconds > 0:
                yield f"  {name}", f"{seconds:.1f} s of the workers, {seconds / whole:.1%}"
        if self.stopped is not None:
            yield "stopped", self.stopped
        if self.note:
            yield "note", self.note


@dataclass
class _Bins:
    """Waits and time over the run, in few stretches however long it is."""

    width: float = 1.0
    waited: list[float] = field(default_factory=list)
    passed: list[float] = field(default_factory=list)

    def add(self, at: float, waited: float, passed: float) -> None:
        while at >= self.width * _MOST_BINS:
            self.waited = _paired(self.waited)
            self.passed = _paired(self.passed)
            self.width *= 2
        place = int(at / self.width)
        for bins in (self.waited, self.passed):
            bins.extend([0.0] * (place + 1 - len(bins)))
        self.waited[place] += waited
        self.passed[place] += passed

    @property
    def shares(self) -> list[float]:
        pairs = zip(self.waited, self.passed, strict=True)
        return [min(1.0, waited / passed) if passed else 0.0 for waited, passed in pairs]


def _paired(bins: list[float]) -> list[float]:
    return [sum(bins[at : at + 2]) for at in range(0, len(bins), 2)]


class _Summing:
    def __init__(self, trace: Trace) -> None:
        self._lanes = trace.lanes
        self._counters = [each.name for each in trace.fields if each.kind == "counter"]
        self._first = self._last = 0.0
        self._before: Mapping[str, int | float] | None = None
        self.grown: Counter[str] = Counter()
        self.policies: list[str] = []
        self.moves: Counter[str] = Counter()
        self.held: Counter[str] = Counter()
        self.passes = self.decisions = self.missing = self.renewals = 0
        self.stopped: str | None = None
        self.bins = _Bins()

    @property
    def seconds(self) -> float:
        return self._last - self._first

    def take(self, entry: Entry) -> None:
        match entry:
            case Began() | PolicySwapped():
                self.policies.append(entry.policy)
                self.stopped = None
            case PolicyRenewed():
                self.renewals += 1
            case PassBegan():
                self.passes += 1
            case Stopped():
                self.stopped = entry.why
            case Decision():
                self._decided(entry)
            case Frozen():
                pass

    def _decided(self, decision: Decision) -> None:
        self.decisions += 1
        self.moves.update(decision.moves.keys())
        self.held.update(decision.holds.values())
        if decision.missing:
            self.missing += 1
            return
        seen, before = decision.observation, self._before
        self._before = seen
        if before is None:
            self._first = self._last = decision.time
            self.passes = max(self.passes, 1)  # one was under way
            return
        # A new plant counts from zero again.
        more = {name: max(0, seen[name] - before[name]) for name in self._counters}
        self.grown.update({name: int(value) for name, value in more.items()})
        passed = max(0.0, decision.time - self._last)
        self._last = decision.time
        self.bins.add(self.seconds, more.get("consumer.stall.sum", 0) * 1e-9, passed)

    def work(self) -> dict[str, float]:
        sums = {lane: self.grown[f"{lane}.service_wall.sum"] * 1e-9 for lane in self._lanes}
        return {lane: seconds for lane, seconds in sums.items() if seconds > 0}

    def accounts(self) -> dict[str, float]:
        work = self.work()
        accounts = {f"work: {lane}": seconds for lane, seconds in work.items()}
        for name in _ACCOUNTS:
            accounts[name] = self.grown[f"workers.{name}"] * 1e-9
        return accounts


def summarise(trace: Trace) -> Summary:
    """The run, read an entry at a time.

    Raises:
        PipelineError: a block of the trace makes no sense.
    """
    summing = _Summing(trace)
    for entry in trace:
        summing.take(entry)
    work = summing.work()
    plan = trace.about.get("plan", {})
    seconds = summing.seconds
    stall = summing.grown["consumer.stall.sum"] * 1e-9
    return Summary(
        started=trace.started,
        policies=summing.policies,
        machine=plan.get("machine", {}),
        path=plan.get("path", ""),
        seconds=seconds,
        passes=summing.passes,
        decisions=summing.decisions,
        samples=summing.grown["samples"],
        batches=summing.grown["batches"],
        moves=dict(summing.moves.most_common()),
        held=dict(summing.held.most_common()),
        missing=summing.missing,
        stall_share=min(1.0, stall / seconds) if seconds > 0 else 0.0,
        stall_over_time=summing.bins.shares,
        stall_every=summing.bins.width,
        lanes=work,
        accounts=summing.accounts(),
        slowest_lane=max(work, key=lambda lane: work[lane]) if work else None,
        stopped=summing.stopped,
        note=trace.note,
    )
