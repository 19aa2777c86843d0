"""The arithmetic on runs as they are kept: when a quality was reached, and what a step costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

NEAR = 0.005  # of the baseline's final quality

Run = Mapping[str, Any]


@dataclass(frozen=True)
class Reached:
    """When a run has come to a quality, by its clock and in samples.

    Attributes:
        seconds: of training.
        samples: seen by then.
        there: whether it has; else both are those of the whole run, which it would have exceeded.
    """

    seconds: float
    samples: float
    there: bool


def final(run: Run) -> float:
    """The quality at the end."""
    return float(run["curve"][-1][2])


def target(runs: Sequence[Run], higher: bool) -> float:
    """What is to be reached: the mean final quality, but for `NEAR` of it."""
    return fmean(map(final, runs)) * (1 - NEAR if higher else 1 + NEAR)


def reached(run: Run, wanted: float, higher: bool) -> Reached:
    """When a run was first as good, on straight lines between its evaluations."""
    sign = 1 if higher else -1
    before: Sequence[float] | None = None
    for point in run["curve"]:
        if sign * (point[2] - wanted) >= 0:
            if before is None:
                return Reached(point[0], point[1], True)
            share = (wanted - before[2]) / (point[2] - before[2])
            seconds, samples = (before[at] + share * (point[at] - before[at]) for at in (0, 1))
            return Reached(seconds, samples, True)
        before = point
    last = run["curve"][-1]
    return Reached(last[0], last[1], False)


def best(cells: Mapping[Any, Run], wanted: float, higher: bool) -> Any:
    """The cell of a grid that is there first; where none is, the one of the best final quality."""
    arrivals = {cell: reached(run, wanted, higher) for cell, run in cells.items()}
    there = [cell for cell, each in arrivals.items() if each.there]
    if there:
        return min(there, key=lambda cell: arrivals[cell].seconds)
    return max(cells, key=lambda cell: final(cells[cell]) * (1 if higher else -1))


def best_final(runs: Sequence[Run], higher: bool) -> float:
    """The best of the final qualities."""
    return max(map(final, runs)) if higher else min(map(final, runs))


def step_time(compute: float, network: float, gamma: float) -> float:
    """T_step = (T_comp^g + T_net^g)^(1/g): g = 1 hides nothing of the network, much hides all.

    Source: Qiao et al., "Pollux", 2021.
    """
    longest = max(compute, network)
    if longest == 0:
        return 0.0
    return longest * ((compute / longest) ** gamma + (network / longest) ** gamma) ** (1 / gamma)


def fitted_gamma(compute: float, network: float, step: float) -> float:
    """The exponent, from 1 to 10, with which the model comes nearest to a measured step."""
    low, high = 1.0, 10.0
    if step >= step_time(compute, network, low):
        return low
    if step <= step_time(compute, network, high):
        return high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if step_time(compute, network, middle) > step else (low, middle)
    return (low + high) / 2


def ring(network: float, ranks: int, wanted: int) -> float:
    """What an all-reduce takes on other numbers of ranks, where all links are alike.

    Each rank sends 2 (n - 1) ÷ n of the gradient.
    """
    return network * ((wanted - 1) / wanted) / ((ranks - 1) / ranks)
