"""Simulated runs that are compared: one case under many policies and settings."""

from __future__ import annotations

import functools
import json
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from drapps import _core
from drapps.errors import PipelineError
from drapps.scenario.scenario import Scenario
from drapps.simulation.machine import Machine
from drapps.simulation.run import default_policy
from drapps.simulation.search import DRAWN, RESTARTS, Settings, climb, search
from drapps.simulation.worlds import segments_of

Rates = tuple[float, ...]  # samples/s of each segment
Row = dict[str, Any]  # a segment, as the core tells of it


@dataclass(frozen=True)
class Case:
    """A scenario on a machine.

    Attributes:
        name: for people.
        seconds: that it lasts.
        segments: as ``sim/world_json.h`` has them. Those that follow each other under one name are
            one segment of the scenario.
        default: the name of the policy that the loader has where none is named.
        seed: of what varies slowly.
    """

    name: str
    seconds: float
    segments: tuple[Mapping[str, Any], ...]
    default: str
    seed: int = 1

    @functools.cached_property
    def text(self) -> str:
        """The case as JSON for the core."""
        return json.dumps(
            {"seconds": self.seconds, "seed": self.seed, "segments": list(self.segments)}
        )

    @functools.cached_property
    def names(self) -> tuple[str, ...]:
        """The names of its segments, in order."""
        return tuple(dict.fromkeys(str(segment["name"]) for segment in self.segments))

    def until(self, number: int) -> Case:
        """The same up to the end of a segment."""
        names = self.names[: number + 1]
        kept = tuple(segment for segment in self.segments if segment["name"] in names)
        later = self.segments[len(kept) :]
        seconds = float(later[0]["begin"]) if later else self.seconds
        return Case(self.name, seconds, kept, self.default, self.seed)

    def run(self, policy: str) -> list[Row]:
        """Its segments under a policy, which is JSON.

        Raises:
            PipelineError: there is no such policy, or it does not take what it is given.
        """
        return self._rows(policy, "{}")

    def held(self, settings: Sequence[Settings], *, features: bool = False) -> list[Row]:
        """Its segments with settings that are held: those of each segment, or of all.

        Args:
            settings: one for each segment, or one alone. Knobs that are not named stand as the
                default begins.
            features: whether rows have ``features``: numbers of ``plant/features.h`` by name.

        Values outside a segment's limits are brought within them.

        Raises:
            PipelineError: the machine has no such knob.
        """
        if len(settings) == 1:
            settings = list(settings) * len(self.names)
        by_name = dict(zip(self.names, settings, strict=True))
        knobs = [by_name[segment["name"]] for segment in self.segments]
        return self._rows("", json.dumps(knobs), features)

    def choices(self, number: int, knobs: Container[str] | None = None) -> dict[str, list[int]]:
        """The values of each knob of a segment, or of some, between which there is a choice."""
        name = self.names[number]
        first = next(segment for segment in self.segments if segment["name"] == name)
        values: dict[str, list[int]] = json.loads(_core.knob_values(json.dumps(first["world"])))
        return {name: values[name] for name in values if knobs is None or name in knobs}

    def begun(self) -> Settings:
        """The settings that the default begins with."""
        return dict(self._rows("", "{}")[0]["knobs"])

    def _rows(self, policy: str, knobs: str, features: bool = False) -> list[Row]:
        try:
            outcome = json.loads(_core.simulate(self.text, policy, knobs, features))
        except ValueError as error:
            raise PipelineError(f"{self.name}: {error}") from None
        rows: list[Row] = outcome["segments"]
        return rows


def case_of(scenario: Scenario, machine: Machine, seed: int = 1) -> Case:
    """A scenario on a machine.

    Raises:
        PipelineError: the scenario has what is not simulated.
    """
    return Case(
        f"{scenario.name} on {machine.name}",
        scenario.seconds,
        tuple(segments_of(scenario, machine)),
        default_policy(scenario.workload),
        seed,
    )


