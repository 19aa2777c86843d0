"""What the simulator says of a stretch."""

from __future__ import annotations

import json
from collections.abc import Mapping

from drapps import _core
from drapps.errors import PipelineError
from drapps.simulation.calibration.stretch import Stretch
from drapps.simulation.worlds import World

_SECONDS = 20.0  # of the simulator's time
_LEFT = 0.02  # share of the cores that others leave at least, however busy they are


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
    known = ("processes",) if processes else ("workers", "prefetch_depth", "fused")
    names = known + (("io_depth",) if storage and not processes else ())
    makers = knobs.get("processes" if processes else "workers", 1)
    cores = dict(world.get("cores", {}))
    count = cores.get("count", 2.0)
    cores["foreign"] = cores.get("foreign", 0.0) + threads_of(others, makers, count)
    described = {
        "seconds": _SECONDS,
        "seed": 1,
        "segments": [{"begin": 0, "name": "", "world": {**world, "cores": cores}}],
    }
    held = {name: knobs[name] for name in names if name in knobs}
    try:
        found = json.loads(_core.simulate(json.dumps(described), "", json.dumps(held)))
    except ValueError as error:
        raise PipelineError(f"a calibrated world: {error}") from None
    rate: float = found["segments"][0]["rate"]
    return rate


_WAITING = ("bandwidth", "connection", "latency", "seek", "requests")


def threads_of(others: float, makers: float, cores: float) -> float:
    """Threads that always want a core, which beside so many makers get so many cores."""
    others = min(others, cores * (1 - _LEFT))
    return others * max(1.0, makers) / (cores - others)


def error_of(world: World, stretch: Stretch) -> float:
    """By which share the simulator's rate is above the measured one."""
    return rate_of(world, stretch.knobs, stretch.others) / stretch.rate - 1
