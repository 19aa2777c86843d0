"""From what the processes of a training have recorded to numbers about it, rank by rank."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from drapps.watching.stages import COLLATE, DATASET, DECODE, HANDOVER, STORAGE, TRANSFER, TRANSFORM
from drapps.watching.times import Spread

Facts = Mapping[str, Any]
Parts = dict[tuple[str, str], float]  # seconds by stage and resource

_IDLE = 0.1  # of the workers' time
# Lanes of this package's native loaders, by stage.
_LANES = {
    "fetch": STORAGE,
    "decode": DECODE,
    "collate": COLLATE,
    "transfer": TRANSFER,
    "decode@cuda": DECODE,
    "transfer@cuda": TRANSFER,
}  # all others are transforms


@dataclass(frozen=True)
class MakingAccount:
    """How samples were made for a rank, by all its workers or by itself.

    Attributes:
        workers: processes that made batches; 0 where the training process did.
        seconds: of all of them, from their first batch on.
        busy_s: in which they made batches.
        parts: what these were spent on, by stage and resource: ``cpu``, ``core`` (waited for one),
            ``io``, ``sleep``, ``lock``, ``fault``, ``wait``.
        batches: how long each took.
        samples: how long each sample took.
        slowest: seconds and name of the slowest samples.
        lines: seconds by line, text, stage and the resource that it takes most of, most first.
        read_bytes: from devices.
        faults: of pages that had to be read.
        python: whether any of it ran as Python code.
    """

    workers: int = 0
    seconds: float = 0.0
    busy_s: float = 0.0
    parts: Parts = field(default_factory=dict)
    batches: Spread = field(default_factory=Spread)
    samples: Spread = field(default_factory=Spread)
    slowest: list[tuple[float, str]] = field(default_factory=list)
    lines: list[tuple[float, str, str, str, str]] = field(default_factory=list)
    read_bytes: int = 0
    faults: int = 0
    python: bool = True

    def share(self, *, stage: str = "", resource: str = "") -> float:
        """The share of the making that one stage or one resource took."""
        total = sum(self.parts.values())
        wanted = (
            seconds
            for (at, of), seconds in self.parts.items()
            if stage in ("", at) and resource in ("", of)
        )
        return sum(wanted) / total if total > 0 else 0.0

    def stages(self) -> dict[str, float]:
        """Share of each stage, largest first."""
        shares = {stage: self.share(stage=stage) for stage, _ in self.parts}
        return dict(sorted(shares.items(), key=lambda item: -item[1]))

    @property
    def idle_share(self) -> float:
        """The share of the workers' time in which they had nothing to do."""
        return max(0.0, 1 - self.busy_s / self.seconds) if self.seconds > 0 else 0.0


@dataclass(frozen=True)
class RankAccount:
    """What one training process did.

    Attributes:
        rank: its number; 0 where there is but one.
        pid: of it.
        seconds: that it was watched.
        loader: what is told of the loader that it trains with.
        steps: how long each step took, waits included.
        body: its own part of each.
        elsewhere: share of batches that another thread than the main one took.
        exposed_s: waits in which the device had nothing to do, of all steps.
        waits: all waits.
        waited_steps: steps with a wait of a millisecond or more.
        handover_share: of the exposed waits, what came behind the making of a batch, where workers
            had time for more; None where that is not known.
        queue_s: of the waits, those in which the training itself waited for a core.
        device_busy: of the steps, those at whose end the device still worked; None without one.
        apart: seconds between steps that are no part of them: ``validation``, ``checkpoint``.
        starts, gaps: seconds to the first batch of the run, and of each later pass.
        making: of its samples.
        synchronising_s: in the code of a step, waiting for other ranks.
        step_lines: seconds of the lines between batches, most first.
        machine: readings of the machine.
        timeline: of the loader.
        grown_bytes_per_hour: memory that creeps; 0 where it does not.
    """

    rank: int
    pid: int
    seconds: float
    loader: Facts
    steps: Spread
    body: Spread
    elsewhere: float
    exposed_s: float
    waits: Spread
    waited_steps: int
    handover_share: float | None
    queue_s: float
    device_busy: float | None
    apart: Mapping[str, float]
    starts: Sequence[float]
    gaps: Sequence[float]
    making: MakingAccount
    synchronising_s: float
    step_lines: Sequence[tuple[float, str, str]]
    machine: Facts
    timeline: Facts
    grown_bytes_per_hour: float

    @property
    def stall(self) -> float:
        """The share of the time of steps that was exposed wait, 0 to 1."""
        return min(1.0, self.exposed_s / self.steps.sum) if self.steps.sum > 0 else 0.0

    def stages(self) -> dict[str, float]:
        """The share of each stage in the exposed waits, largest first."""
        handed = self.handover_share or 0.0
        shares = {stage: (1 - handed) * share for stage, share in self.making.stages().items()}
        if handed:
            shares[HANDOVER] = handed
        return dict(sorted(shares.items(), key=lambda item: -item[1]))


