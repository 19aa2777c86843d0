"""From a scenario and a machine to the worlds that the core simulates."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from drapps.errors import PipelineError
from drapps.scenario.conditions import Arrays, Conditions, Cores, Photos, Python, Workload
from drapps.scenario.scenario import Scenario
from drapps.simulation.machine import Machine
from drapps.storage import Conditions as StorageConditions

World = dict[str, dict[str, float]]

_PHOTO_AREA = 500 * 375  # pixels of the picture that costs are given for
_CROP = 224
_ROW_BYTES = 3136
_SPLIT = 2e-6  # s of a core in which a sample goes from lane to lane; assumed
_NOTHING = 1.0  # bytes/s of a storage that gives nothing


def segments_of(scenario: Scenario, machine: Machine) -> list[dict[str, Any]]:
    """The segments of a simulated run, each with the number of that of the scenario.

    Raises:
        PipelineError: it has what is not simulated.
    """
    if scenario.counted == "samples":
        raise PipelineError(
            f"{scenario.name}: its events come at samples, and those of a simulated run at seconds"
        )
    segments = []
    for number, segment in enumerate(scenario.segments):
        end = segment.begin + scenario.length(number)
        for begin, storage in _storages(segment.conditions, segment.begin, end):
            world = world_of(scenario.workload, segment.conditions, storage, machine)
            segments.append({"begin": begin, "name": str(number), "world": world})
    return segments


def _storages(
    conditions: Conditions, begin: float, end: float
) -> Iterator[tuple[float, StorageConditions | None]]:
    """What the storage is, and from when on, in a segment."""
    if conditions.storage is None:
        yield begin, None
        return
    now, schedule, period = (
        conditions.storage.conditions,
        conditions.storage.schedule,
        conditions.storage.period,
    )
    rounds = math.ceil((end - begin) / period) if period else 1
    first = now
    if not schedule or schedule[0][0] > 0:
        yield begin, now
    for turn in range(rounds):
        now = first
        if turn and schedule[0][0] > 0:
            yield begin + turn * period, now
        for at, changes in schedule:
            now = now.changed(dict(changes))
            if begin + turn * period + at < end:
                yield begin + turn * period + at, now


def world_of(
    workload: Workload, conditions: Conditions, storage: StorageConditions | None, machine: Machine
) -> World:
    """A world, by group and name, for ``sim/world_json.h``."""
    world = {group: dict(values) for group, values in machine.numbers.items()}
    cores = machine.number("cores", "count")
    own = world.setdefault("cores", {})
    own["foreign"] = machine.number("cores", "foreign") + (
        math.ceil(_cores(conditions.burners, cores)) * conditions.duty
    )
    budget = machine.number("cores", "budget")
    if conditions.quota:
        quota = _cores(conditions.quota, cores)
        budget = min(budget, quota) if budget else quota
    if conditions.validation:  # a second loader that has its share
        budget = (budget or cores) / 2
    own["budget"] = budget
    if conditions.memory:
        memory = world.setdefault("memory", {})
        memory["limit"] = min(machine.number("memory", "limit"), conditions.memory)
        memory["page_cache"] = min(machine.number("memory", "page_cache"), conditions.memory)
    if storage is not None:
        world["storage"] = _storage(storage)
        if own_latency := machine.costs.read.get("latency", 0.0):
            world["storage"]["latency"] = world["storage"].get("latency", 0.0) + own_latency
        world.setdefault("memory", {})["page_cache"] = 0.0  # an emulated storage is behind it
    elif not isinstance(workload, Photos):
        world["storage"] = {}
    if conditions.consumer.model:
        raise PipelineError("a model's step is not simulated: give the scenario a step in seconds")
    world["consumer"] = {"step": conditions.consumer.step, "cpu": conditions.consumer.cpu}
    _COSTS[type(workload)](world, workload, conditions, machine)
    return world


def _cores(value: Cores, machine: float) -> float:
    if isinstance(value, str):
        return machine * float(value.rstrip("%")) / 100
    return float(value)


def _storage(conditions: StorageConditions) -> dict[str, float]:
    if conditions.refuses or conditions.stalls:
        return {"bandwidth": _NOTHING}
    variance = conditions.latency_spread**2
    return {
        "bandwidth": conditions.bandwidth,
        "connection": conditions.connection_bandwidth,
        "latency": conditions.latency * math.exp(variance / 2),  # the mean of a median
        "latency_cv": math.sqrt(math.expm1(variance)),
        "requests": conditions.requests_per_second,
    }


def _photos(world: World, workload: Photos, conditions: Conditions, machine: Machine) -> None:
    costs = machine.costs.photo
    area = workload.width * workload.height / _PHOTO_AREA * conditions.pictures
    crop = (workload.crop / _CROP) ** 2
    world["workload"] = {
        "batch": workload.batch,
        "samples": workload.epoch,
        "sample_bytes": costs["bytes"] * area,
        "row_bytes": workload.crop**2 * 3 * 4,
        "split": _SPLIT,
        "handover": costs.get("handover", 0.0),
    }
    decode = costs.get("picture", 0.0) + costs["decode"] * area
    if any(world.get("storage", {}).values()):
        decode += machine.costs.read.get("cpu", 0.0)
    world["decode"] = {"cpu": decode, "gpu": costs.get("decode_gpu", 0.0) * area}
    world["augment"] = {"cpu": costs["augment"] * crop, "gpu": costs.get("augment_gpu", 0.0) * crop}
    world["bytes"] = {"bytes": costs["bytes"] * area}
    for form, numbers in machine.costs.forms.items():
        world[form] = {name: value * area for name, value in numbers.items()}


def _arrays(world: World, workload: Arrays, _conditions: Conditions, machine: Machine) -> None:
    size = math.prod(workload.shape) * (1 if workload.dtype == "uint8" else 4)
    world["workload"] = {
        "batch": workload.batch,
        "samples": workload.rows,
        "sample_bytes": size,
        "row_bytes": size,
    }
    world["collate"] = {"cpu": machine.costs.row * max(1.0, size / _ROW_BYTES)}


def _python(world: World, workload: Python, conditions: Conditions, machine: Machine) -> None:
    size = workload.floats * 4
    world["workload"] = {
        "batch": workload.batch,
        "samples": workload.samples,
        "sample_bytes": size,
        "row_bytes": size,
    }
    cost, beside = conditions.python, machine.costs.python
    world["python"] = {
        "cpu": max(cost.cpu + beside.get("cpu", 0.0), machine.costs.row),
        "sleep": cost.sleep + (beside.get("wake", 0.0) if cost.sleep > 0 else 0.0),
    }


_COSTS: dict[type, Any] = {Arrays: _arrays, Photos: _photos, Python: _python}
