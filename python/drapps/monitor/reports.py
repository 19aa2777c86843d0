"""What a process says of itself and of its loaders, as typed objects that are dictionaries, too."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from drapps.report.base import Report
from drapps.report.explanation import Explanation
from drapps.report.memory import MemoryReport
from drapps.report.stats import Stats


@dataclass(frozen=True, eq=False, repr=False)
class ProcessReport(Report):
    """A process with loaders.

    Attributes:
        pid: its number.
        drapps: its version of this package.
        command: what it runs, cut off behind 1,000 characters.
        rank: ``RANK`` of its environment; empty where that is not set.
        time_s: when this was so, in seconds of a clock that starts anywhere and never goes back.
        memory: of all its loaders together.
        loaders: those that have begun a pass and are alive, ``number``, ``kind`` and ``dataset``.
        world: ``WORLD_SIZE`` of its environment; empty where that is not set.
        job: what the ranks of one training have in common; empty of a process that is no rank.
    """

    pid: int
    drapps: str
    command: str
    rank: str
    time_s: float
    memory: MemoryReport
    loaders: Sequence[Mapping[str, Any]]
    world: str = ""
    job: str = ""

    @classmethod
    def from_json(cls, facts: Mapping[str, Any]) -> ProcessReport:
        """The report, as the process gives it."""
        return super().from_json({**facts, "memory": MemoryReport.from_json(facts["memory"])})


@dataclass(frozen=True, eq=False, repr=False)
class LoaderReport(Report):
    """A loader of a process.

    Attributes:
        number: among those of the process, from 1.
        kind: its class.
        dataset: what it loads, in a word.
        time_s: as of `ProcessReport`.
        stats: all that it has counted.
        explanation: what runs, what is kept, and what was decided.
    """

    number: int
    kind: str
    dataset: str
    time_s: float
    stats: Stats
    explanation: Explanation

    @classmethod
    def from_json(cls, facts: Mapping[str, Any]) -> LoaderReport:
        """The report, as the process gives it."""
        explained = facts["explanation"]
        plan = {"path": facts["path"], **explained["plan"]}
        known = {name: facts[name] for name in ("number", "kind", "dataset", "time_s")}
        return cls(
            **known,
            stats=Stats.of_core(json.dumps(facts["stats"])),
            explanation=Explanation.from_json({**explained, "plan": plan}, facts["choice"]),
        )
