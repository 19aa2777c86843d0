"""Scenario small-samples; scenario.md says what it measures and why so."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benchmarks import report
from benchmarks.contestant import ROOT, Answer, Contestant, ContestantError, python, rate, rounds
from benchmarks.small_samples import data

NAME = "small-samples"
WARM_S = 1.0
PROBE_S = 2.0
STARTS = 3
TRAINING_STEPS = 100  # of an epoch: short, so that many end within a measurement
BATCHES = (64, 256)
WANTED = {"small_samples": 20.0}
LIMITS = {"epoch_gap": 2.0}


def measure(count: int, seconds: float) -> report.Result:
    """Measures both batch sizes in `count` rounds, `seconds` for each contestant in each."""
    result = report.Result(NAME)
    root = str(data.ensure())
    for batch in BATCHES:
        print(f"{NAME}, batches of {batch}", flush=True)
        spec = {"root": root, "starts": STARTS, "batch": batch, "seed": 4}
        _measure(spec, count, seconds, result)
    result.ratios["small_samples"] = min(result.ratios[f"small_samples_{b}"] for b in BATCHES)
    result.wanted |= WANTED
    result.limits |= LIMITS
    return result


def _measure(spec: dict[str, Any], count: int, seconds: float, result: report.Result) -> None:
    batch = spec["batch"]
    _compare(spec)
    probe = _probe(spec)
    workers = max(probe, key=lambda each: probe[each])
    spec = {**spec, "workers": workers}
    with ExitStack() as stack:
        contestants = [
            stack.enter_context(start("drapps", "drapps", spec)),
            stack.enter_context(start("stock", "torch", spec)),
        ]
        if batch == BATCHES[0]:
            training = {**spec, "train": True, "samples": TRAINING_STEPS * batch}
            contestants += [
                stack.enter_context(start("drapps training", "drapps", training)),
                stack.enter_context(start("stock training", "torch", training)),
            ]
        answers = rounds(contestants, count, WARM_S, seconds)
        figures = {
            each.name: report.figures(answers[each.name], each.started, each.peak_bytes())
            for each in contestants
        }
    for name, figure in figures.items():
        figure |= {"num_workers": workers, "epoch_gap_s": epoch_gap(answers[name])}
    figures["stock"]["probe_samples_per_s"] = probe
    case = f"batches of {batch}"
    result.figures[case] = figures
    result.rounds[case] = {
        name: [{key: value for key, value in answer.items() if key != "gaps_s"} for answer in each]
        for name, each in answers.items()
    }
    result.ratios[f"small_samples_{batch}"] = report.ratio(answers["drapps"], answers["stock"])
    if batch == BATCHES[0]:
        result.ratios["training"] = report.ratio(
            answers["drapps training"], answers["stock training"]
        )
        for name, contestant in (("epoch_gap", "drapps"), ("epoch_gap_stock", "stock")):
            gaps = {
                name: gap_ratio(answers[f"{contestant} training"]),
                f"{name}_idle_consumer": gap_ratio(answers[contestant]),
            }
            result.ratios |= {each: ratio for each, ratio in gaps.items() if ratio is not None}


def start(name: str, module: str, spec: dict[str, Any], package: Path | None = None) -> Contestant:
    """One of the modules, with another build's `package` where that is given."""
    program = python(f"benchmarks.small_samples.{module}")
    return Contestant(name, program, spec, package=package)


def _compare(spec: dict[str, Any]) -> None:
    """Raises ContestantError where outputs differ."""
    command = [*python("benchmarks.small_samples.compare"), json.dumps(spec)]
    if subprocess.run(command, cwd=ROOT, check=False).returncode:
        raise ContestantError("the outputs differ")
    print("  a whole epoch compared: the stock loader and DRAPPS agree", flush=True)


def _probe(spec: dict[str, Any]) -> dict[int, float]:
    """The stock loader's samples/s at several numbers of workers."""
    cores = len(os.sched_getaffinity(0))
    rates = {}
    for workers in sorted({0, 1, 2, 3, cores, cores + (cores + 1) // 2, 2 * cores}):
        options = {**spec, "starts": 1, "workers": workers}
        with start("stock", "torch", options) as stock:
            answer: Answer = stock.ask(warm_s=WARM_S, measure_s=PROBE_S)
        rates[workers] = rate(answer)
    speeds = ", ".join(f"{workers}: {each:,.0f}" for workers, each in rates.items())
    print(f"  stock loader's samples/s by num_workers: {speeds}", flush=True)
    return rates


def epoch_gap(answers: list[Answer]) -> float | None:
    """The median time between epochs, of all rounds; None where none ended."""
    gaps = [gap for answer in answers for gap in answer["epoch_gaps_s"]]
    return statistics.median(gaps) if gaps else None


def gap_ratio(answers: list[Answer]) -> float | None:
    """From an epoch's last batch to the next one's first, over the median from batch to batch.

    None where no epoch ended: the stock loader may need longer for one than all rounds take.
    """
    between = statistics.median(gap for answer in answers for gap in answer["gaps_s"])
    gap = epoch_gap(answers)
    return None if gap is None else gap / between
