"""Scenario text; scenario.md says what it measures and why so."""

from __future__ import annotations

import json
import os
import subprocess
from contextlib import ExitStack
from importlib import metadata
from pathlib import Path
from typing import Any

from benchmarks import report
from benchmarks.contestant import ROOT, Answer, Contestant, ContestantError, python, rate
from benchmarks.native import build
from benchmarks.text import data, token_shards
from benchmarks.text.data import CUT, FULL

NAME = "text"
ROUNDS = 3
BATCH, LENGTH = 8, 2048
WORKERS = (1, 2, 3, 4)
PASSES = 3  # that a measurement of the steady rate has
WANTED = {"pass_over_stock": 40.0, "steady_over_bare": 0.85}
_VERSIONS = ("datasets", "tokenizers", "pyarrow", "torch")


def measure(count: int, _seconds: float, full: bool = False) -> report.Result:
    """Measures in `count` rounds; in the cut, one round over little text.

    Raises:
        ContestantError: there is no text, the rows differ, or a contestant does not run.
    """
    settings = FULL if full else CUT
    files = [str(file) for file in data.ensure(settings)]
    threads = len(os.sched_getaffinity(0))
    about = {"tokenizer": str(data.tokenizer_file()), "length": LENGTH, "batch": BATCH}
    spec = {"files": files, "threads": threads, **about}
    result = report.Result(NAME)
    result.figures["input"] = {settings.name: _input(files)}
    tokens = _compare(spec)
    rounds = count if full else 1
    probe = _probe(spec)
    workers = max(probe, key=lambda each: probe[each])
    _measure_passes(spec, tokens, workers, rounds, result)
    result.figures["pass"]["stock"] |= {"num_proc": workers, "probe_samples_per_s": probe}
    _measure_steady(spec, tokens, rounds, result)
    result.wanted |= WANTED
    token_shards.measure(rounds, full, result)
    return result


def _compare(spec: dict[str, Any]) -> int:
    """How many tokens there are. Raises ContestantError where rows differ."""
    command = [*python("benchmarks.text.compare"), json.dumps(spec)]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise ContestantError("the outputs differ")
    tokens = int(done.stdout.split()[-1])
    print(f"  {tokens:,} tokens compared: the rows are those of the stock libraries", flush=True)
    return tokens


def _probe(spec: dict[str, Any]) -> dict[int, float]:
    """The stock libraries' tokens/s over a quarter of the files, by the number of workers."""
    quarter = {**spec, "files": spec["files"][: data.FILES // 4]}
    rates = {}
    for workers in WORKERS:
        with _stock(quarter) as stock:
            rates[workers] = rate(stock.ask(workers=workers))
    shown = ", ".join(f"{workers}: {each:,.0f}" for workers, each in rates.items())
    print(f"  stock tokens/s by num_proc: {shown}", flush=True)
    return rates


def _measure_passes(
    spec: dict[str, Any], tokens: int, workers: int, count: int, result: report.Result
) -> None:
    """Everything once, in fresh processes: what a user waits for."""
    rows = tokens // LENGTH // BATCH * BATCH
    answers: dict[str, list[Answer]] = {"drapps": [], "stock": []}
    peaks = dict.fromkeys(answers, 0)
    for number in range(count):
        names = list(answers) if number % 2 == 0 else list(reversed(answers))
        for name in names:
            load = os.getloadavg()[0]
            with _ours(spec) if name == "drapps" else _stock(spec) as contestant:
                ask = {"rows": rows} if name == "drapps" else {"workers": workers}
                answer = {**contestant.ask(**ask), **contestant.started, "load_before": load}
                peaks[name] = max(peaks[name], contestant.peak_bytes())
            answers[name].append(answer)
            print(
                f"  pass {number + 1} of {count}, {name}: {rate(answer):,.0f} tokens/s", flush=True
            )
    result.figures["pass"] = {
        name: {**report.figures(each, {}, peaks[name]), "load_s": each[-1]["load_s"]}
        for name, each in answers.items()
    }
    result.rounds["pass"] = answers
    result.add_ratio("pass_over_stock", report.ratios(answers["drapps"], answers["stock"]))
    result.add_ratio(
        "pass_over_stock_with_tokenizer",
        report.ratios(*([_with_tokenizer(each) for each in side] for side in answers.values())),
    )


def _measure_steady(spec: dict[str, Any], tokens: int, count: int, result: report.Result) -> None:
    """Pass after pass, against the bare loop."""
    with ExitStack() as stack:
        bare = Contestant("bare", [build("text_bare")], spec)
        contestants = [stack.enter_context(each) for each in (_ours(spec), bare)]
        answers: dict[str, list[Answer]] = {each.name: [] for each in contestants}
        for number in range(count):
            for contestant in contestants if number % 2 == 0 else reversed(contestants):
                load = os.getloadavg()[0]
                # What is remembered of words is full after a pass.
                warm = tokens if number == 0 else tokens // 4
                answer = contestant.ask(warm=warm, measure=PASSES * tokens)
                answers[contestant.name].append({**answer, "load_before": load})
                print(
                    f"  round {number + 1} of {count}, {contestant.name}: "
                    f"{rate(answer):,.0f} tokens/s",
                    flush=True,
                )
        result.figures["steady"] = {
            each.name: report.figures(answers[each.name], each.started, each.peak_bytes())
            for each in contestants
        }
    result.rounds["steady"] = answers
    result.add_ratio("steady_over_bare", report.ratios(answers["drapps"], answers["bare"]))
    result.add_ratio(
        "steady_over_bare_per_cpu_s",
        [_per_cpu_s(a) / _per_cpu_s(b) for a, b in zip(*answers.values(), strict=True)],
    )


def _ours(spec: dict[str, Any]) -> Contestant:
    return Contestant("drapps", python("benchmarks.text.ours"), spec)


def _stock(spec: dict[str, Any]) -> Contestant:
    return Contestant("stock", python("benchmarks.text.stock"), spec)


def _with_tokenizer(answer: Answer) -> Answer:
    return {**answer, "seconds": answer["seconds"] + answer["load_s"]}


def _per_cpu_s(answer: Answer) -> float:
    return float(answer["samples"] / answer["cpu_s"])


def _input(files: list[str]) -> dict[str, Any]:
    """What is read, and by which versions of the stock libraries."""
    size = sum(Path(file).stat().st_size for file in files)
    versions = {name: metadata.version(name) for name in _VERSIONS}
    return {"files": len(files), "bytes": size, "versions": versions}
