"""The part of scenario text that begins with token ids; scenario.md says what it measures."""

from __future__ import annotations

import json
import os
import subprocess
from contextlib import ExitStack
from typing import Any

from benchmarks import report
from benchmarks.contestant import ROOT, Answer, Contestant, ContestantError, python, rate
from benchmarks.text import token_data

BATCH, LENGTH = 12, 1024  # nanoGPT's
WANTED = {"tokens_over_get_batch": 3.0, "tokens_over_litdata": 10.0}
_WORKERS = (0, 1, 2)
_MEASURED = 40_000_000  # tokens of a round, of DRAPPS; the others get a share of it
_SHARES = {"token_rows": 1, "get_batch": 4, "litdata_tokens": 8}


def measure(count: int, full: bool, result: report.Result) -> None:
    """Measures in `count` rounds.

    Raises:
        ContestantError: the outputs differ, or a contestant does not run.
    """
    ids = token_data.FULL if full else token_data.CUT
    folder = token_data.ensure(ids, LENGTH)
    spec = {"folder": str(folder), "length": LENGTH, "batch": BATCH}
    _compare(spec)
    measured = _MEASURED * (4 if full else 1)
    probe = {workers: _probe({**spec, "workers": workers}, measured) for workers in _WORKERS}
    workers = max(probe, key=lambda each: probe[each])
    answers: dict[str, list[Answer]] = {name: [] for name in _SHARES}
    with ExitStack() as stack:
        contestants = [
            stack.enter_context(_contestant(name, {**spec, "workers": workers})) for name in _SHARES
        ]
        for number in range(count):
            for each in contestants if number % 2 == 0 else reversed(contestants):
                load = os.getloadavg()[0]
                tokens = measured // _SHARES[each.name]
                answer = each.ask(warm=tokens // 4, measure=tokens)
                answers[each.name].append({**answer, "load_before": load})
                print(
                    f"  round {number + 1} of {count}, {each.name}: {rate(answer):,.0f} tokens/s",
                    flush=True,
                )
        result.figures["token shards"] = {
            each.name: report.figures(answers[each.name], each.started, each.peak_bytes())
            for each in contestants
        }
    result.figures["token shards"]["litdata_tokens"] |= {
        "num_workers": workers,
        "probe_samples_per_s": probe,
    }
    result.rounds["token shards"] = answers
    ours = answers["token_rows"]
    for name, theirs in (("get_batch", "get_batch"), ("litdata", "litdata_tokens")):
        result.add_ratio(f"tokens_over_{name}", report.ratios(ours, answers[theirs]))
        per_cpu_s = [
            float(b["cpu_s"] / b["samples"] * a["samples"] / a["cpu_s"])
            for a, b in zip(ours, answers[theirs], strict=True)
        ]
        result.add_ratio(f"tokens_over_{name}_per_cpu_s", per_cpu_s)
    result.wanted |= WANTED


def _compare(spec: dict[str, Any]) -> None:
    command = [*python("benchmarks.text.compare_tokens"), json.dumps(spec)]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise ContestantError("the outputs differ")
    print(f"  {int(done.stdout.split()[-1]):,} rows of tokens compared", flush=True)


def _probe(spec: dict[str, Any], measured: int) -> float:
    with _contestant("litdata_tokens", spec) as litdata:
        tokens = measured // _SHARES["litdata_tokens"] // 4
        return rate(litdata.ask(warm=tokens, measure=tokens))


def _contestant(name: str, spec: dict[str, Any]) -> Contestant:
    return Contestant(name, python(f"benchmarks.text.{name}"), spec)
