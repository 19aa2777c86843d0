"""A stretch: a loader runs for a moment with settings that stay, and what it took is counted."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from drapps.errors import PipelineError
from drapps.report import Stats
from drapps.scenario.processes import cpu_seconds

_TICK = os.sysconf("SC_CLK_TCK")
_FEWEST = 4  # batches that a stretch must have
_PATIENCE = 20.0  # times as long as it should take
_LEAST_PATIENCE = 60.0  # seconds


@dataclass(frozen=True)
class Stretch:
    """What was counted while knobs stayed.

    Attributes:
        knobs: where they stood.
        seconds: that it lasted.
        samples: that were taken.
        batch: samples of a batch, in the mean.
        cpu: seconds of CPU time of this process and its worker processes.
        makers: seconds of it that were spent by those who make samples.
        others: cores that the rest of the machine used meanwhile.
        lanes: seconds of CPU time per sample, by stage.
        reads: records that had to be waited for.
        read: seconds that each of them took, in the mean.
        read_bytes: of a record, in the mean.
        row_bytes: of a sample in a batch.
        kernel: seconds that an accelerator worked at samples.
        copy: seconds that its copies took.
        copied: bytes of these; 0 where nobody counts them.
        condition: what was loaded, for people; empty where that is clear.
    """

    knobs: Mapping[str, int]
    seconds: float
    samples: int
    batch: float
    cpu: float
    makers: float = 0.0
    others: float = 0.0
    lanes: Mapping[str, float] = field(default_factory=dict)
    reads: int = 0
    read: float = 0.0
    read_bytes: float = 0.0
    row_bytes: float = 0.0
    kernel: float = 0.0
    copy: float = 0.0
    copied: float = 0.0
    condition: str = ""

    @property
    def rate(self) -> float:
        """Samples per second."""
        return self.samples / self.seconds

    @property
    def cpu_per_sample(self) -> float:
        """Seconds of CPU time, of all threads and processes of the loader and whoever takes."""
        return self.cpu / self.samples


@dataclass(frozen=True)
class _Look:
    """Counters at a moment."""

    time: float
    cpu: float
    machine: float
    stats: Stats


def measured(
    batches: Callable[[], Iterable[tuple[int, int]]],
    stats: Callable[[], Stats],
    knobs: Mapping[str, int],
    *,
    seconds: float,
    lead: float,
    condition: str = "",
) -> Stretch:
    """Takes batches as fast as they come.

    Args:
        batches: begins a pass, which gives samples and bytes of each batch.
        stats: of the loader.
        knobs: where they stand.
        seconds: that are measured at least.
        lead: seconds that are left out before: starting, and filling queues.
        condition: see `Stretch`.

    Raises:
        PipelineError: passes are empty, or take far longer than they should.
    """
    began = time.monotonic()
    before: _Look | None = None
    sizes: list[tuple[int, int]] = []
    while True:
        count = 0
        for size in batches():
            count += 1
            now = time.monotonic()
            if before is not None:
                sizes.append(size)
                if now >= before.time + seconds and len(sizes) >= _FEWEST:
                    return _between(before, _look(stats), knobs, sizes, condition)
            elif now >= began + lead:
                before = _look(stats)
            if now > began + max(_LEAST_PATIENCE, _PATIENCE * (lead + seconds)):
                raise PipelineError(
                    f"{_FEWEST} batches did not come within {now - began:.0f} s: "
                    "give calibrate() more seconds, or a faster storage"
                )
        if count == 0:
            raise PipelineError("the loader yields no batch that could be measured")


def _look(stats: Callable[[], Stats]) -> _Look:
    return _Look(time.monotonic(), cpu_seconds(), _machine_busy(), stats())


def _machine_busy() -> float:
    """Seconds of CPU time that all processes have had, and other machines on the same host."""
    try:
        first = Path("/proc/stat").read_text().partition("\n")[0]
    except OSError:
        return 0.0
    user, nice, system, _, _, irq, softirq, steal = map(int, first.split()[1:9])
    return (user + nice + system + irq + softirq + steal) / _TICK


def _between(
    before: _Look,
    after: _Look,
    knobs: Mapping[str, int],
    sizes: list[tuple[int, int]],
    condition: str,
) -> Stretch:
    seconds = after.time - before.time
    samples = sum(count for count, _ in sizes)
    cpu = after.cpu - before.cpu
    lanes = {
        name: spent
        for name in after.stats.lanes
        if (spent := _lane(before.stats, after.stats, name)) > 0
    }
    waited, waited_before = after.stats.storage.waited_s, before.stats.storage.waited_s
    reads = waited.count - waited_before.count
    read_bytes = after.stats.storage.bytes - before.stats.storage.bytes
    at_once = after.stats.storage.at_once_s.count - before.stats.storage.at_once_s.count
    return Stretch(
        knobs=dict(knobs),
        seconds=seconds,
        samples=samples,
        batch=samples / len(sizes),
        cpu=cpu,
        makers=_makers(after.stats) - _makers(before.stats),
        others=max(0.0, (after.machine - before.machine - cpu) / seconds),
        lanes=lanes,
        reads=reads,
        read=(waited.sum - waited_before.sum) / reads if reads > 0 else 0.0,
        read_bytes=read_bytes / max(1, reads + at_once),
        row_bytes=sum(size for _, size in sizes) / max(1, samples),
        condition=condition,
    )


def _lane(before: Stats, after: Stats, name: str) -> float:
    now = after.lanes[name].service_cpu_s
    then: Any = before.lanes[name].service_cpu_s if name in before.lanes else None
    count = now.count - (then.count if then else 0)
    return (now.sum - (then.sum if then else 0.0)) / count if count > 0 else 0.0


def _makers(stats: Stats) -> float:
    """CPU time of worker processes, or of threads that run plans."""
    lanes = stats.workers.lanes
    return lanes["python"]["cpu_s"] if "python" in lanes else stats.workers.cpu_s
