"""What is compared: every machine, with every workload, through every event that it may meet.

A variation draws how much the training asks for, and how much an event changes. Policies are tuned
in other variations than those in which they are compared.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from drapps.scenario.conditions import (
    Arrays,
    Conditions,
    Consumer,
    Photos,
    Python,
    PythonCost,
    Workload,
)
from drapps.simulation import Machine
from drapps.simulation.cases import Case
from drapps.simulation.run import default_policy
from drapps.simulation.worlds import world_of

LONG = 30.0  # seconds of a segment
NONE = "none"
SCORED = (1, 2, 3)  # variations that are compared
TUNED = (101, 102)  # variations in which policies are tuned
_NOISE = 0.05  # standard deviation of all times where something changes, as a share
_ROWS = 10_000_000  # of the arrays: epochs end seldom
_PYTHON_CPU = 1e-3  # seconds of a core that a sample of the Python dataset takes
_STEP_CPU = 0.1  # share of a training step that is spent on a core
_EMULATED: Mapping[str, float] = {"bandwidth": 500e6, "latency": 5e-3, "latency_cv": 0.3}


@dataclass(frozen=True)
class Stretch:
    """What is in force in a segment."""

    machine: Machine
    conditions: Conditions


Event = Callable[[Stretch, random.Random], tuple[Stretch, ...]]  # what follows; several in turn


@dataclass(frozen=True)
class Cell:
    """One machine, workload, event and variation.

    Attributes:
        machine: its name.
        workload: its name.
        event: its name; ``none`` where nothing changes, times not by chance either.
        variation: a number from which everything is drawn.
        case: what is simulated.
    """

    machine: str
    workload: str
    event: str
    variation: int
    case: Case

    @property
    def key(self) -> tuple[str, str, str, int]:
        """By which results are kept."""
        return self.machine, self.workload, self.event, self.variation


def cells(machine: Machine, variation: int, nominal: Machine | None = None) -> Iterator[Cell]:
    """All cells of a machine.

    Args:
        machine: that is simulated.
        variation: from which everything is drawn.
        nominal: the machine for which the training step was chosen; the same where absent.
    """
    for workload in WORKLOADS:
        for event in EVENTS[workload]:
            draws = random.Random(f"{machine.name} {workload} {event} {variation}")
            case = _case(machine, nominal or machine, workload, event, draws)
            yield Cell(machine.name, workload, event, variation, case)


def _case(
    machine: Machine, nominal: Machine, workload: str, event: str, draws: random.Random
) -> Case:
    loaded = WORKLOADS[workload]
    asked = 2.0 ** draws.uniform(-1, 1)  # of what the nominal machine's cores can make
    seed = draws.randrange(1 << 31)
    step = (
        0.0 if isinstance(loaded, Arrays) else loaded.batch / (asked * _capacity(nominal, loaded))
    )
    first = Stretch(
        _placed(machine, workload),
        Conditions(
            consumer=Consumer(step, _STEP_CPU if step else 0.0),
            python=PythonCost(cpu=_PYTHON_CPU),
        ),
    )
    later = EVENTS[workload][event](first, draws)
    stretches = [first, *later] if later else [first]
    length = LONG if later else 2 * LONG
    segments: list[dict[str, Any]] = []
    for number, stretch in enumerate(stretches):
        world = world_of(loaded, stretch.conditions, None, stretch.machine)
        world["workload"]["noise"] = _NOISE if later else 0.0
        segments.append({"begin": number * length, "name": str(number), "world": world})
    name = f"{machine.name}, {workload}, {event}"
    return Case(name, length * len(stretches), tuple(segments), default_policy(loaded), seed)


def _capacity(machine: Machine, workload: Workload) -> float:
    """Samples/s that the cores of a machine can make."""
    photo = machine.costs.photo
    cpu = _PYTHON_CPU if isinstance(workload, Python) else photo["decode"] + photo["augment"]
    return _usable(machine) / cpu


def _usable(machine: Machine) -> float:
    """Cores that the loader may use."""
    budget, count = machine.number("cores", "budget"), machine.number("cores", "count")
    return min(budget, count) if budget else count


def _placed(machine: Machine, workload: str) -> Machine:
    """With the records where the workload has them: cold on its storage, or in memory."""
    if workload != "photos-storage":
        return _changed(machine, storage={})
    numbers = machine.numbers
    storage = dict(numbers.get("storage") or _EMULATED)
    return _changed(machine, storage=storage, memory={**numbers["memory"], "page_cache": 0.0})


def _changed(machine: Machine, **groups: Mapping[str, float]) -> Machine:
    return replace(machine, numbers={**machine.numbers, **groups})


def _stored(stretch: Stretch, **factors: float) -> tuple[Stretch, ...]:
    """With numbers of the storage so many times as large."""
    storage = dict(stretch.machine.numbers["storage"])
    for name, factor in factors.items():
        storage[name] = storage[name] * factor
    return (replace(stretch, machine=_changed(stretch.machine, storage=storage)),)


def _under(stretch: Stretch, **changes: Any) -> tuple[Stretch, ...]:
    """Under other conditions."""
    return (replace(stretch, conditions=replace(stretch.conditions, **changes)),)


def _between(draws: random.Random, low: float, high: float) -> float:
    """Drawn by its logarithm."""
    return float(low * (high / low) ** draws.random())


def _none(_stretch: Stretch, _draws: random.Random) -> tuple[Stretch, ...]:
    return ()


def _bandwidth_falls(stretch: Stretch, draws: random.Random) -> tuple[Stretch, ...]:
    return _stored(stretch, bandwidth=1 / _between(draws, 4, 16))


def _latency_rises(stretch: Stretch, draws: random.Random) -> tuple[Stretch, ...]:
    return _stored(stretch, latency=_between(draws, 4, 32))


def _burners(stretch: Stretch, draws: random.Random) -> tuple[Stretch, ...]:
    there = _under(stretch, burners=f"{100 * _between(draws, 0.5, 2):.0f}%")
    return (*there, stretch)


def _quota(stretch: Stretch, draws: random.Random) -> tuple[Stretch, ...]:
    return _under(stretch, quota=_usable(stretch.machine) * _between(draws, 0.25, 0.75))


def _step_shrinks(stretch: Stretch, draws: random.Random) -> tuple[Stretch, ...]:
    consumer = stretch.conditions.consumer
    return _under(
        stretch, consumer=replace(consumer, step=consumer.step * _between(draws, 0.2, 0.6))
    )


def _samples_grow(stretch: Stretch, draws: random.Random) -> tuple[Stretch, ...]:
    return _under(stretch, pictures=_between(draws, 1.5, 4))


def _sleep_begins(stretch: Stretch, draws: random.Random) -> tuple[Stretch, ...]:
    return _under(stretch, python=PythonCost(_PYTHON_CPU, _between(draws, 5e-3, 50e-3)))


_ALL: Mapping[str, Event] = {NONE: _none, "burners come and go": _burners, "quota": _quota}
_TRAINED: Mapping[str, Event] = {**_ALL, "step shrinks": _step_shrinks}
_PICTURES: Mapping[str, Event] = {**_TRAINED, "samples grow": _samples_grow}

WORKLOADS: Mapping[str, Workload] = {
    "photos-storage": Photos(),
    "photos-memory": Photos(),
    "arrays": Arrays(rows=_ROWS),
    "python": Python(),
}
EVENTS: Mapping[str, Mapping[str, Event]] = {
    "photos-storage": {
        **_PICTURES,
        "bandwidth falls": _bandwidth_falls,
        "latency rises": _latency_rises,
    },
    "photos-memory": _PICTURES,
    "arrays": _ALL,
    "python": {**_TRAINED, "sleep begins": _sleep_begins},
}
