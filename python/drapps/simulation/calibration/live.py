"""`calibrate`: the simulator, fitted to a loader of the user's."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from drapps import arguments
from drapps.errors import PipelineError
from drapps.simulation.calibration.fit import oversubscription, waits, world_of
from drapps.simulation.calibration.replica import Replica
from drapps.simulation.calibration.replicas import replica_of
from drapps.simulation.calibration.residual import ranges_of, residual
from drapps.simulation.calibration.result import Calibration
from drapps.simulation.calibration.stretch import Stretch, measured
from drapps.simulation.calibration.system import core_count, core_numbers, measured_on
from drapps.simulation.machine import Costs, Machine
from drapps.simulation.worlds import World

Knobs = Mapping[str, int]

_LEAD = 0.4  # share of a stretch that is left out before it
_IO_DEPTHS = (1, 4, 16, 64)
_PREFETCH_DEPTHS = (1, 8)


def calibrate(
    loader: Any,
    *,
    seconds: float = 1.5,
    step: float | None = None,
    progress: Callable[[str, int, int], None] = lambda *_: None,
) -> Calibration:
    """Measures a loader with some settings, and fits the simulator to it.

    It takes batches from loaders of its own with the same dataset, description and storage, so that
    the user's loader yields afterwards what it would have yielded anyway: its passes, order,
    generators, policy and knobs are not touched. It takes some ten times `seconds`, in which
    nothing else should run on the machine.

    Args:
        loader: a `drapps.Loader`, or a `drapps.torch.DataLoader` that runs natively or in worker
            processes.
        seconds: that each setting is measured.
        step: seconds of a training step; where absent, what the loader has counted of its own, and
            where it has counted nothing, none: batches are taken as they come.
        progress: is told what is measured, which it is, and of how many.

    Raises:
        PipelineError: another kind of loader, one whose Python code runs in this process or in
            threads of it, or one that makes no batches of its own; or it yields none.
    """
    seconds = arguments.seconds("seconds", seconds)
    if not seconds > 0:
        raise PipelineError(f"seconds={seconds} is no time to measure for")
    replica = replica_of(loader)
    step = arguments.seconds("step", step) if step is not None else step_of(loader)
    stretches = explored(replica, seconds, progress=progress)
    samples = _samples_of(loader)
    world = world_of(stretches, cores=core_numbers(), step=step, samples=samples)
    return Calibration(
        machine_of_world(world, stretches),
        world,
        tuple(residual({**world, "consumer": {"step": 0.0}}, each) for each in stretches),
        ranges_of(stretches),
    )


def explored(
    replica: Replica,
    seconds: float,
    condition: str = "",
    progress: Callable[[str, int, int], None] = lambda *_: None,
) -> list[Stretch]:
    """The stretches of a loader, one for each of the settings that are to be tried."""
    first = _first(replica)
    stretches = [run(replica, first, seconds, condition)]
    others = [knobs for knobs in _settings(replica, stretches[0], first) if knobs != first]
    for number, knobs in enumerate(others, 2):
        text = ", ".join(f"{name} {value}" for name, value in knobs.items())
        progress(f"{condition or 'measuring'}: {text}", number, len(others) + 1)
        stretches.append(run(replica, knobs, seconds, condition))
    return stretches


def run(replica: Replica, knobs: Knobs, seconds: float, condition: str = "") -> Stretch:
    """Measures one stretch with these knobs."""
    replica.begin(knobs)
    try:
        stretch = measured(
            replica.batches,
            replica.stats,
            knobs,
            seconds=seconds,
            lead=_LEAD * seconds,
            condition=condition,
        )
        stood = replica.knobs()
        return replace(stretch, knobs={name: stood[name] for name in knobs})
    finally:
        replica.end()


def _first(replica: Replica) -> dict[str, int]:
    """The first settings to try: all cores at work, at the usual depths."""
    if replica.processes:
        return {"processes": min(core_count(), replica.limits["processes"][1])}
    wanted = {"workers": core_count(), "io_depth": 16, "prefetch_depth": 4, "fused": 1}
    return _fitted(replica, wanted)


def _settings(replica: Replica, first: Stretch, wanted: Knobs) -> Iterator[Knobs]:
    cores = core_count()
    if replica.processes:
        counts = {1, max(1, cores // 2), cores, math.ceil(1.5 * cores), 2 * cores}
        yield from ({"processes": each} for each in sorted(_within(replica, "processes", counts)))
        return
    for workers in sorted(_within(replica, "workers", {1, max(1, cores // 2)}), reverse=True):
        yield {**wanted, "workers": workers}
    if replica.limits["fused"][0] == 0:
        yield {**wanted, "fused": 0}
    if waits(first):
        for depth in sorted(_within(replica, "io_depth", set(_IO_DEPTHS))):
            yield {**wanted, "io_depth": depth}
    for depth in sorted(_within(replica, "prefetch_depth", set(_PREFETCH_DEPTHS))):
        yield {**wanted, "prefetch_depth": depth}


def _within(replica: Replica, name: str, values: set[int]) -> set[int]:
    low, high = replica.limits[name]
    return {min(max(value, low), high) for value in values}


def _fitted(replica: Replica, wanted: Knobs) -> dict[str, int]:
    return {name: min(_within(replica, name, {value})) for name, value in wanted.items()}


def step_of(loader: Any) -> float:
    """Seconds of a training step of the user's, without what it waited; 0 where none was taken."""
    consumer = loader.stats().consumer
    count = int(consumer.step_s.count)
    if count == 0:
        return 0.0
    spent = float(consumer.step_s.sum - consumer.stall_s.sum - consumer.helped_s)
    return max(0.0, spent) / count


def _samples_of(loader: Any) -> int:
    size = getattr(loader, "dataset_size", None)
    if size is None:
        try:
            size = len(loader.dataset)
        except TypeError:
            size = 65536  # a stream has no number that is known
    return max(1, int(size))


def machine_of_world(world: World, stretches: Sequence[Stretch]) -> Machine:
    """A machine whose samples cost what those of the world do, whatever they are."""
    numbers: dict[str, dict[str, float]] = {"cores": dict(world["cores"])}
    if "storage" in world:
        numbers["storage"] = dict(world["storage"])
    photo = dict(Costs().photo)
    if "decode" in world:
        photo = {
            "bytes": world["workload"]["sample_bytes"],
            "decode": world["decode"]["cpu"],
            "augment": sum(world.get(each, {}).get("cpu", 0.0) for each in ("augment", "collate")),
            "handover": world["workload"]["handover"],
        }
    source = measured_on()
    _, seen = oversubscription(stretches, world["cores"])
    sources = {f"{group}.{name}": source for group in numbers for name in numbers[group]}
    if not seen:
        del sources["cores.oversubscription"]
    if "decode" in world:
        sources |= {f"costs.photo.{name}": source for name in photo}
    return Machine(
        "calibrated",
        "As drapps.calibrate() found it with one loader; its samples take the place of pictures.",
        numbers,
        Costs(photo),
        sources,
    )
