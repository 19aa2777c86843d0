"""Who is compared, and what a run of each is kept as."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.control.cells import Cell
from drapps import _core
from drapps.simulation.cases import Case, Row
from drapps.simulation.tuning import Parameters, policy_text

DEFAULT, STATIC, OWN, ORACLE = "default", "tuned static", "oracle, own knobs", "oracle"
CALIBRATED = "mpc, true world"
LIVE_KNOBS = ("workers", "io_depth", "prefetch_depth", "fused", "processes")
POLICIES = (
    "initial",
    "trials",
    "static",
    "hill_climb",
    "rule",
    "aimd",
    "model",
    "mpc",
    CALIBRATED,
    "cpu_only",
    "gpu_only",
    "round_robin",
    "fixed_split",
)
ARMS = (DEFAULT, *POLICIES, STATIC, OWN, ORACLE)
_FACTS = ("load_mean", "load_p95", "gpu_idle", "memory", "joules_per_batch", "cost", "moves")
_DIGITS = 6


def name_of(arm: str) -> str:
    """The policy of an arm."""
    return "mpc" if arm == CALIBRATED else arm


def more_of(arm: str, case: Case) -> Mapping[str, Any]:
    """What a policy has beside its parameters: of one arm the world as it begins."""
    if arm != CALIBRATED:
        return {}
    world = json.dumps(case.segments[0]["world"]).encode()
    return {"weights": base64.b64encode(world).decode(), "schema": _core.schema()}


def rows_of(arm: str, cell: Cell, parameters: Parameters) -> list[Row]:
    """A run of a cell under the policy of an arm, or under the default."""
    if arm == DEFAULT:
        return cell.case.run(json.dumps(cell.case.default))
    return cell.case.run(policy_text(name_of(arm), parameters, more_of(arm, cell.case)))


def facts_of(rows: Sequence[Row]) -> list[dict[str, float]]:
    """What is kept of each segment."""
    return [
        {"rate": rounded(row["samples"] / row["seconds"])}
        | {name: rounded(row[name]) for name in _FACTS if name in row}
        for row in rows
    ]


def rounded(number: float) -> float:
    """To the digits that are kept."""
    return float(f"{number:.{_DIGITS}g}")