def ranks_of(processes: Iterable[Facts]) -> list[RankAccount]:
    """The training processes among those that were recorded, in the order of their ranks."""
    processes = list(processes)
    training = [each for each in processes if _base_of(each) is not None]
    ranks = []
    for each in training:
        workers = [other for other in processes if other["parent"] == each["pid"]]
        workers = [other for other in workers if other["making"] and other not in training]
        ranks.append(_rank(each, workers))
    return sorted(ranks, key=lambda rank: (rank.rank, rank.pid))


def _base_of(process: Facts) -> Facts | None:
    """The loader that a process trains with: of those with gradients the one with most steps."""
    stepped = [each for each in process["loaders"] if each["steps"]["count"]]

    def weight(each: Facts) -> tuple[bool, float]:
        return each["training"] > each["steps"]["count"] / 2, each["steps"]["sum"]

    return max(stepped, key=weight, default=None)


def _rank(process: Facts, workers: Sequence[Facts]) -> RankAccount:
    base = _base_of(process)
    assert base is not None
    beside = [
        each
        for each in process["loaders"]
        if each is base
        or (each["training"] and each["steps"]["count"] > base["steps"]["count"] / 2)
    ]
    seen = process["seen"]
    known = base["device"]["known"]
    making = _native(process, base) or _making(process, workers) or _asked(process, base)
    step_s = base["body"]["sum"]
    in_step = sum(count for phase, _, _, count in seen["counts"] if phase == "step")
    lines = [
        (step_s * count / max(1, in_step), line, text)
        for phase, line, text, _, _, count in seen["lines"]
        if phase == "step"
    ]
    synchronised = sum(
        count
        for phase, _, text, _, resource, count in seen["lines"]
        if phase == "step" and resource != "cpu" and _synchronises(text)
    )
    return RankAccount(
        rank=process["rank"] or 0,
        pid=process["pid"],
        seconds=process["seconds"],
        loader=base["about"],
        steps=Spread.of(base["steps"]),
        body=Spread.of(base["body"]),
        elsewhere=base["elsewhere"] / (base["passes"] + base["steps"]["count"]),
        exposed_s=sum(each["exposed"]["sum"] for each in beside),
        waits=Spread.of(base["waits"]),
        waited_steps=base["waited_steps"],
        handover_share=_handover_share(base, making),
        queue_s=base["queue_s"],
        device_busy=base["device"]["busy"] / known if known else None,
        apart=base["apart"],
        starts=base["starts"],
        gaps=base["gaps"],
        making=making,
        synchronising_s=step_s * synchronised / max(1, in_step),
        step_lines=lines,
        machine=process["machine"] | {"workers_cpu_s": _cpu_of(workers)},
        timeline=base["timeline"],
        grown_bytes_per_hour=_growth([process, *workers]),
    )


def _handover_share(base: Facts, making: MakingAccount) -> float | None:
    """The share of the hand-over in the time that a batch takes; None where nothing is known.

    Workers that are never idle set the pace by their making, however late each batch comes: the
    share is 0. It comes late where Python code runs, since the thread that sends it waits for the
    interpreter.
    """
    known = base["handover_s"] + base["making_s"]
    if known <= 0:
        return None
    busy = making.workers and making.idle_share < _IDLE
    return 0.0 if busy else float(base["handover_s"] / known)


def _synchronises(text: str) -> bool:
    words = ("backward", "all_reduce", "allreduce", "barrier", "all_gather", "broadcast", "wait")
    return any(word in text for word in words)


def _cpu_of(workers: Sequence[Facts]) -> float:
    return float(sum(each["machine"]["own_cpu_s"] for each in workers))


def _asked(process: Facts, base: Facts) -> MakingAccount:
    """What the work in ``next`` itself cost, or in threads without Python code that it waits for.

    It is known only by where these were seen.
    """
    if base["about"].get("num_workers"):
        return MakingAccount(python=False)
    seen, spent = process["seen"], base["waits"]["sum"]
    counts = {(stage, how): n for phase, stage, how, n in seen["counts"] if phase == "others"}
    if not counts:
        counts = {(stage, how): n for phase, stage, how, n in seen["counts"] if phase == "next"}
    lines = [each for each in seen["lines"] if each[0] == "next"]
    looks, seen_s = max(1, sum(counts.values())), max(1, sum(each[-1] for each in lines))
    return MakingAccount(
        seconds=spent,
        busy_s=spent,
        parts={key: spent * count / looks for key, count in counts.items()},
        batches=Spread.of(base["waits"]),
        lines=[(spent * count / seen_s, *rest) for _, *rest, count in lines],
    )


