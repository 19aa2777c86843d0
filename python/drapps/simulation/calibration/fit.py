"""From stretches to the numbers of a world. Pure, but for asking the simulator.

CPU times come from counters, so that foreign load does not spoil them. What remains, the times in
which nothing runs, comes from the rates: of all values the one with which the simulator's rates
differ least from those that were measured.
"""

from __future__ import annotations

import functools
import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from drapps.simulation.calibration import accelerator
from drapps.simulation.calibration.predict import error_of, threads_of
from drapps.simulation.calibration.stretch import Stretch
from drapps.simulation.worlds import World

WAITED = 0.5  # share of the samples from which on their storage makes readers wait
_QUEUED = 1.5  # times the shortest read, from which on reads wait for each other
_DEEP = 0.5  # share of io_depth that is in flight where the reads are what limits
_OVERSUBSCRIPTION = 0.02  # where no stretch had more threads than cores
_MOST_OVERSUBSCRIPTION = 0.3
_SPREAD = 0.25  # threads too many per core between which stretches must lie to show it
_NO_SLEEP = 0.05  # share of a sample's CPU time below which a sleep is an error of measurement
_FIRST_HANDOVER = 1e-3  # s, from which its search begins
_STEPS = (2.0, 1.4, 1.15, 1.05, 1.02)  # factors of a search, coarse to fine


def cpu_time(stretches: Iterable[Stretch]) -> float:
    """Seconds of a core that a sample takes, all of the loader's threads together."""
    return statistics.median(each.cpu_per_sample for each in stretches)


def oversubscription(
    stretches: Sequence[Stretch], cores: Mapping[str, float]
) -> tuple[float, bool]:
    """Share of its speed that a thread loses for each one too many per core; whether it was seen.

    By least squares: the CPU time of a sample rises with the threads beyond the cores.
    """
    cpu = cpu_time(stretches)
    awake = {"cores": dict(cores), "python": {"cpu": cpu}}
    excess = []
    for each in stretches:
        makers = each.knobs.get("processes") or each.knobs.get("workers", 1)
        wanting = makers + threads_of(awake, each.knobs, each.others)
        excess.append(max(0.0, wanting / cores["count"] - 1))
    if max(excess) - min(excess) < _SPREAD:
        return _OVERSUBSCRIPTION, False
    slope, base = statistics.linear_regression(excess, [each.cpu_per_sample for each in stretches])
    if base <= 0:
        return _OVERSUBSCRIPTION, False
    return min(_MOST_OVERSUBSCRIPTION, max(0.0, slope / base)), True


def stages(stretches: Sequence[Stretch], cpu: float) -> dict[str, float]:
    """What of a sample's CPU time is decoding, augmenting and collating.

    The plan in lanes says in which proportion; where none was measured, all of it is decoding.
    """
    lanes = [each.lanes for each in stretches if "decode" in each.lanes]
    if not lanes:
        return {"decode": cpu}
    spent = {
        name: statistics.median(each.get(name, 0.0) for each in lanes)
        for name in ("decode", "augment", "collate")
    }
    whole = sum(spent.values())
    return {name: cpu * each / whole for name, each in spent.items() if each > 0}


def waits(stretch: Stretch) -> bool:
    """Whether the storage of a stretch made readers wait."""
    return stretch.reads > WAITED * stretch.samples


def storage(stretches: Sequence[Stretch]) -> dict[str, float]:
    """Latency and bandwidth of what records come from; nothing where it never made readers wait."""
    waited = [each for each in stretches if waits(each)]
    if not waited:
        return {}
    size = statistics.median(each.read_bytes for each in waited)
    shortest = min(each.read for each in waited)
    full = [
        each.rate * each.read_bytes
        for each in waited
        if each.read > _QUEUED * shortest
        and each.rate * each.read > _DEEP * each.knobs.get("io_depth", 1)
    ]
    if not full:
        return {"latency": shortest}
    bandwidth = max(full)
    latency = max(0.0, shortest - size / bandwidth)
    return {"bandwidth": bandwidth, "latency": latency}


