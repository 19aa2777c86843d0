"""Learned policies beside the kept comparison of all others, in its cells and by its best rates.

    python -m benchmarks.control --learned FILE... [--keep]

Every seed of every file of ``drapps train-policy`` runs in every cell of the kept result
(benchmarks/results/control.json); none was trained or chosen there. A seed's cells are averaged
first: the seeds are what a mean, its spread and its interval are of.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from benchmarks import report
from benchmarks.control import summary
from benchmarks.control.arms import DEFAULT, ORACLE, OWN, STATIC
from benchmarks.control.jobs import cells_of
from drapps.policy import read
from drapps.simulation.cases import rates_of
from drapps.simulation.gate import learned_text, quantile, seeds_of

_NAME = "control-learned"
OTHERS = (DEFAULT, "mpc", "aimd", "hill_climb", STATIC, OWN, ORACLE)
# Student's t, two-sided at 95 %, by degrees of freedom from 1 on; the last one for more.
_STUDENT = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)

Row = Mapping[str, Any]


def main(words: Sequence[str] | None = None) -> int:
    """Runs all, and prints the report; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.control --learned", description=__doc__
    )
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="of train-policy")
    parser.add_argument("--keep", action="store_true", help="put it into benchmarks/results/")
    options = parser.parse_args(words)
    kept = json.loads((report.KEPT / "control.json").read_text())
    arms = [measured(read(file), kept["rows"]) for file in options.files]
    content = {
        **report.stamp(),
        "compared_with": kept["commit"],
        "others": {
            other: {name: values(rows, other) for name, rows in parts(kept["rows"]).items()}
            for other in OTHERS
        },
        "rows": len(kept["rows"]),
        "arms": arms,
    }
    report.show(_NAME, content, page(content), options.keep)
    return 0


def parts(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """All rows, and those that have something in common."""
    groups = {"all": list(rows), "changing": summary.changing(rows)}
    groups["steady"] = summary.stationary(rows)
    for (workload,), own in summary.grouped(rows, "workload").items():
        groups[workload] = own
    return groups


def values(rows: Sequence[Row], arm: str) -> float:
    """The mean value of an arm, to four digits."""
    return round(summary.mean(rows, arm), 4)


def measured(policy: Mapping[str, Any], rows: Sequence[Row]) -> dict[str, Any]:
    """What each seed of a policy comes to.

    Raises:
        PipelineError: it is no learned policy.
    """
    seeds = {}
    for seed, weights in seeds_of(policy).items():
        runs = [learned_row(row, weights, policy["name"]) for row in rows]
        gains = [summary.value(row, "learned") - summary.value(row, DEFAULT) for row in runs]
        seeds[str(seed)] = {
            "means": {name: values(own, "learned") for name, own in parts(runs).items()},
            "p5_over_default": round(quantile(gains, 0.05), 4),
            "worst_over_default": round(min(gains), 4),
            "worse_by_3": round(sum(gain < -0.03 for gain in gains) / len(gains), 4),
            "most_where_steady": round(
                max(summary.values(summary.stationary(runs), "learned"), default=0.0), 4
            ),
        }
    card = policy.get("card") or {}
    gate = card.get("gate") or {}
    return {"options": card.get("options", {}), "passed": gate.get("passed"), "seeds": seeds}


def learned_row(row: Row, weights: str, name: str = "ppo") -> Row:
    """A kept row with one more arm."""
    key = (row["machine"], row["workload"], row["event"], row["variation"])
    cell = next(cell for cell in cells_of(row["machine"], row["variation"]) if cell.key == key)
    rates = rates_of(cell.case.run(learned_text(weights, name)))
    facts = [{"rate": rate} for rate in rates]
    return {**row, "arms": {DEFAULT: row["arms"][DEFAULT], "learned": facts}}


def interval(numbers: Sequence[float]) -> tuple[float, float, float]:
    """Mean, standard deviation, and half of the 95 % interval of the mean; of one number 0 both."""
    if len(numbers) < 2:
        return fmean(numbers), 0.0, 0.0
    spread = stdev(numbers)
    factor = _STUDENT[min(len(numbers) - 1, len(_STUDENT)) - 1]
    return fmean(numbers), spread, factor * spread / math.sqrt(len(numbers))


def title(arm: Mapping[str, Any]) -> str:
    """An arm by the options of its training."""
    options = dict(arm["options"])
    decisions = options.pop("decisions", 0)
    own = {name: value for name, value in options.items() if (name, value) != ("reward", "own")}
    details = ", ".join(f"{name} {value}" for name, value in own.items())
    return f"{decisions:,} decisions" + (f", {details}" if details else "")


def page(content: Mapping[str, Any]) -> str:
    """The report as Markdown."""
    return "".join(_page(content))


def _page(content: Mapping[str, Any]) -> Iterator[str]:
    others: Mapping[str, Mapping[str, float]] = content["others"]
    arms: Sequence[Mapping[str, Any]] = content["arms"]
    names = list(others[DEFAULT])
    yield "# Learned policies on simulated machines\n\n"
    yield (
        f"The {content['rows']} runs of [control.md](control.md), by the best rates that are known "
        "there. A learned arm is the mean over its seeds. All begin as a loader begins.\n\n"
    )
    yield f"| | {' | '.join(names)} |\n|---{'|---' * len(names)}|\n"
    for other, means in others.items():
        yield f"| {other} | {' | '.join(f'{means[name]:.3f}' for name in names)} |\n"
    for arm in arms:
        means = {
            name: fmean(seed["means"][name] for seed in arm["seeds"].values()) for name in names
        }
        yield f"| ppo, {title(arm)} | {' | '.join(f'{means[name]:.3f}' for name in names)} |\n"
    yield "\n## Seeds\n\n"
    yield (
        "| training | seeds | value of each | over default: mean ± half of the 95 % interval | sd "
        "| p5 | worst | runs worse by 3 points | most where nothing changes |\n"
        "|---|---|---|---|---|---|---|---|---|\n"
    )
    for arm in arms:
        seeds = list(arm["seeds"].values())
        own = [seed["means"]["all"] for seed in seeds]
        mean, spread, half = interval([each - others[DEFAULT]["all"] for each in own])
        yield (
            f"| {title(arm)} | {len(seeds)} | {', '.join(f'{each:.3f}' for each in own)} "
            f"| {100 * mean:+.2f} ± {100 * half:.2f} points | {100 * spread:.2f} "
            f"| {min(seed['p5_over_default'] for seed in seeds):+.3f} "
            f"| {min(seed['worst_over_default'] for seed in seeds):+.3f} "
            f"| {max(seed['worse_by_3'] for seed in seeds):.1%} "
            f"| {max(seed['most_where_steady'] for seed in seeds):.3f} |\n"
        )
    yield (
        "\nThe last four columns are those of the worst seed. Above 1.01 where nothing changes, a "
        "policy would have found a mistake of the simulator.\n"
    )
    machine = content["machine"]
    yield (
        f"\n{content['date'][:10]}, commit {content['commit'][:12]}, {machine['cpu']}, "
        f"{machine['cores']} cores; nothing here is timed.\n"
    )
