"""Scenario text-loaders; scenario.md says what it measures and why so."""

from __future__ import annotations

import os
import statistics
from contextlib import ExitStack
from typing import Any

from benchmarks import report
from benchmarks.contestant import Answer, Contestant, python, rate
from benchmarks.text_loaders.loading import CASES, RANDOM
from benchmarks.tokenizers import corpora, vocabularies

NAME = "text-loaders"
ROUNDS = 3
WORKERS = (0, 1, 2, 4)
_COMPARED = 200  # batches of each case


def measure(count: int, seconds: float, full: bool = False) -> report.Result:
    """Measures in `count` rounds; in the cut, one short round.

    Raises:
        ContestantError: there is no text, batches differ, or a contestant does not run.
    """
    about = {
        "text": str(corpora.ensure("english", full)),
        "tokenizer": str(vocabularies.real("llama3")),
        "documents": 50_000 if full else 5_000,
    }
    result = report.Result(NAME)
    rounds, seconds = (count, seconds) if full else (1, min(seconds, 2.0))
    for case in CASES:
        _measure_case(case, about, rounds, seconds, result)
    return result


def _measure_case(
    case: str, about: dict[str, Any], rounds: int, seconds: float, result: report.Result
) -> None:
    with ExitStack() as stack:
        spec = {"case": case, **about}
        drapps, stock = (
            stack.enter_context(
                Contestant(kind, python("benchmarks.text_loaders.loading"), spec | {"kind": kind})
            )
            for kind in ("drapps", "stock")
        )
        if case not in RANDOM:
            drapps.ask(compare=_COMPARED)
        workers = {each.name: _best(each, seconds / 2) for each in (drapps, stock)}
        answers: dict[str, list[Answer]] = {each.name: [] for each in (drapps, stock)}
        for number in range(rounds):
            for each in (drapps, stock) if number % 2 == 0 else (stock, drapps):
                answer = each.ask(workers=workers[each.name], seconds=seconds)
                answers[each.name].append(answer | {"load": os.getloadavg()[0]})
    result.rounds[case] = answers
    result.figures[case] = {
        name: {
            "samples_per_s": statistics.median(map(rate, each)),
            "cpu_s_per_sample": sum(one["cpu_s"] for one in each)
            / sum(one["samples"] for one in each),
            "num_workers": workers[name],
        }
        for name, each in answers.items()
    }
    pairs = list(zip(answers["drapps"], answers["stock"], strict=True))
    result.ratios[f"{case}_over_stock"] = statistics.median(rate(a) / rate(b) for a, b in pairs)
    per_cpu = [(b["cpu_s"] / b["samples"]) / (a["cpu_s"] / a["samples"]) for a, b in pairs]
    result.ratios[f"{case}_over_stock_per_cpu_s"] = statistics.median(per_cpu)


def _best(contestant: Contestant, seconds: float) -> int:
    """The number of workers with which it is fastest."""
    rates = {each: rate(contestant.ask(workers=each, seconds=seconds)) for each in WORKERS}
    return max(rates, key=lambda each: rates[each])
