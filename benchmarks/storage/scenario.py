"""Scenario storage; scenario.md says what it measures and why so."""

from __future__ import annotations

import os
import statistics
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

from benchmarks import report
from benchmarks.contestant import Answer, Contestant, ContestantError, python, rate
from benchmarks.journal import Journal, begin, code
from benchmarks.storage import data

NAME = "storage"
ROUNDS = 3
WANTED = 0.95

# Conditions of drapps.emulate, by name; without any, files as they lie in this machine's memory.
STORAGES: dict[str, dict[str, float]] = {
    "memory": {},
    "100mbs": {"bandwidth": 100e6},
    "5ms": {"latency": 0.005},
    "20ms_16mbs": {"latency": 0.02, "connection_bandwidth": 16e6},
    "50ms": {"latency": 0.05},
}
DEPTHS = (8, 32, 64, 128, 256)
_WORKERS = (1, 2, 4, 8, 16, 32)
_AWAKE_WORKERS = 8  # the most, where they do not sleep
_BEGIN_S, _STRETCH_S = 10.0, 30.0  # what of a loader's life is measured
_STOCK_BEGIN_S, _STOCK_STRETCH_S = 5.0, 10.0
_SEARCH_BEGIN_S = 2.0

_HERE = Path(__file__).resolve().parent


@dataclass
class Bench:
    """One run: what was measured, and what goes on being measured."""

    count: int
    seconds: float
    journal: Journal
    root: str
    result: report.Result = field(default_factory=lambda: report.Result(NAME))
    sums: list[int] | None = None

    def answer(self, *key: Any, **ask: Any) -> Answer:
        """What a new process of a contestant measures, unless a run before this one has.

        Args:
            key: storage, contestant, its depth or workers, and whatever tells the repetitions.
            ask: the command.

        Raises:
            ContestantError: it ended, or gives other batches than those before it.
        """
        storage, name, number, *_ = key
        reply: Answer | None = self.journal.get(*key)
        if reply is None:
            module = "torch" if name == "stock" else "drapps"
            with Contestant(
                f"{name} {number}",
                python(f"benchmarks.storage.{module}"),
                {**described(self.root), "storage": STORAGES[storage], _KNOB[name]: number},
            ) as contestant:
                reply = contestant.ask(**ask)
                reply["peak_bytes"] = contestant.peak_bytes()
            self.journal.keep(*key, result=reply)
        if "crc32" in reply:
            self.sums = self.sums or reply["crc32"]
            if self.sums != reply["crc32"]:
                raise ContestantError(f"the outputs differ: {name} {number} on {storage}")
        return reply


_KNOB = {"default": "depth", "fixed": "depth", "stock": "workers"}


def measure(
    count: int, seconds: float, fresh: bool = False, only: Collection[str] = ()
) -> report.Result:
    """Measures all storages in `count` rounds; `seconds` for each number that is tried before.

    What an interrupted run with the same parameters has measured is not measured again, unless
    `fresh`. `only` leaves out all storages whose names begin otherwise.

    Raises:
        ContestantError: no storage is left.
    """
    asked = {
        "seconds": seconds,
        "cores": len(os.sched_getaffinity(0)),
        "code": code(sorted(_HERE.glob("*.py"))),
    }
    journal = begin(NAME, report.BUILD / NAME / "rounds.jsonl", asked, fresh)
    chosen = [name for name in STORAGES if not only or name.startswith(tuple(only))]
    if not chosen:
        raise ContestantError(f"no storage {', '.join(only)}; there are {', '.join(STORAGES)}")
    bench = Bench(count, seconds, journal, str(data.ensure()))
    for storage in chosen:
        _measure(bench, storage)
    return bench.result


def described(root: str) -> dict[str, Any]:
    """What all contestants are told."""
    pillow = int(metadata.version("pillow").split(".")[0])
    return {
        "root": root,
        "batch": 64,
        "crop": 224,
        "seed": 4,
        "pass_order": "pillow13" if pillow >= 13 else "horizontal_first",
        "mean": [0.485, 0.456, 0.406],
        "std": [0.229, 0.224, 0.225],
    }


def _measure(bench: Bench, storage: str) -> None:
    print(f"{NAME}, {storage}", flush=True)
    sleeps = "latency" in STORAGES[storage]
    numbers = [each for each in _WORKERS if sleeps or each <= _AWAKE_WORKERS]
    depths = _search(bench, storage, "fixed", DEPTHS)
    workers = _search(bench, storage, "stock", numbers)
    best = {"default": 0, "fixed": _best(depths), "stock": _best(workers)}
    answers: dict[str, list[Answer]] = {name: [] for name in best}
    for number in range(bench.count):
        names = list(best)
        for name in [*names[number % 3 :], *names[: number % 3]]:
            begin, stretch = (
                (_STOCK_BEGIN_S, _STOCK_STRETCH_S) if name == "stock" else (_BEGIN_S, _STRETCH_S)
            )
            ask = {"begin_s": begin, "seconds": stretch}
            answers[name].append(bench.answer(storage, name, best[name], number, **ask))
        rates = ", ".join(f"{name} {rate(each[-1]):,.0f}" for name, each in answers.items())
        print(f"  round {number + 1} of {bench.count}: {rates} samples/s", flush=True)
    _report(bench.result, storage, answers)
    figures = bench.result.figures[storage]
    figures["default"]["knobs"] = answers["default"][-1]["knobs"]
    figures["fixed"] |= {"io_depth": best["fixed"], "search_samples_per_s": depths}
    figures["stock"] |= {"num_workers": best["stock"], "search_samples_per_s": workers}


def _search(bench: Bench, storage: str, name: str, numbers: Collection[int]) -> dict[int, float]:
    """Samples/s at several numbers, a short run each."""
    ask = {"begin_s": _SEARCH_BEGIN_S, "seconds": bench.seconds}
    rates = {each: rate(bench.answer(storage, name, each, "search", **ask)) for each in numbers}
    speeds = ", ".join(f"{each}: {value:,.0f}" for each, value in rates.items())
    print(f"  {name}, samples/s by {_KNOB[name]}: {speeds}", flush=True)
    return rates


def _best(rates: Mapping[int, float]) -> int:
    return max(rates, key=lambda each: rates[each])


def _report(result: report.Result, storage: str, answers: Mapping[str, list[Answer]]) -> None:
    result.rounds[storage] = dict(answers)
    result.figures[storage] = {
        name: {
            **report.figures(each, {}, max(answer["peak_bytes"] for answer in each)),
            "first_batch_s": statistics.median(answer["first_batch_s"] for answer in each),
        }
        for name, each in answers.items()
    }
    result.add_ratio(f"start_{storage}", report.ratios(answers["default"], answers["fixed"]))
    result.wanted[f"start_{storage}"] = WANTED
    result.add_ratio(f"stock_{storage}", report.ratios(answers["default"], answers["stock"]))