def sleep(world: World, stretches: Sequence[Stretch]) -> float:
    """Seconds that a sample of Python code waits for something else than a core."""
    cpu = world["python"]["cpu"]
    few = min(stretches, key=lambda each: each.knobs["processes"])
    most = few.knobs["processes"] / few.rate - cpu
    if most <= _NO_SLEEP * cpu:
        return 0.0
    asleep = functools.partial(_with, world, "python", "sleep")
    pause = searched(most, lambda seconds: misfit(asleep(seconds), stretches))
    none = misfit(asleep(0.0), stretches)
    awake = none <= misfit(asleep(pause), stretches) or pause <= _NO_SLEEP * cpu
    return 0.0 if awake else pause


def handover(world: World, stretches: Sequence[Stretch]) -> float:
    """Seconds from a batch's last row until the next may take its place.

    It shows where the window has one batch, and only there.
    """
    narrow = [each for each in stretches if each.knobs.get("prefetch_depth") == 1]
    if not narrow:
        return 0.0
    late = functools.partial(_with, world, "workload", "handover")
    delay = searched(_FIRST_HANDOVER, lambda seconds: misfit(late(seconds), narrow))
    return delay if misfit(late(delay), narrow) < misfit(late(0.0), narrow) else 0.0


def refined(world: World, names: Sequence[tuple[str, str]], stretches: Sequence[Stretch]) -> World:
    """The world with some of its numbers moved to where the rates fit best."""
    for group, name in names:
        value = world.get(group, {}).get(name, 0.0)
        if value > 0:
            other = functools.partial(_with, world, group, name)
            world = other(searched(value, lambda moved, of=other: misfit(of(moved), stretches)))  # type: ignore[misc]
    return world


def _with(world: World, group: str, name: str, value: float) -> World:
    return {**world, group: {**world[group], name: value}}


def searched(first: float, misfit_at: Callable[[float], float]) -> float:
    """The positive number with the least misfit, downhill from the first."""
    best, least = first, misfit_at(first)
    for factor in _STEPS:
        for step in (factor, 1 / factor):
            while (loss := misfit_at(best * step)) < least * (1 - 1e-6):
                best, least = best * step, loss
    return best


def misfit(world: World, stretches: Iterable[Stretch]) -> float:
    """The sum of the squares of the logarithms of simulated by measured rates."""
    return sum(math.log1p(error_of(world, each)) ** 2 for each in stretches)


def world_of(
    stretches: Sequence[Stretch], *, cores: Mapping[str, float], step: float, samples: int
) -> World:
    """The world in which the stretches of one loader were run.

    Args:
        stretches: one at least.
        cores: ``count``, that the loader may use, and whether they are ``grouped``.
        step: seconds of a training step; 0: batches are taken as they come.
        samples: of an epoch.
    """
    processes = "processes" in stretches[0].knobs
    whole = [each for each in stretches if each.knobs.get("fused", 1)]
    here = [each for each in whole if not any(accelerator.shares_of(each))] or whole
    cpu = cpu_time(here)
    lost, _ = oversubscription(here, cores)
    middle = stretches[0]
    row_bytes = statistics.median(each.row_bytes for each in stretches)
    read_bytes = statistics.median(each.read_bytes for each in stretches) or row_bytes
    world: dict[str, Any] = {
        "cores": {**cores, "oversubscription": lost},
        "workload": {
            "batch": max(1.0, middle.batch),
            "samples": max(1, samples),
            "sample_bytes": max(1.0, read_bytes),
            "row_bytes": max(1.0, row_bytes),
        },
        "consumer": {"step": step},
    }
    if processes:
        world["python"] = {"cpu": cpu}
        world["python"]["sleep"] = sleep(_eager(world), stretches)
        return world
    world |= {name: {"cpu": spent} for name, spent in stages(stretches, cpu).items()}
    if any(name in middle.knobs for name in accelerator.KNOBS):
        world = accelerator.added_to(world, whole)
    in_lanes = [each for each in stretches if not each.knobs.get("fused", 1)]
    if in_lanes:
        world["workload"]["split"] = max(1e-9, cpu_time(in_lanes) - cpu)
    if came := storage(whole):
        world["storage"] = came
        names = [("storage", "bandwidth"), ("storage", "latency")]
        world["storage"] = refined(_eager(world), names, whole)["storage"]
    world["workload"]["handover"] = handover(_eager(world), whole)
    return world


def _eager(world: World) -> World:
    """The world where batches are taken as they come, as stretches take them."""
    return {**world, "consumer": {"step": 0.0}}
