"""Scenario analyze; scenario.md says what it measures and why so."""

from __future__ import annotations

import statistics
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks import report
from benchmarks.analyze.pipeline import World, analyzed, measured
from drapps.analysis.report import AnalysisReport

NAME = "analyze"
ROUNDS = 1

SEPARATED = 1.2
BASES = {
    "fetch": World(fetch=150, prepare=450, training=1500, cache=0.25, cores=2),
    "prepare": World(fetch=500, prepare=75, training=600, cache=0.5, cores=2),
    "training": World(fetch=400, prepare=350, training=150, cache=0.5, cores=2),
}
CACHES = (0.0, 0.25, 0.5, 0.75, 0.9)


@dataclass(frozen=True)
class Cell:
    """A world, and the arguments of ``predict`` by which the analysis of another knows it."""

    name: str
    world: World
    what_if: dict[str, Any]


def cells(base: World) -> list[Cell]:
    """The grid around a world."""
    grid = [Cell(f"cache {x:.0%}", replace(base, cache=x), {"cache": x}) for x in CACHES]
    grid.append(Cell("1 core", replace(base, cores=1), {"cores": 1}))
    faster = replace(base, fetch=2 * base.fetch)
    grid.append(Cell("bandwidth x 2", faster, {"bandwidth_x": 2}))
    faster = replace(base, training=2 * base.training)
    grid.append(Cell("accelerator x 2", faster, {"accelerator": 2}))
    return grid


def bottleneck(world: World) -> tuple[str, float]:
    """The slowest stage of a world, and how many times as fast the next one is."""
    rates = {
        "fetch": world.fetch / max(1e-9, 1 - world.cache),
        "prepare": world.prepare * world.cores,
        "training": world.training,
    }
    slowest, second = sorted(rates, key=lambda stage: rates[stage])[:2]
    return slowest, rates[second] / rates[slowest]


def compared(cell: Cell, base: AnalysisReport, folder: Path, seconds: float) -> dict[str, Any]:
    """What was predicted for a cell, and what is measured in it."""
    what_if = dict(cell.what_if)
    if times := what_if.pop("bandwidth_x", None):
        what_if["bandwidth"] = times * base.model["storage"]
    predicted = base.predict(**what_if)
    rate = measured(cell.world, folder, seconds)
    slowest, separation = bottleneck(cell.world)
    return {
        "samples_per_s": rate,
        "predicted_per_s": predicted.throughput,
        "error": predicted.throughput / rate - 1,
        "bottleneck": predicted.bottleneck,
        "right": predicted.bottleneck == slowest or separation < SEPARATED,
        "honest": predicted.honest,
    }


def measure(_rounds: int, seconds: float) -> report.Result:
    """Analyzes each base, and measures every cell around it; there are no rounds."""
    result = report.Result(NAME)
    comparisons = []
    with tempfile.TemporaryDirectory(prefix="drapps-analyze-") as folder:
        for name, world in BASES.items():
            base = analyzed(world, Path(folder), seconds)
            for cell in cells(world):
                each = compared(cell, base, Path(folder), seconds)
                comparisons.append(each)
                result.figures[f"{name}, {cell.name}"] = {NAME: each}
                result.rounds[f"{name}, {cell.name}"] = {NAME: [each]}
                right = "right" if each["right"] else "wrong"
                print(
                    f"{name}, {cell.name}: {each['predicted_per_s']:.0f} predicted, "
                    f"{each['samples_per_s']:.0f} measured ({each['error']:+.1%}); "
                    f"{each['bottleneck']} is {right}",
                    flush=True,
                )
    errors = [abs(each["error"]) for each in comparisons]
    result.ratios = {
        "worst_error": max(errors),
        "median_error": statistics.median(errors),
        "wrong_labels": float(sum(not each["right"] for each in comparisons)),
    }
    result.limits = {"worst_error": 0.1, "median_error": 0.05, "wrong_labels": 0.0}
    return result
