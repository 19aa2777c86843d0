"""Scenario training-step; scenario.md says what it measures and why so."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path

from benchmarks import report
from benchmarks.contestant import ROOT, ContestantError
from benchmarks.journal import begin, code
from benchmarks.training_step.arms import BASELINE
from benchmarks.training_step.bench import CORES, Bench
from benchmarks.training_step.quality import Quality
from benchmarks.training_step.settings import CUT, FULL

NAME = "training-step"
ROUNDS = 5  # seeds

_HERE = Path(__file__).resolve().parent
_SHOWS = {"page.py", "tables.py"}  # modules that no measurement depends on


def measure(
    count: int, _seconds: float, fresh: bool = False, only: Collection[str] = (), full: bool = False
) -> report.Result:
    """Measures all parts, with `count` seeds where `full`, and two at most in the cut.

    What an interrupted run with the same parameters has measured is not measured again, unless
    `fresh`. `only` leaves out all parts that are not among it.

    Raises:
        ContestantError: no part is left.
    """
    from benchmarks.training_step import data  # torch and NumPy are slow to import

    settings = FULL if full else CUT
    sources = sorted(each for each in _HERE.glob("*.py") if each.name not in _SHOWS)
    measured = code(sources, ROOT / "python/drapps/train")
    asked = {"settings": asdict(settings), "cores": CORES, "code": measured}
    file = report.KEPT / f"{NAME}-full.jsonl" if full else report.BUILD / NAME / "cut.jsonl"
    data.ensure()
    journal = begin(NAME, file, asked, fresh)
    result = report.Result(NAME)
    for device in _devices(result):
        bench = Bench(settings, min(count, settings.seeds), device, journal, result)
        parts = _parts(bench)
        chosen = [name for name in parts if not only or name in only]
        if not chosen:
            raise ContestantError(f"no part {', '.join(only)}; there are {', '.join(parts)}")
        for name in chosen:
            print(f"{NAME}, {name} on {device}", flush=True)
            parts[name]()
    return result


def illustrate(file: Path) -> list[Path]:
    """Makes the page of a result, with its plots; returns where."""
    from benchmarks.training_step.page import write

    return write(file)


def _devices(result: report.Result) -> list[str]:
    """Where it is measured; where there is no GPU, the result says so."""
    import torch

    if torch.cuda.is_available():
        return ["cpu", "cuda"]
    result.figures["cuda"] = {"everything": {"cannot_run": "torch sees no CUDA device here"}}
    return ["cpu"]


def _parts(bench: Bench) -> Mapping[str, Callable[[], object]]:
    qualities = {task: Quality(bench, task) for task in bench.settings.tasks}
    return {
        **{task: quality.report for task, quality in qualities.items()},
        "memory": partial(_memory, bench, qualities),
        "noise": partial(_noise, bench),
        "goodput": partial(_goodput, bench, qualities),
        "ranks": partial(_ranks, bench, qualities),
    }


def _memory(bench: Bench, qualities: Mapping[str, Quality]) -> None:
    from benchmarks.training_step import memory

    memory.measure(bench, {task: _batch(each) for task, each in qualities.items()})


def _noise(bench: Bench) -> None:
    from benchmarks.training_step import noise_cost

    noise_cost.measure(bench)


def _goodput(bench: Bench, qualities: Mapping[str, Quality]) -> None:
    from benchmarks.training_step import plan_grid

    for task, quality in qualities.items():
        scale = quality.scale()
        if scale is None:  # the noise hides the gradient: all batches are worth the same
            print(f"  {task}: no noise scale is known, so there is no goodput", flush=True)
            continue
        plan_grid.measure(bench, task, _batch(quality), scale)


def _ranks(bench: Bench, qualities: Mapping[str, Quality]) -> None:
    from benchmarks.training_step import ranks

    if bench.device == "cpu":
        ranks.measure(bench, _batch(qualities["text"]))


def _batch(quality: Quality) -> int:
    """The baseline's tuned one."""
    return quality.tuned[BASELINE][0]
