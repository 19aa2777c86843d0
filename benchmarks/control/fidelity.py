"""From pairs of settings and conditions to how true a simulator is."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, groupby
from typing import Any

from drapps.simulation.machine import Machine

_WANTED = (
    ("median absolute error", 0.10),
    ("p90 of absolute errors", 0.25),
    ("largest regret", 0.05),
)


@dataclass(frozen=True)
class Pair:
    """A setting in a condition.

    Attributes:
        condition: its name.
        knobs: where they stood.
        rates: samples per second of each run.
        others: cores that the rest of the machine used meanwhile.
        simulated: of each run, what the simulator says that is told what others used.
        expected: what it says that is told of no others.
    """

    condition: str
    knobs: Mapping[str, int]
    rates: Sequence[float]
    others: Sequence[float]
    simulated: Sequence[float]
    expected: float

    @property
    def alone(self) -> list[float]:
        """The rates without the effect of others, as far as the simulator knows it."""
        pairs = zip(self.rates, self.simulated, strict=True)
        return [rate * self.expected / forecast for rate, forecast in pairs]

    @property
    def scored(self) -> float:
        """The median rate of the runs that score, the second half."""
        return statistics.median(self.rates[len(self.rates) // 2 :])

    @property
    def error(self) -> float:
        """By which share the simulator is above the runs that score, in the median over them."""
        half = len(self.rates) // 2
        pairs = zip(self.simulated[half:], self.rates[half:], strict=True)
        return statistics.median(forecast / rate - 1 for forecast, rate in pairs)

    @property
    def expense(self) -> tuple[int, ...]:
        """By which of two equally fast settings the simulator takes the cheaper."""
        return tuple(self.knobs.values())


def regret(pairs: Sequence[Pair], *, alone: bool = False) -> float:
    """What the simulator's best setting loses to the best by measurement; 0 or more.

    Args:
        pairs: of one condition.
        alone: with the effect of others taken out.
    """
    top = max(pair.expected for pair in pairs)
    ours = min((pair for pair in pairs if pair.expected >= 0.999 * top), key=lambda p: p.expense)

    def rate(pair: Pair, half: int) -> float:
        rates = pair.alone if alone else list(pair.rates)
        middle = len(rates) // 2
        return statistics.median(rates[middle:] if half else rates[:middle])

    best = max(pairs, key=lambda pair: rate(pair, 0))
    return max(0.0, 1 - rate(ours, 1) / rate(best, 1))


def kendall(pairs: Sequence[Pair]) -> float:
    """Kendall's tau-b between what is expected and what the runs that score gave."""
    agree = tied_forecast = tied_seen = total = 0
    for one, two in combinations(pairs, 2):
        forecast, seen = one.expected - two.expected, one.scored - two.scored
        forecast = 0.0 if abs(forecast) < 1e-6 * one.expected else forecast
        total += 1
        tied_forecast += forecast == 0
        tied_seen += seen == 0
        agree += (forecast * seen > 0) - (forecast * seen < 0)
    scale = ((total - tied_forecast) * (total - tied_seen)) ** 0.5
    return agree / scale if scale else 0.0


def figures(pairs: Sequence[Pair]) -> dict[str, float]:
    """What is wanted of a simulator."""
    errors = sorted(abs(pair.error) for pair in pairs)
    conditions = [list(rows) for _, rows in groupby(pairs, key=lambda pair: pair.condition)]
    return {
        "median absolute error": statistics.median(errors),
        "p90 of absolute errors": statistics.quantiles(errors, n=10)[-1],
        "largest regret": max(map(regret, conditions)),
        "largest regret, others taken out": max(regret(rows, alone=True) for rows in conditions),
        "median regret": statistics.median(map(regret, conditions)),
        "Kendall's tau": statistics.mean(map(kendall, conditions)),
    }


def page(pairs: Sequence[Pair], machine: Machine, place: Mapping[str, Any], commit: str) -> str:
    """All of it as a page of Markdown."""
    scores = figures(pairs)
    lines = [
        "# How true the calibrated simulator is",
        "",
        "Calibrated with photos in memory, photos at 100 MB/s and plain Python samples; then asked",
        "about other conditions, of which it was told the numbers:",
        "`benchmarks/control/calibration.py` says how, and with `--keep` writes this page.",
        "",
        "| | found | wanted |",
        "|---|---|---|",
    ]
    wanted = dict(_WANTED)
    for name, value in scores.items():
        shown = f"{value:.2f}" if name.startswith("Kendall") else f"{value:.1%}"
        most = f"at most {wanted[name]:.0%}" if name in wanted else ""
        lines.append(f"| {name} | {shown} | {most} |")
    lines += ["", "| condition | regret | others taken out | tau |", "|---|---|---|---|"]
    for name, group in groupby(pairs, key=lambda pair: pair.condition):
        rows = list(group)
        without = regret(rows, alone=True)
        lines.append(f"| {name} | {regret(rows):.1%} | {without:.1%} | {kendall(rows):.2f} |")
    lines += [
        "",
        "| condition | settings | measured/s | simulated alone/s | error | others, cores |",
        "|---|---|---|---|---|---|",
    ]
    for pair in pairs:
        knobs = ", ".join(f"{name} {value}" for name, value in pair.knobs.items())
        others = statistics.median(pair.others)
        lines.append(
            f"| {pair.condition} | {knobs} | {pair.scored:,.0f} | {pair.expected:,.0f} "
            f"| {pair.error:+.1%} | {others:.2f} |"
        )
    lines += ["", f"{place['cpu']}, {place['cores']} cores, at {commit[:12]}; {machine.about}", ""]
    return "\n".join(lines)
