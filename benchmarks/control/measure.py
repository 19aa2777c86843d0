"""One row of the comparison: a cell under every policy, against what searches find."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.control.arms import (
    DEFAULT,
    LIVE_KNOBS,
    ORACLE,
    OWN,
    POLICIES,
    STATIC,
    facts_of,
    rounded,
    rows_of,
)
from benchmarks.control.cells import Cell
from drapps.simulation.cases import Case, Rates, best_held, oracle, rates_of
from drapps.simulation.search import Settings
from drapps.simulation.tuning import Parameters

_TOLD = 2  # signals of an event that are kept
_LEAST = 0.02  # change of a feature that is a signal: of a share, or in doublings
_OWN_FEATURES = ("knob.", "valid.", "meter_valid.")  # of the settings, and of what there is


def measured(cell: Cell, tuned: Mapping[str, Parameters]) -> dict[str, Any]:
    """The row, plain for JSON.

    Args:
        cell: that is simulated.
        tuned: parameters of the policies, by arm.
    """
    case = cell.case
    static = best_held(case)
    own = oracle(case, knobs=LIVE_KNOBS)
    ideal = oracle(case, [[static], own.settings])
    runs = {arm: rows_of(arm, cell, tuned.get(arm, {})) for arm in (DEFAULT, *POLICIES)}
    runs[STATIC] = case.held([static], features=True)
    runs[OWN] = case.held(own.settings)
    runs[ORACLE] = case.held(ideal.settings)
    best = tuple(
        max(rates) for rates in zip(ideal.best, rates_of(runs[STATIC]), own.best, strict=True)
    )
    return {
        "machine": cell.machine,
        "workload": cell.workload,
        "event": cell.event,
        "variation": cell.variation,
        "best": [rounded(rate) for rate in best],
        "static": static,
        "oracle": list(ideal.settings),
        "own": list(own.settings),
        "knobs": _knobs(case, ideal.settings, static, rates_of(runs[ORACLE])),
        "signals": [
            _signals(before["features"], now["features"])
            for before, now in zip(runs[STATIC][:-1], runs[STATIC][1:], strict=True)
        ],
        "arms": {arm: facts_of(run) for arm, run in runs.items()},
    }


def _knobs(
    case: Case, settings: Sequence[Settings], static: Settings, rates: Rates
) -> list[dict[str, Any]]:
    """The knob of each segment that loses most where it stands as in the static settings."""
    knobs = []
    for number, own in enumerate(settings):
        lost = {}
        for name, value in own.items():
            if name in static and static[name] != value:
                other = [*settings[:number], own | {name: static[name]}, *settings[number + 1 :]]
                lost[name] = 1 - rates_of(case.held(other))[number] / max(rates[number], 1e-9)
        if not lost:
            knobs.append({})
            continue
        name = max(lost, key=lost.__getitem__)
        share = rounded(lost[name])
        knobs.append({"knob": name, "static": static[name], "best": own[name], "lost": share})
    return knobs


def _signals(before: Mapping[str, float], now: Mapping[str, float]) -> list[dict[str, Any]]:
    """The features that an event changed most, the greatest first."""
    changed = {
        name: abs(now[name] - value)
        for name, value in before.items()
        if not name.startswith(_OWN_FEATURES)
    }
    names = sorted(changed, key=changed.__getitem__, reverse=True)[:_TOLD]
    return [
        {"feature": name, "before": rounded(before[name]), "now": rounded(now[name])}
        for name in names
        if changed[name] >= _LEAST
    ]
