"""The result of a run: one JSON document."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from drapps.errors import PipelineError

SCHEMA = 1


@dataclass(frozen=True)
class SegmentResult:
    """What was measured in a segment.

    Attributes:
        number: from 0.
        name: that the scenario gives it; may be empty.
        key: `Scenario.key`.
        begin, end: seconds since the run began. A segment that was not reached is not listed.
        rate: samples per second.
        stall_share: of the time, what was waited for batches, 0 to 1.
        cpu_per_sample: seconds of CPU time of the player and its workers, without what an emulated
            step spends; None where no sample came.
        p95_wait: seconds that a step waited at most, of 95 % of them; None without a step.
        time_to_best: seconds until 95 % of the best rate in 2 s; None where that is not known.
        validation_rate: samples per second of the second loader.
    """

    number: int
    name: str
    key: str
    begin: float
    end: float
    rate: float
    stall_share: float
    cpu_per_sample: float | None
    p95_wait: float | None
    time_to_best: float | None
    validation_rate: float


@dataclass(frozen=True)
class Run:
    """A scenario, played.

    Attributes:
        scenario: `Scenario.to_json`.
        loader: `Drapps.to_json` or `Stock.to_json`.
        label: the loader's name in tables and plots.
        machine: ``cores`` and ``memory_bytes`` that processes may use, ``cpu``, ``kernel``, and the
            versions of ``drapps`` and ``torch``.
        photos: the folders that the pictures lay in.
        skipped: why nothing was played; empty where it was.
        segments: in order.
        rates: samples per second, in each half second of the run.
        knobs: ``[seconds, {knob: value}]``, every half second.
        decisions: the loader's own log; empty for the stock loader.
        checksums: CRC-32 of the first batches, as many as were asked for.
        trace: the file of what was decided; empty where none was asked for.
    """

    scenario: Mapping[str, Any]
    loader: Mapping[str, Any]
    label: str
    machine: Mapping[str, Any] = field(default_factory=dict)
    photos: Sequence[str] = ()
    skipped: str = ""
    segments: Sequence[SegmentResult] = ()
    rates: Sequence[float] = ()
    knobs: Sequence[Sequence[Any]] = ()
    decisions: Sequence[Mapping[str, Any]] = ()
    checksums: Sequence[int] = ()
    trace: str = ""

    def to_json(self) -> dict[str, Any]:
        """Plain dictionaries and lists."""
        return {"kind": "drapps.scenario.run", "schema": SCHEMA, **asdict(self)}

    @staticmethod
    def from_json(given: Mapping[str, Any]) -> Run:
        """What `to_json` gave.

        Raises:
            PipelineError: it is none, or one of another version.
        """
        if given.get("kind") != "drapps.scenario.run" or given.get("schema") != SCHEMA:
            raise PipelineError(f"this is no result of a scenario of schema {SCHEMA}")
        values = {name: value for name, value in given.items() if name not in ("kind", "schema")}
        segments = [SegmentResult(**each) for each in values["segments"]]
        return Run(**{**values, "segments": segments})

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the document into a new file.

        Raises:
            OSError: it cannot be written, or is there.
        """
        with Path(path).open("x", encoding="utf-8") as file:
            json.dump(self.to_json(), file, indent=1, default=str)

    def __str__(self) -> str:
        """A table with a line for each segment."""
        head = f"{self.scenario['name']}: {self.label}"
        if self.skipped:
            return f"{head}\nskipped: {self.skipped}"
        titles = (
            "segment",
            "from",
            "to",
            "samples/s",
            "stall",
            "CPU/sample",
            "p95 wait",
            "95 % in",
        )
        rows = [titles, *(_row(each) for each in self.segments)]
        widths = [max(len(row[column]) for row in rows) for column in range(len(titles))]
        lines = [
            "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip()
            for row in rows
        ]
        return "\n".join([head, *lines])


def _row(each: SegmentResult) -> tuple[str, ...]:
    return (
        f"{each.number} {each.name}".strip(),
        f"{each.begin:.1f} s",
        f"{each.end:.1f} s",
        f"{each.rate:,.0f}",
        f"{each.stall_share:.1%}",
        duration(each.cpu_per_sample),
        duration(each.p95_wait),
        "" if each.time_to_best is None else f"{each.time_to_best:.1f} s",
    )


def duration(seconds: float | None) -> str:
    """A duration for people; nothing for None."""
    if seconds is None:
        return ""
    if seconds >= 1:
        return f"{seconds:.2f} s"
    return f"{seconds * 1e3:.2f} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.1f} µs"
