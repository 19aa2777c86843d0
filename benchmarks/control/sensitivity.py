"""What of the comparison hangs on numbers of a machine that nobody has measured.

Each is halved and doubled, with the training step as it was. The verdict on a cell is whether the
default or another policy is faster by more than `CLEAR`, or neither.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from statistics import fmean
from typing import Any

from benchmarks.control.arms import DEFAULT, rows_of
from benchmarks.control.cells import Cell, cells
from drapps import _core
from drapps.simulation import Machine
from drapps.simulation.cases import Rates, rates_of
from drapps.simulation.tuning import Parameters

CLEAR = 0.02
FACTORS = (0.5, 2.0)


def verdicts(
    machine: Machine, number: str, arm: str, parameters: Parameters, variation: int
) -> list[dict[str, Any]]:
    """What becomes of each cell with each factor, plain for JSON.

    Args:
        machine: whose number is changed.
        number: one of `Machine.assumed`.
        arm: that is compared with the default.
        parameters: of its policy.
        variation: of the cells.
    """
    usual = list(cells(machine, variation))
    before = [verdict(cell, arm, parameters) for cell in usual]
    trials = []
    for factor in FACTORS:
        changed = cells(scaled(machine, number, factor), variation, nominal=machine)
        after = [verdict(cell, arm, parameters) for cell in changed]
        flips = [
            {"workload": cell.workload, "event": cell.event, "before": was, "after": now}
            for cell, was, now in zip(usual, before, after, strict=True)
            if was != now
        ]
        trials.append(
            {
                "machine": machine.name,
                "number": number,
                "factor": factor,
                "cells": len(usual),
                "flips": flips,
            }
        )
    return trials


def verdict(cell: Cell, arm: str, parameters: Parameters) -> str:
    """Which of the two is faster, in the mean over the segments: its name, or ``neither``."""
    default = rates_of(rows_of(DEFAULT, cell, {}))
    return decided(rates_of(rows_of(arm, cell, parameters)), default, arm)


def decided(rates: Rates, default: Rates, arm: str) -> str:
    """The verdict on two runs of a cell."""
    gain = fmean(
        rate / usual if usual > 0 else 1.0 for rate, usual in zip(rates, default, strict=True)
    )
    if gain > 1 + CLEAR:
        return arm
    return DEFAULT if gain < 1 - CLEAR else "neither"


def scaled(machine: Machine, name: str, factor: float) -> Machine:
    """The machine with one number so many times as large, as far as a world may have it."""
    group, *path = name.split(".")
    if group != "costs":
        numbers = {own: dict(values) for own, values in machine.numbers.items()}
        low, high = _range(group, path[0])
        numbers[group][path[0]] = min(high, max(low, numbers[group][path[0]] * factor))
        return replace(machine, numbers=numbers)
    costs = machine.costs
    if path == ["row"]:
        return replace(machine, costs=replace(costs, row=costs.row * factor))
    if path[0] == "photo":
        photo = _times(costs.photo, path[1], factor)
        return replace(machine, costs=replace(costs, photo=photo))
    form, number = name.removeprefix("costs.forms.").rsplit(".", 1)
    forms = {**costs.forms, form: _times(costs.forms[form], number, factor)}
    return replace(machine, costs=replace(costs, forms=forms))


def _times(values: Mapping[str, float], name: str, factor: float) -> dict[str, float]:
    return {**values, name: values[name] * factor}


def _range(group: str, name: str) -> tuple[float, float]:
    return next(
        (least, most)
        for own, number, _, least, most in _core.world_fields()
        if (own, number) == (group, name)
    )
