"""Scenario cache; scenario.md says what it measures and why so."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from benchmarks import report
from benchmarks.cache import data, eviction
from benchmarks.cache.page import write
from benchmarks.contestant import Answer, Contestant, ContestantError, python
from benchmarks.journal import Journal, begin, code
from benchmarks.storage.scenario import described

NAME = "cache"
ROUNDS = 1

# Conditions of drapps.emulate, by name; without any, files as they lie in this machine's memory.
STORAGES: dict[str, dict[str, float]] = {
    "20mbs": {"bandwidth": 20e6},
    "200mbs": {"bandwidth": 200e6},
    "memory": {},
}
BUDGETS = {"35": 0.35, "150": 1.5}  # of the files' bytes
FORMS = ("bytes", "jpeg+index", "coefficients", "raw", "raw+lz4", "raw+zstd", "raw+snappy")
FORMS += ("prepared",)
_OFF = "off"
_SECONDS = 90.0

_HERE = Path(__file__).resolve().parent


def measure(
    count: int, _seconds: float, fresh: bool = False, only: Collection[str] = ()
) -> report.Result:
    """Measures every form in every cell, `count` times, each for as long as scenario.md says.

    What an interrupted run with the same parameters has measured is not measured again, unless
    `fresh`. `only` leaves out all cells whose names begin otherwise, and likewise `lru_35` and
    `lru_65`.

    Raises:
        ContestantError: no cell is left, or a form gives other batches than another.
    """
    root = data.ensure()
    total = sum(file.stat().st_size for file in root.rglob("*.*"))
    asked = {
        "seconds": _SECONDS,
        "bytes": total,
        "cores": len(os.sched_getaffinity(0)),
        "code": code(sorted([*_HERE.glob("*.py"), *_HERE.glob("*.cc"), *_HERE.glob("*.h")])),
    }
    journal = begin(NAME, report.BUILD / NAME / "rounds.jsonl", asked, fresh)
    cells = [
        (f"{storage}_{budget}", conditions, int(share * total))
        for storage, conditions in STORAGES.items()
        for budget, share in BUDGETS.items()
    ]
    names = [*(name for name, _, _ in cells), *eviction.SHARES]
    chosen = [name for name in names if not only or name.startswith(tuple(only))]
    if not chosen:
        raise ContestantError(f"no cell {', '.join(only)}; there are {', '.join(names)}")
    result = report.Result(NAME)
    sums: list[int] | None = None
    for cell, conditions, budget in cells:
        if cell not in chosen:
            continue
        answers: dict[str, list[Answer]] = {}
        for form in (_OFF, *FORMS):
            answers[form] = []
            for number in range(count):
                answer = _answer(journal, (cell, form, number), root, conditions, budget)
                answers[form].append(answer)
                sums = sums or answer["crc32"]
                if answer["crc32"] != sums:
                    raise ContestantError(f"the outputs differ: {form} in {cell}")
            print(f"{NAME}, {cell}, {form}: {_rate(answers[form][-1]):,.0f} samples/s", flush=True)
        _report(result, cell, answers)
    shares = [name for name in eviction.SHARES if name in chosen]
    eviction.measure(result, journal, root, count, shares)
    return result


def illustrate(file: Path) -> list[Path]:
    """Makes the page of a result, with its heat map; returns where."""
    return write(file)


def _answer(
    journal: Journal,
    key: tuple[Any, ...],
    root: Path,
    conditions: Mapping[str, float],
    budget: int,
) -> Answer:
    answer: Answer | None = journal.get(*key)
    if answer is None:
        cell, form, _ = key
        spec = {
            **described(str(root)),
            "storage": dict(conditions),
            "budget": budget,
            "form": "" if form == _OFF else form,
        }
        command = python("benchmarks.cache.drapps")
        with Contestant(f"{form} in {cell}", command, spec) as contestant:
            answer = contestant.ask(seconds=_SECONDS)
            answer["peak_bytes"] = contestant.peak_bytes()
        journal.keep(*key, result=answer)
    return answer


def _rate(answer: Mapping[str, Any]) -> float:
    return float(answer["samples"] / answer["seconds"])


def _late(answer: Mapping[str, Any]) -> float:
    return float(answer["late_samples"] / answer["late_seconds"])


def _encode_s(answer: Mapping[str, Any]) -> float:
    return 1e-6 * sum(each.get("encode_us", 0) for each in answer["forms"].values())


def _report(result: report.Result, cell: str, answers: Mapping[str, list[Answer]]) -> None:
    result.rounds[cell] = dict(answers)
    best = {form: max(map(_rate, each)) for form, each in answers.items()}
    result.figures[cell] = {
        form: {
            "samples_per_s": best[form],
            "late_samples_per_s": max(map(_late, each)),
            "cpu_us_per_sample": 1e6 * each[-1]["cpu_s"] / each[-1]["samples"],
            "encode_cpu_s": _encode_s(each[-1]),
            "storage_bytes": each[-1]["storage_bytes"],
            "cached_bytes": each[-1]["forms"].get("cache", {}).get("bytes", 0),
            "peak_bytes": each[-1]["peak_bytes"],
        }
        for form, each in answers.items()
    }
    result.ratios[f"best_over_bytes_{cell}"] = max(best[form] for form in FORMS) / best["bytes"]
    result.ratios[f"bytes_over_off_{cell}"] = best["bytes"] / best[_OFF]
