"""A scenario, and the segments that its events cut it into."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from drapps.errors import PipelineError
from drapps.scenario.conditions import (
    KINDS,
    Arrays,
    Conditions,
    Consumer,
    PythonCost,
    Storage,
    Workload,
    kind_of,
)
from drapps.storage import Conditions as StorageConditions


@dataclass(frozen=True)
class Segment:
    """A stretch in which the conditions stay.

    Attributes:
        begin: in seconds, or the number of the sample, as `Scenario.counted` says.
        conditions: that are in force.
        name: for people.
    """

    begin: float
    conditions: Conditions
    name: str = ""


@dataclass(frozen=True)
class Scenario:
    """What is played.

    Attributes:
        name: of the scenario.
        about: a sentence or two for people.
        workload: what is loaded.
        seconds: that it lasts.
        segments: in the order of their beginnings; the first begins at 0.
        counted: in what they begin: ``seconds``, or ``samples`` that were taken.
    """

    name: str
    about: str
    workload: Workload
    seconds: float
    segments: tuple[Segment, ...]
    counted: str = "seconds"

    def key(self, number: int) -> str:
        """What is in force in a segment, without names and times: equal where that is.

        It is JSON of a canonical form, so that it may be kept and compared.
        """
        conditions = _canonical(self.segments[number].conditions)
        return json.dumps(
            {"workload": _workload_json(self.workload), **asdict(conditions)}, sort_keys=True
        )

    def length(self, number: int) -> float:
        """Seconds of a segment; of one that is counted in samples the whole scenario's."""
        if self.counted == "samples":
            return self.seconds
        ends = [*(segment.begin for segment in self.segments[1:]), self.seconds]
        return ends[number] - self.segments[number].begin

    def alone(self, number: int, seconds: float | None = None) -> Scenario:
        """One segment as a scenario of its own, which lasts so long.

        Raises:
            PipelineError: there is no such segment.
        """
        if not 0 <= number < len(self.segments):
            raise PipelineError(
                f"{self.name} has no segment {number}; it has {len(self.segments)}, from 0"
            )
        segment = replace(self.segments[number], begin=0.0)
        return replace(
            self,
            name=f"{self.name}, segment {number}",
            seconds=seconds or self.length(number),
            segments=(segment,),
            counted="seconds",
        )

    def lasting(self, seconds: float) -> Scenario:
        """The scenario in another time: events, and what is periodic, are sped up or slowed."""
        factor = seconds / self.seconds
        whole = self.counted == "samples"
        segments = tuple(
            replace(
                segment,
                begin=float(int(segment.begin * factor)) if whole else segment.begin * factor,
                conditions=_sped(segment.conditions, factor),
            )
            for segment in self.segments
        )
        return replace(self, seconds=seconds, segments=segments)

    def to_json(self) -> dict[str, Any]:
        """Plain dictionaries and lists, of which `from_json` makes it again."""
        whole = asdict(self)
        whole["workload"] = _workload_json(self.workload)
        return whole

    @staticmethod
    def from_json(given: Mapping[str, Any]) -> Scenario:
        """What `to_json` gave."""
        workload = dict(given["workload"])
        kind = KINDS[workload.pop("kind")]
        if kind is Arrays:
            workload["shape"] = tuple(workload["shape"])
        segments = tuple(
            Segment(each["begin"], _conditions(each["conditions"]), each["name"])
            for each in given["segments"]
        )
        return Scenario(**{**given, "workload": kind(**workload), "segments": segments})


def _workload_json(workload: Workload) -> dict[str, Any]:
    return {"kind": kind_of(workload), **asdict(workload)}


def _conditions(given: Mapping[str, Any]) -> Conditions:
    storage = given["storage"]
    if storage is not None:
        schedule = tuple(
            (at, tuple((name, value) for name, value in changes))
            for at, changes in storage["schedule"]
        )
        conditions = StorageConditions(**storage["conditions"])
        storage = Storage(conditions, schedule, storage["period"])
    parts = {
        "storage": storage,
        "consumer": Consumer(**given["consumer"]),
        "python": PythonCost(**given["python"]),
    }
    return Conditions(**{**given, **parts})


def _canonical(conditions: Conditions) -> Conditions:
    """The conditions without values that change nothing."""
    if conditions.storage == Storage():
        conditions = replace(conditions, storage=None)
    if not conditions.consumer.step:
        conditions = replace(conditions, consumer=replace(conditions.consumer, cpu=0.0))
    if not conditions.burners:
        conditions = replace(conditions, duty=1.0)
    return conditions


def _sped(conditions: Conditions, factor: float) -> Conditions:
    storage = conditions.storage
    if storage is None or not storage.schedule:
        return conditions
    schedule = tuple((at * factor, changes) for at, changes in storage.schedule)
    return replace(
        conditions, storage=replace(storage, schedule=schedule, period=storage.period * factor)
    )