def _making(process: Facts, workers: Sequence[Facts]) -> MakingAccount | None:
    makers = list(workers) or [process]
    own = [(each, facts) for each in makers for facts in each["making"]]
    if not own:
        return None
    items, collate = (
        _total(facts["items"] for _, facts in own),
        _total(facts["collate"] for _, facts in own),
    )
    counts: dict[tuple[str, str], int] = defaultdict(int)
    lines: dict[tuple[str, str, str], Counter[str]] = defaultdict(Counter)
    for each in makers:
        for phase, stage, resource, count in each["seen"]["counts"]:
            if phase == "items":
                counts[stage, resource] += count
        for phase, line, text, stage, resource, count in each["seen"]["lines"]:
            if phase in ("items", "collate"):
                lines[line, text, stage][resource] += count
    parts = _parts(items, counts)
    for resource, seconds in _resources(collate).items():
        parts[COLLATE, resource] = parts.get((COLLATE, resource), 0.0) + seconds
    busy = items["wall_s"] + collate["wall_s"]
    looks = max(1, sum(map(_total_of, lines.values())))
    return MakingAccount(
        workers=len(workers),
        seconds=sum(facts["seconds"] for _, facts in own),
        busy_s=busy,
        parts={key: seconds for key, seconds in parts.items() if seconds > 0},
        batches=Spread.of(*(facts["batches"] for _, facts in own)),
        samples=Spread.of(*(facts["samples"] for _, facts in own)),
        slowest=_slowest((seconds, name) for _, facts in own for seconds, name in facts["slowest"]),
        lines=sorted(
            (
                (busy * _total_of(each) / looks, *key, each.most_common(1)[0][0])
                for key, each in lines.items()
            ),
            reverse=True,
        ),
        read_bytes=int(items["read_bytes"] + collate["read_bytes"]),
        faults=int(items["faults"] + collate["faults"]),
    )


def _total_of(counts: Counter[str]) -> int:
    return sum(counts.values())


def _total(spent: Iterable[Facts]) -> dict[str, float]:
    totals: dict[str, float] = defaultdict(float)
    for each in spent:
        for name, value in each.items():
            totals[name] += value
    return totals


def _resources(spent: Mapping[str, float]) -> dict[str, float]:
    """Wall time as CPU, waits for a core, and all other waits."""
    cpu, queue = spent["cpu_s"], spent["queue_s"]
    return {"cpu": cpu, "core": queue, "wait": max(0.0, spent["wall_s"] - cpu - queue)}


def _parts(items: Mapping[str, float], counts: Mapping[tuple[str, str], int]) -> Parts:
    """Splits what was counted exactly in the proportion of what was seen.

    CPU time goes to stages in which the thread ran, waits to those in which it did not: so a
    stage that only sleeps gets nothing of the others' work.
    """
    spent = _resources(items)
    running: Parts = {key: n for key, n in counts.items() if key[1] == "cpu"}
    blocked: Parts = {key: n for key, n in counts.items() if key[1] != "cpu"}
    parts: Parts = defaultdict(float)
    for seen, seconds, resource in (
        (running, spent["cpu"], "cpu"),
        (running, spent["core"], "core"),
        (blocked, spent["wait"], ""),
    ):
        total = sum(seen.values())
        if not total:
            parts[DATASET, resource or "wait"] += seconds
        for (stage, of), count in seen.items():
            parts[stage, resource or of] += seconds * count / total
    return parts


def _slowest(samples: Iterable[tuple[float, str]]) -> list[tuple[float, str]]:
    return sorted(((float(seconds), name) for seconds, name in samples), reverse=True)[:10]


def _native(process: Facts, base: Facts) -> MakingAccount | None:
    """What a native loader of this package has counted for itself."""
    number = process["loaders"].index(base)
    reports = [each["stats"] for each in process["own"] if each["loader"] == number]
    if not reports or "python" in reports[-1]["workers"]["lanes"]:
        return None
    stats = reports[-1]
    workers, lanes = stats["workers"], stats["workers"]["lanes"]
    parts: Parts = defaultdict(float)
    for name, lane in lanes.items():
        stage = _LANES.get(name, TRANSFORM)
        parts[stage, "cpu"] += lane["cpu_s"]
        parts[stage, "core"] += lane["core_wait_s"]
    parts[STORAGE, "io"] += workers["storage_s"]
    return MakingAccount(
        workers=workers["count"],
        seconds=workers["wall_s"],
        busy_s=sum(parts.values()),
        parts={key: seconds for key, seconds in parts.items() if seconds > 0},
        slowest=_slowest((each["seconds"], each["name"]) for each in stats["slowest"]),
        read_bytes=stats["storage"]["bytes"],
        python=False,
    )


def _growth(processes: Sequence[Facts]) -> float:
    """Bytes per hour by which memory grows behind the first third of a run; 0 below 5 % of it."""
    total = 0.0
    for process in processes:
        points = process["machine"]["memory"]
        later = points[len(points) // 3 :]
        if len(later) < 10:
            continue
        grown, seconds = later[-1][1] - later[0][1], later[-1][0] - later[0][0]
        rises = sum(b[1] >= a[1] for a, b in itertools.pairwise(later))
        if grown > 0.05 * later[0][1] and rises > 0.7 * (len(later) - 1) and seconds > 0:
            total += grown / seconds * 3600
    return total
