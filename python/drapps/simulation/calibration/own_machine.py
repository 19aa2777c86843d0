"""The machine that this is: what ``drapps calibrate`` measures, and what it makes of it.

Four conditions: photos in memory, of two sizes; photos behind an emulated storage; plain Python
samples in worker processes. The machine explains them all at once, and each residual is that of the
world that `drapps simulate` would make of the condition.
"""

from __future__ import annotations

import json
import math
import platform
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from drapps import _core
from drapps.scenario.conditions import Photos
from drapps.simulation.calibration.conditions import (
    BANDWIDTH,
    BEHIND_STORAGE,
    CONDITIONS,
    IN_MEMORY,
    PYTHON_CPU,
    SMALL,
    SMALL_SIZE,
    Condition,
    played,
)
from drapps.simulation.calibration.fit import (
    cpu_time,
    handover,
    misfit,
    oversubscription,
    searched,
    stages,
)
from drapps.simulation.calibration.live import explored, run
from drapps.simulation.calibration.residual import ranges_of, residual
from drapps.simulation.calibration.result import Calibration
from drapps.simulation.calibration.stretch import Stretch
from drapps.simulation.calibration.system import core_count, core_numbers, measured_on
from drapps.simulation.machine import Costs, Machine

if TYPE_CHECKING:
    Progress = Callable[[str, int, int], None]

_FIRST_LATENCY = 1e-4  # s, from which the search of a read's own latency begins
_SLEEP = 1e-3
_SLEEPS = 50


def calibrated(seconds: float = 2.0, progress: Progress = lambda *_: None) -> Calibration:
    """Measures this machine, and fits the simulator to it.

    Args:
        seconds: that each setting is measured.
        progress: is told what is measured, which of its settings, and of how many.

    Raises:
        PipelineError: torch is not installed, or a run came to nothing.
        OSError: pictures cannot be written into the user's cache folder.
    """
    return fitted(stretches_of(seconds, progress), wake())


def stretches_of(seconds: float, progress: Progress = lambda *_: None) -> dict[str, list[Stretch]]:
    """What is measured of each condition, by its name."""
    return {each.name: list(_explored(each, seconds, progress)) for each in CONDITIONS}


def fitted(groups: Mapping[str, Sequence[Stretch]], wake_time: float) -> Calibration:
    """The machine that explains the stretches of all conditions, by their names.

    Args:
        groups: stretches of each of the four conditions.
        wake_time: seconds by which a sleep is longer than it should be.
    """
    machine = _machine(groups, wake_time)
    all_of_them = [each for stretches in groups.values() for each in stretches]
    residuals = [
        residual(condition.world(machine), each)
        for condition in CONDITIONS
        for each in groups[condition.name]
    ]
    ranges = ranges_of(all_of_them)
    areas = [float(math.prod(SMALL_SIZE)), float(Photos().width * Photos().height)]
    ranges |= {
        "cores": (machine.number("cores", "count"),) * 2,
        "pixels of a picture": (min(areas), max(areas)),
        "bytes/s of a storage": (BANDWIDTH, BANDWIDTH),
        "latency of a storage": (0.0, 0.0),
        "CPU seconds of a Python sample": (PYTHON_CPU, PYTHON_CPU),
    }
    return Calibration(machine, IN_MEMORY.world(machine), tuple(residuals), ranges)


def _explored(condition: Condition, seconds: float, progress: Progress) -> Iterator[Stretch]:
    progress(condition.name, 0, 1)
    replica = played(condition, progress)
    if condition is not SMALL:
        yield from explored(replica, seconds, condition.name, progress)
        return
    knobs = {"workers": core_count(), "prefetch_depth": 4, "fused": 1}
    yield run(replica, knobs, seconds, condition.name)


def wake() -> float:
    """Seconds by which a sleep of this machine is longer than it should be."""
    late = []
    for _ in range(_SLEEPS):
        began = time.monotonic()
        time.sleep(_SLEEP)
        late.append(time.monotonic() - began - _SLEEP)
    return max(0.0, statistics.median(late))


def _machine(groups: Mapping[str, Sequence[Stretch]], wake_time: float) -> Machine:
    memory, small, stored, python = (groups[each.name] for each in CONDITIONS)
    cores = core_numbers()
    lost, seen = oversubscription(python, cores)
    machine = Machine(
        "this-machine",
        f"{core_count()} cores, {platform.machine()}, as drapps calibrate found them.",
        {
            "cores": {**cores, "oversubscription": lost},
            "memory": {"limit": json.loads(_core.limits())["machine"]["memory_bytes"]},
        },
        Costs(
            _photo(memory, small),
            _read(memory, stored),
            {"cpu": max(0.0, cpu_time(python) - PYTHON_CPU), "wake": wake_time},
        ),
    )
    machine = _with_handover(machine, memory)
    machine = _with_read_latency(machine, [each for each in stored if each.knobs.get("fused", 1)])
    sources = dict.fromkeys(machine.assumed, measured_on())
    of_system = ("cores.count", "cores.grouped", "memory.limit")
    sources |= dict.fromkeys(of_system, "what the system says")
    del sources["costs.row"]
    if not seen:
        del sources["cores.oversubscription"]
    return replace(machine, sources=sources)


def _photo(memory: Sequence[Stretch], small: Sequence[Stretch]) -> dict[str, float]:
    """A line through the CPU times of two sizes: of each picture, and of its pixels."""
    whole = [each for each in memory if each.knobs.get("fused", 1)]
    cpu = cpu_time(whole)
    parts = stages(memory, cpu)
    augment = parts.get("augment", 0.0) + parts.get("collate", 0.0)
    share = math.prod(SMALL_SIZE) / (Photos().width * Photos().height)
    decode = cpu - augment
    by_area = min(decode, max(0.0, (cpu - cpu_time(small)) / (1 - share)))
    return {
        "bytes": statistics.median(each.read_bytes for each in memory),
        "picture": decode - by_area,
        "decode": by_area,
        "augment": augment,
    }


def _read(memory: Sequence[Stretch], stored: Sequence[Stretch]) -> dict[str, float]:
    whole = [
        cpu_time(each for each in stretches if each.knobs.get("fused", 1))
        for stretches in (memory, stored)
    ]
    return {"cpu": max(0.0, whole[1] - whole[0])}


def _with_read_latency(machine: Machine, stretches: Sequence[Stretch]) -> Machine:
    """The machine with the latency of a read beside its storage's that explains the rates best."""

    def late(seconds: float) -> Machine:
        read: dict[str, Any] = {**machine.costs.read, "latency": seconds}
        return replace(machine, costs=replace(machine.costs, read=read))

    def badness(seconds: float) -> float:
        return misfit(BEHIND_STORAGE.world(late(seconds)), stretches)

    latency = searched(_FIRST_LATENCY, badness)
    return late(latency if badness(latency) < badness(0.0) else 0.0)


def _with_handover(machine: Machine, stretches: Sequence[Stretch]) -> Machine:
    delay = handover(IN_MEMORY.world(machine), stretches)
    photo = {**machine.costs.photo, "handover": delay}
    return replace(machine, costs=replace(machine.costs, photo=photo))
