"""What the simulator says of a stretch."""

from __future__ import annotations

import json
from collections.abc import Mapping

from drapps import _core
from drapps.errors import PipelineError
from drapps.simulation.calibration import accelerator
from drapps.simulation.calibration.stretch import Stretch
from drapps.simulation.worlds import World

_SECONDS = 20.0  # of the simulator's time
_LEFT = 0.02  # share of the cores that others leave at least, however busy they are
_STAGES = ("decode", "augment", "tokenise", "python", "collate")
_ROUNDS = 30  # of a search that halves its error in each
_WAITING = ("bandwidth", "connection", "latency", "seek", "requests")


def rate_of(world: World, knobs: Mapping[str, int], others: float = 0.0) -> float:
    """Samples per second of a world with knobs that stay.

    Args:
        world: by group and name.
        knobs: where they stand; those that this world does not have are left out.
        others: cores that foreign load uses.

    Raises:
        PipelineError: the world or the knobs make no sense.
    """
    processes = "python" in world
    storage = any(world.get("storage", {}).get(name, 0) > 0 for name in _WAITING)
    known: tuple[str, ...] = ("processes",) if processes else ("workers", "prefetch_depth", "fused")
    if world.get("gpu", {}).get("count", 0) > 0:
        known += accelerator.KNOBS
    names = known + (("io_depth",) if storage and not processes else ())
    cores = dict(world.get("cores", {}))
    cores["foreign"] = cores.get("foreign", 0.0) + threads_of(world, knobs, others)
    described = {
        "seconds": _SECONDS,
        "seed": 1,
        "segments": [{"begin": 0, "name": "", "world": {**world, "cores": cores}}],
    }
    held = {name: knobs[name] for name in names if name in knobs}
    try:
        simulation = json.loads(_core.simulate(json.dumps(described), "", json.dumps(held)))
    except ValueError as error:
        raise PipelineError(f"a calibrated world: {error}") from None
    rate: float = simulation["segments"][0]["rate"]
    return rate


def threads_of(world: World, knobs: Mapping[str, int], others: float) -> float:
    """Threads that always want a core, which in this world get so many cores.

    Where cores are left they are as many. Where none is, all that want one share the cores evenly:
    the makers, as far as they do not sleep, or as one group where there are groups; the world's own
    foreign threads; and these.
    """
    cores = world.get("cores", {})
    count = cores.get("count", 2.0)
    others = min(others, count * (1 - _LEFT))
    makers = max(1, knobs.get("processes", knobs.get("workers", 1)))
    cpu = sum(world.get(stage, {}).get("cpu", 0.0) for stage in _STAGES) or 1.0
    asleep = world.get("python", {}).get("sleep", 0.0)
    foreign = cores.get("foreign", 0.0)
    threads, speed = others, 1.0
    for _ in range(_ROUNDS):
        wanting = makers * cpu / (cpu + asleep * speed) + foreign
        free = wanting + others <= count
        sharing = min(wanting, 1.0 + foreign) if cores.get("grouped") else wanting
        threads = others if free else others * sharing / (count - others)
        speed = 0.5 * (speed + min(1.0, count / max(count, wanting + threads)))
    return max(others, threads)


def error_of(world: World, stretch: Stretch) -> float:
    """By which share the simulator's rate is above the measured one."""
    return rate_of(world, stretch.knobs, stretch.others) / stretch.rate - 1
