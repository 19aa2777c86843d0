"""What a loader has counted since it was made: ``loader.stats()``."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from drapps.report.base import Report, mib, page
from drapps.report.machine import MachineStats


@dataclass(frozen=True, eq=False, repr=False)
class Distribution(Report):
    """How a quantity was spread.

    Quantiles are upper edges of buckets, of which there are four per power of two: what they stand
    for is at most 20 % less.

    Attributes:
        count: how many there were.
        sum: of all of them, in the unit of the name: seconds where it ends in ``_s``.
        mean: ``sum / count``; 0 where there were none.
        p50, p90, p99: quantiles; 0 where there were none.
        most: the upper edge of the largest one's bucket.
        buckets: those that hold something, ``[upper edge, count]`` each, smallest first.
    """

    count: int
    sum: float
    mean: float
    p50: float
    p90: float
    p99: float
    most: float
    buckets: Sequence[Sequence[float]]

    def __str__(self) -> str:
        return f"p50 {seconds(self.p50)}, p99 {seconds(self.p99)}, {self.count} times"


@dataclass(frozen=True, eq=False, repr=False)
class ConsumerStats(Report):
    """The training step, as the outermost iterator sees it.

    Attributes:
        passes: that have taken a step.
        step_s: from one call of ``next`` to the following one: the step and its wait.
        stall_s: waited inside ``next``; the sum counts a wait that goes on.
        helped_s: seconds that the caller of ``next`` worked at batches itself, in it: no stall.
        between_s: seconds between the end of a pass and the beginning of the next.
    """

    passes: int
    step_s: Distribution
    stall_s: Distribution
    helped_s: float
    between_s: float

    @property
    def stall_share(self) -> float:
        """The share of the time of steps that was stall, 0 to 1."""
        return min(1.0, self.stall_s.sum / self.step_s.sum) if self.step_s.sum > 0 else 0.0


@dataclass(frozen=True, eq=False, repr=False)
class LaneStats(Report):
    """A stage of the work.

    Attributes:
        valid: it is in use now.
        service_s: wall time per sample. Of rows of arrays, one number for each run of neighbouring
            rows; of ``python``, one for each batch. Both are the mean of their samples.
        service_cpu_s: CPU time likewise; far less than `service_s` where cores or devices are
            waited for. Not counted for ``python``, of which `WorkerStats` has the sum.
        queue_length: samples (batches, of ``python``) that waited when one more came.
        wait_s: how long each of them waited.
    """

    valid: bool
    service_s: Distribution
    service_cpu_s: Distribution
    queue_length: Distribution
    wait_s: Distribution


@dataclass(frozen=True, eq=False, repr=False)
class WorkerStats(Report):
    """Where the time of the workers went, summed over them, in seconds.

    All but `cpu_s`, and the lanes' two, sum to `wall_s`. Threads serve all loaders of the process,
    so these are of all of them; worker processes serve one.

    Attributes:
        count: workers alive.
        wall_s: of all that ever were.
        idle_s: there was nothing to do: no pass, or its last samples are under way.
        window_s: blocked: as many batches are ready or under way as `prefetch_depth` allows.
        memory_s: blocked: samples wait for memory.
        storage_s: blocked: what is under way is still to be read.
        paused_s: the CPU budget was used up.
        other_s: scheduling; of worker processes, starting up.
        cpu_s: CPU time, in lanes or not.
        lanes: by name, ``cpu_s``, and ``core_wait_s``: wall time in the lane without a core. Of
            ``python`` that is whatever the dataset's code waits for: a core, storage, a timer.
    """

    count: int
    wall_s: float
    idle_s: float
    window_s: float
    memory_s: float
    storage_s: float
    paused_s: float
    other_s: float
    cpu_s: float
    lanes: Mapping[str, Mapping[str, float]]

    def shares(self) -> Iterator[tuple[str, float]]:
        """Every account and its share of `wall_s`, largest first; nothing before there is any."""
        if self.wall_s <= 0:
            return
        accounts = {
            "idle": self.idle_s,
            "window full": self.window_s,
            "waiting for memory": self.memory_s,
            "waiting for storage": self.storage_s,
            "paused": self.paused_s,
            "starting" if "python" in self.lanes else "scheduling": self.other_s,
        }
        for name, lane in self.lanes.items():
            accounts[name] = lane["cpu_s"]
            what = "waiting" if name == "python" else "waiting for a core"
            accounts[f"{name}, {what}"] = lane["core_wait_s"]
        for name, spent in sorted(accounts.items(), key=lambda item: -item[1]):
            yield name, spent / self.wall_s


@dataclass(frozen=True, eq=False, repr=False)
class StorageStats(Report):
    """The storage that the records come from, as this process has used it.

    Loaders of files and of data in memory share one count. An emulated storage has its own.

    Attributes:
        bytes: of records that were read.
        failures: reads that ended in an error.
        refusals: answers that said: not now.
        retries: reads that were tried again.
        in_flight: reads that are under way.
        at_once_s: seconds of reads that did not have to wait, from the page cache.
        waited_s: seconds of the others, from the start of their I/O to its end.
        kind: ``files``, ``emulated``, ``memory``; None for a dataset's own code.
        path: of the first record.
        mount: where its file system is mounted.
        filesystem: its type.
        device: what is mounted.
    """

    bytes: int
    failures: int
    refusals: int
    retries: int
    in_flight: int
    at_once_s: Distribution
    waited_s: Distribution
    kind: str | None = None
    path: str | None = None
    mount: str | None = None
    filesystem: str | None = None
    device: str | None = None


@dataclass(frozen=True, eq=False, repr=False)
class DeviceStats(Report):
    """What a GPU was asked for: where `placement` or `device_memory` has samples made there.

    Seconds are the device's own, by events between its copies and its kernels. Of the last batches
    of a pass they may be missing.

    Attributes:
        launches: of kernels.
        bytes_in: copied to the device.
        bytes_out: copied back.
        copy_s: of copies, and of what they waited for on the device.
        kernel_s: of kernels likewise.
    """

    launches: int
    bytes_in: int
    bytes_out: int
    copy_s: float
    kernel_s: float


@dataclass(frozen=True, eq=False, repr=False)
class SlowSample(Report):
    """One of the slowest samples; the same one may be there for several epochs.

    Attributes:
        record: its index in the source; None for a Python dataset, of which `position` is known.
        name: its file, or where it lies in one.
        epoch: number of its pass; None for a Python dataset.
        position: in the order of the epoch.
        rows: neighbouring rows of arrays that were made at once; 1 for all else.
        bytes: of its record; 0 for rows of arrays.
        seconds: of service, per row.
        slow: the stage that took most of them.
        lanes: seconds by stage.
    """

    record: int | None
    name: str
    epoch: int | None
    position: int
    rows: int
    bytes: int
    seconds: float
    slow: str
    lanes: Mapping[str, float]

    def __str__(self) -> str:
        return f"{seconds(self.seconds)} {self.name}: {self.slow}"


@dataclass(frozen=True, eq=False, repr=False)
class Stats(Report):
    """All that a loader has counted; it prints as a page.

    Attributes:
        settings: the knobs as they stand; what ``export_settings()`` gives.
        limits: by knob, between what it may move.
        batches: delivered.
        samples: in them; of worker processes, those that were made one by one.
        failed_samples: bad ones among all that were made.
        ready_batches: finished, and not taken yet.
        consumer: the training step.
        lanes: the stages of the work, by name.
        workers: where their time went.
        storage: what the records come from.
        device: the copies and kernels of a GPU that makes samples.
        upcoming: of up to 32 of the samples that come next in each pass: ``samples``, how many have
            known ``bytes`` (``sized``) and ``pixels`` (``seen``), and a whole index of their JPEG
            (``indexed``).
        memory: bytes of the RAM budget, ``used`` and ``limit``.
        machine: what the meters of the machine say.
        slowest: the slowest samples, slowest first; of a Python dataset those that living worker
            processes have made.
        learning: as of ``explain()``'s decisions.
    """

    settings: Mapping[str, Any]
    limits: Mapping[str, Sequence[int]]
    batches: int
    samples: int
    failed_samples: int
    ready_batches: int
    consumer: ConsumerStats
    lanes: Mapping[str, LaneStats]
    workers: WorkerStats
    storage: StorageStats
    device: DeviceStats
    upcoming: Mapping[str, int]
    memory: Mapping[str, int]
    machine: MachineStats
    slowest: Sequence[SlowSample]
    learning: Mapping[str, Any] | None = None

    @classmethod
    def of_core(cls, text: str, **more: Any) -> Stats:
        """What the core says, in JSON."""
        facts = json.loads(text) | more
        consumer = dict(facts["consumer"])
        storage = {name: value for name, value in facts["storage"].items() if value != ""}
        return cls.from_json(
            {
                **facts,
                "consumer": ConsumerStats.from_json(_distributions(consumer)),
                "lanes": {
                    name: LaneStats.from_json(_distributions(lane))
                    for name, lane in facts["lanes"].items()
                },
                "workers": WorkerStats.from_json(facts["workers"]),
                "storage": StorageStats.from_json(_distributions(storage)),
                "device": DeviceStats.from_json(facts["device"]),
                "machine": MachineStats.of_core(facts["machine"]),
                "slowest": [SlowSample.from_json(each) for each in facts["slowest"]],
            }
        )

    def __str__(self) -> str:
        return page(
            [*self._delivered(), *self._spent(), *self._read(), *self._on_device(), *self._slow()]
        )

    def _delivered(self) -> Iterator[tuple[str, str]]:
        yield "delivered", f"{self.batches} batches, {self.samples} samples"
        consumer = self.consumer
        yield "step", str(consumer.step_s)
        yield "stall", f"{consumer.stall_share:.1%} of the time of steps; {consumer.stall_s}"
        for name, lane in self.lanes.items():
            if lane.service_s.count:
                yield name, str(lane.service_s)

    def _spent(self) -> Iterator[tuple[str, str]]:
        shares = [f"{share:.0%} {name}" for name, share in self.workers.shares() if share >= 0.005]
        yield "workers", f"{self.workers.count}: {', '.join(shares) or 'nothing yet'}"

    def _read(self) -> Iterator[tuple[str, str]]:
        storage = self.storage
        at = f" at {storage.mount} ({storage.filesystem})" if storage.mount else ""
        reads = f"{storage.at_once_s.count} at once, {storage.waited_s.count} waited"
        yield "storage", f"{storage.kind or 'of the dataset'}{at}: {mib(storage.bytes)}, {reads}"
        if storage.refusals:
            yield "refusals", f"{storage.refusals}, {storage.retries} tried again"

    def _on_device(self) -> Iterator[tuple[str, str]]:
        device = self.device
        if device.launches:
            copied = f"{mib(device.bytes_in)} in, {mib(device.bytes_out)} out"
            spent = f"copies {seconds(device.copy_s)}, kernels {seconds(device.kernel_s)}"
            yield "device", f"{device.launches} launches; {copied}; {spent}"

    def _slow(self) -> Iterator[tuple[str, str]]:
        for sample in self.slowest[:3]:
            yield "slow sample", str(sample)


def _distributions(facts: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: Distribution.from_json(value)
        if isinstance(value, Mapping) and "buckets" in value
        else value
        for name, value in facts.items()
    }


def seconds(time: float) -> str:
    """A time in the unit that suits it."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if time >= size:
            return f"{time / size:.3g} {unit}"
    return f"{time * 1e6:.3g} µs"
