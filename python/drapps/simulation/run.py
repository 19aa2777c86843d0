"""A simulated run, and what came of it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from drapps import _core
from drapps.errors import PipelineError
from drapps.policy import DEFAULTS, Makers, Policy, chosen, name_of, to_json
from drapps.scenario.conditions import Python, Workload
from drapps.scenario.scenario import Scenario
from drapps.simulation.machine import Machine
from drapps.simulation.worlds import segments_of


@dataclass(frozen=True)
class SimulatedSegment:
    """A segment of a simulated run.

    Attributes:
        number: from 0, as in the scenario.
        name: that the scenario gives it; may be empty.
        begin: in seconds of the run.
        seconds: that it lasted.
        rate: samples per second that the training took.
        stall: share of the training's time that it waited for data, 0 to 1.
        load_mean: seconds that a batch was waited for, in the mean.
        load_p95: seconds that 95 % of them were waited for at most.
        cores: that the loader kept busy.
        memory: bytes of batches, processes and cache, the most at once.
        moves: of knobs.
        knobs: where they stood at the end, by name.
        gpu_idle: share of the time in which the accelerator did nothing; None without one.
        joules_per_batch: of the whole machine, by its power model; None without one.
        cost: of remote machines; None where there are none.
    """

    number: int
    name: str
    begin: float
    seconds: float
    rate: float
    stall: float
    load_mean: float
    load_p95: float
    cores: float
    memory: float
    moves: int
    knobs: Mapping[str, int]
    gpu_idle: float | None = None
    joules_per_batch: float | None = None
    cost: float | None = None


@dataclass(frozen=True)
class SimulatedRun:
    """A scenario on a machine, simulated. Printed, it is a table.

    Attributes:
        scenario: its name.
        machine: its name.
        policy: that moved the knobs; empty where they stayed.
        decisions: that it made.
        segments: in order.
        assumed: numbers of the machine that have no source.
    """

    scenario: str
    machine: str
    policy: str
    decisions: int
    segments: tuple[SimulatedSegment, ...]
    assumed: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Plain dictionaries and lists."""
        return asdict(self)

    def __str__(self) -> str:
        rows = [("segment", "samples/s", "stall", "cores", "GPU idle", "memory", "knobs")]
        for each in self.segments:
            idle = "" if each.gpu_idle is None else f"{each.gpu_idle:.0%}"
            knobs = ", ".join(f"{name} {value}" for name, value in each.knobs.items())
            rows.append(
                (
                    f"{each.number} {each.name}".strip(),
                    f"{each.rate:,.0f}",
                    f"{each.stall:.0%}",
                    f"{each.cores:.1f}",
                    idle,
                    f"{each.memory / 1e9:.2f} GB",
                    knobs,
                )
            )
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        how = f"under {self.policy}" if self.policy else "with settings that stay"
        lines = [f"{self.scenario} on {self.machine}, {how}, simulated:"]
        for row in rows:
            cells = [
                cell.rjust(width) if 0 < place < 6 else cell.ljust(width)
                for place, (cell, width) in enumerate(zip(row, widths, strict=True))
            ]
            lines.append("  " + "  ".join(cells).rstrip())
        if self.assumed:
            lines.append(
                f"{len(self.assumed)} numbers of this machine are assumed: --json lists them"
            )
        return "\n".join(lines)


def makers_of(workload: Workload) -> Makers:
    """Who makes the samples of a workload."""
    return "processes" if isinstance(workload, Python) else "threads"


def default_policy(workload: Workload) -> str:
    """The name of the policy that a loader of a workload has where none is named."""
    return name_of(DEFAULTS[makers_of(workload)])


def simulate(
    scenario: Scenario,
    machine: Machine,
    policy: Policy | None = None,
    *,
    knobs: Mapping[str, int] | None = None,
    seed: int = 1,
    record: str | os.PathLike[str] | None = None,
) -> SimulatedRun:
    """Runs a scenario on a machine that need not be there.

    Args:
        scenario: `drapps.scenario.load` gives one.
        machine: `drapps.simulation.load` gives one.
        policy: who moves the knobs. Where absent, they stay as given, or the loader's own default
            moves them where none are given.
        knobs: those to begin with that are other than the default's, by name.
        seed: of what varies slowly, where the machine's numbers say that something does.
        record: a new file for a trace of the policy's decisions, as ``loader.record()`` writes one.

    Raises:
        PipelineError: an unknown policy or knob, a knob that the machine has not or that is outside
            its limits, or a scenario with something that is not simulated; and where a trace is to
            be of a run without a policy.
        OSError: the file is there already, or takes nothing.
    """
    makers = makers_of(scenario.workload)
    if policy is not None or not knobs:
        policy = chosen(policy, makers)
    text = "" if policy is None else to_json(policy, makers)
    if record is not None and not text:
        raise PipelineError("record=: settings that stay make no decisions to record")
    description = {
        "seconds": scenario.seconds,
        "seed": seed,
        "segments": segments_of(scenario, machine),
    }
    try:
        outcome = json.loads(
            _core.simulate(
                json.dumps(description),
                text,
                json.dumps(dict(knobs or {})),
                trace=None if record is None else os.fsencode(record),
            )
        )
    except ValueError as error:
        raise PipelineError(f"{scenario.name} on {machine.name}: {error}") from None
    return SimulatedRun(
        scenario.name,
        machine.name,
        name_of(policy) if policy is not None else "",
        outcome["decisions"],
        tuple(_joined(scenario, outcome["segments"])),
        machine.assumed,
    )


def _joined(scenario: Scenario, rows: list[dict[str, Any]]) -> list[SimulatedSegment]:
    """The segments of the scenario, of which each may have been several."""
    joined = []
    for number, segment in enumerate(scenario.segments):
        parts = [row for row in rows if row["name"] == str(number)]
        if not parts:
            continue
        seconds = sum(part["seconds"] for part in parts)

        def mean(name: str, parts: list[dict[str, Any]] = parts, seconds: float = seconds) -> float:
            return float(sum(part[name] * part["seconds"] for part in parts) / seconds)

        optional = [name for name in ("gpu_idle", "joules_per_batch") if name in parts[0]]
        facts: dict[str, Any] = {name: mean(name) for name in optional}
        if "cost" in parts[0]:
            facts["cost"] = sum(part["cost"] for part in parts)
        joined.append(
            SimulatedSegment(
                number,
                segment.name,
                segment.begin,
                seconds,
                mean("rate"),
                mean("stall"),
                mean("load_mean"),
                max(part["load_p95"] for part in parts),
                mean("cores"),
                max(part["memory"] for part in parts),
                sum(part["moves"] for part in parts),
                parts[-1]["knobs"],
                **facts,
            )
        )
    return joined