def rates_of(rows: Sequence[Row]) -> Rates:
    """Samples/s of each segment, whose parts have one name."""
    samples: dict[str, float] = {}
    seconds: dict[str, float] = {}
    for row in rows:
        samples[row["name"]] = samples.get(row["name"], 0.0) + row["samples"]
        seconds[row["name"]] = seconds.get(row["name"], 0.0) + row["seconds"]
    return tuple(samples[name] / seconds[name] for name in samples)


def value(rates: Rates, best: Rates) -> float:
    """The mean over the segments of a rate over the best one known; 1 where nothing flows."""
    return fmean(rate / most if most > 0 else 1.0 for rate, most in zip(rates, best, strict=True))


def best_held(
    case: Case, number: int = 0, *, drawn: int = DRAWN, restarts: int = RESTARTS
) -> Settings:
    """The settings with which a case is fastest in a segment, held from the beginning on."""
    part = case.until(number)
    begun = part.begun()
    choices = part.choices(number)
    optimum = search(
        choices,
        lambda settings: rates_of(part.held([settings]))[number],
        begun,
        case.name,
        drawn=drawn,
        restarts=restarts,
    )
    return optimum.settings


@dataclass(frozen=True)
class Oracle:
    """What somebody would do who knows what comes.

    Attributes:
        settings: of each segment, which the knobs have as it begins.
        rates: with these.
        best: the best rate of each segment that was seen, by these settings or by others.
    """

    settings: tuple[Settings, ...]
    rates: Rates
    best: Rates


def oracle(
    case: Case,
    others: Sequence[Sequence[Settings]] = (),
    *,
    knobs: Container[str] | None = None,
    drawn: int = DRAWN,
    restarts: int = RESTARTS,
) -> Oracle:
    """The best settings for each segment, of all knobs or of those that are named.

    Each segment's are searched behind those of the segments before it. Then all of them are
    improved together, from there, from the default's and from `others`, which are settings of each
    segment, or of all. `value` of the result is never less than that of any of these.
    """
    settings = _by_segment(case, knobs, drawn, restarts)
    count = len(case.names)
    begins = [settings, *(list(each) * (count if len(each) == 1 else 1) for each in others)]
    ends = begins
    if count > 1:
        begins.append([case.begun()] * count)
        reference = rates_of(case.held(settings))
        ends = begins + [_together(case, knobs, begin, reference) for begin in begins]
    rates = [rates_of(case.held(end)) for end in ends]
    best = tuple(map(max, *rates)) if len(rates) > 1 else rates[0]
    chosen = max(range(len(ends)), key=lambda at: value(rates[at], best))
    return Oracle(tuple(ends[chosen]), rates[chosen], best)


def _by_segment(
    case: Case, knobs: Container[str] | None, drawn: int, restarts: int
) -> list[Settings]:
    best: list[Settings] = []
    begun = case.begun()
    for number in range(len(case.names)):
        part = case.until(number)

        def rate(settings: Settings, part: Case = part) -> float:
            return rates_of(part.held([*best, settings]))[-1]

        best.append(
            search(
                part.choices(number, knobs),
                rate,
                begun | (best[-1] if best else {}),
                f"{case.name} {number}",
                drawn=drawn,
                restarts=restarts,
            ).settings
        )
    return best


def _together(
    case: Case, knobs: Container[str] | None, begin: list[Settings], reference: Rates
) -> list[Settings]:
    """Improved in all segments at once, where one segment's settings have effects in the next."""
    choices = {
        f"{number} {name}": values
        for number in range(len(case.names))
        for name, values in case.choices(number, knobs).items()
    }
    begun = case.begun()
    flat = {
        f"{number} {name}": value
        for number, settings in enumerate(begin)
        for name, value in (begun | settings).items()
    }

    def split(settings: Settings) -> list[Settings]:
        held: list[Settings] = [{} for _ in case.names]
        for key, value in settings.items():
            number, name = key.split(" ")
            held[int(number)][name] = value
        return held

    optimum = climb(
        choices,
        lambda settings: value(rates_of(case.held(split(settings))), reference),
        flat,
        case.name,
        [
            [f"{number} {name}" for number in range(len(case.names))]
            for name in case.choices(0, knobs)
            if all(f"{number} {name}" in choices for number in range(len(case.names)))
        ],
    )
    return split(optimum.settings)
