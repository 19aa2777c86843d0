"""Scenario python-cached; scenario.md says what it measures and why so."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path

from benchmarks import report
from benchmarks.contestant import ContestantError
from benchmarks.journal import begin, code
from benchmarks.python_dataset import scenario as python_dataset
from benchmarks.python_dataset.scenario import BATCH, Bench, Lane, worker_numbers

NAME = "python-cached"
ROUNDS = 6  # the fewest that have a 95 % interval

WANTED = {"64k": 40.0, "600k": 25.0}
WANTED_OVER_FILES = 2.0

_HERE = Path(__file__).resolve().parent
_CORES = len(os.sched_getaffinity(0))
_SAMPLES = 50 * BATCH
_TRIED = 12 * BATCH  # with which numbers of workers are compared; as many for each of a few workers
_EPOCHS = 8  # in a measurement of what makes no items
_BUDGET = 3 << 30  # bytes; more than all items have


def measure(
    count: int, seconds: float, fresh: bool = False, only: Collection[str] = ()
) -> report.Result:
    """Measures both sizes in `count` rounds.

    What an interrupted run with the same parameters has measured is not measured again, unless
    `fresh`. `only` leaves out sizes that are not among it.

    Raises:
        ContestantError: no size is left.
    """
    sources = sorted([*_HERE.glob("*.py"), *Path(python_dataset.__file__).parent.glob("*.py")])
    asked = {"seconds": seconds, "cores": _CORES, "code": code(sources)}
    journal = begin(NAME, report.BUILD / NAME / "rounds.jsonl", asked, fresh)
    bench = python_dataset.new_bench(count, seconds, journal, NAME)
    chosen = [size for size in WANTED if not only or size in only]
    if not chosen:
        raise ContestantError(f"no size {', '.join(only)}; there are {', '.join(WANTED)}")
    for size in chosen:
        _measure(bench, size)
    return bench.result


def _measure(bench: Bench, size: str) -> None:
    from benchmarks.python_cached import data  # torch is slow to import

    print(f"{NAME}, {size}B", flush=True)
    plain = bench.spec("10ms", size, _CORES, samples=_SAMPLES)
    files = {**plain, "folder": str(data.ensure(size, plain))}
    kept = {**plain, "cached": _BUDGET}
    numbers = worker_numbers()
    once = bench.probe(
        size, {each: {**plain, "samples": _TRIED, "workers": each} for each in numbers}
    )
    read = bench.probe(
        f"files_{size}", {each: {**files, "workers": each} for each in numbers}, _EPOCHS
    )
    workers = {
        name: max(rates, key=rates.__getitem__)
        for name, rates in (("stock", once), ("files", read))
    }
    fill = {"what": "epochs", "count": 1}
    ask = {"what": "epochs", "count": _EPOCHS}
    lanes = {
        "drapps": Lane("drapps", kept, ask, warm=0, first=fill),
        "stock_cached": Lane("torch", kept, ask, warm=0, first=fill),
        "stock": Lane("torch", {**plain, "workers": workers["stock"]}, fill, warm=0),
        "files": Lane("torch", {**files, "workers": workers["files"]}, ask, warm=0, first=fill),
    }
    bench.compare({name: lanes[name] for name in ("drapps", "stock")})
    answers = bench.rounds(size, lanes)
    for name, each in workers.items():
        bench.result.figures[size][name]["num_workers"] = each
    for name, over, wanted in (
        (f"python_cached_{size}", "stock", WANTED[size]),
        (f"python_cached_{size}_over_files", "files", WANTED_OVER_FILES),
    ):
        bench.result.wanted[name] = wanted
        bench.add(name, report.ratios(answers["drapps"], answers[over]))
    bench.add(f"stock_cached_{size}", report.ratios(answers["stock_cached"], answers["stock"]))
