"""One vocabulary on one text: every contestant, warm and cold."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.contestant import Answer
from benchmarks.tokenizers import texts
from benchmarks.tokenizers.bench import Bench, mb_per_s
from benchmarks.tokenizers.contestants import ENTRIES, OURS, REFERENCE, Entry
from benchmarks.tokenizers.settings import GPT2, WANTED, WANTED_COLD, WANTED_MB_PER_S

Rounds = dict[str, list[Answer]]


def measure(bench: Bench, vocabulary: str, text: str) -> None:
    """Compares the ids, then times."""
    case = f"{vocabulary}_{text}"
    timed = texts.timed(bench.settings, text)
    equal = bench.equal(vocabulary, text, timed)
    runs = {name for name, differs in equal.items() if isinstance(differs, int)}
    warm: Rounds = {entry.name: [] for entry in ENTRIES if entry.name in runs}
    cold: Rounds = {name: [] for name in warm}
    for number in range(bench.count):
        for entry in bench.in_turn(runs, number):
            other = _warming(bench, entry, text)
            for rounds, kind, before in ((cold, "cold", None), (warm, "warm", other)):
                answer = bench.kept(
                    (kind, case, entry.name, number),
                    partial(bench.encode, entry, vocabulary, timed, before),
                )
                rounds[entry.name].append(answer)
        shown = ", ".join(f"{name} {mb_per_s(each[-1]):.1f}" for name, each in warm.items())
        print(f"  round {number + 1} of {bench.count}: {shown} MB/s", flush=True)
    _report(bench, case, equal, warm, cold)
    _ratios(bench, (vocabulary, text), warm, cold)


def _warming(bench: Bench, entry: Entry, text: str) -> Path:
    settings = bench.settings
    size = settings.warmed if entry.grows else settings.settled
    return texts.warm(settings, text, size)


def _report(
    bench: Bench, case: str, equal: dict[str, str | int], warm: Rounds, cold: Rounds
) -> None:
    figures: dict[str, dict[str, Any]] = {}
    for name in [entry.name for entry in ENTRIES if entry.name in equal]:
        differs = equal[name]
        if isinstance(differs, str):
            figures[name] = {"cannot_run": differs}
            continue
        figures[name] = {
            "mb_per_s": median([mb_per_s(each) for each in warm[name]]),
            "cold_mb_per_s": median([mb_per_s(each) for each in cold[name]]),
            "bytes_per_token": warm[name][0]["bytes"] / warm[name][0]["tokens"],
            "load_s": median([each["load_s"] for each in [*warm[name], *cold[name]]]),
            "warmed_bytes": warm[name][0]["warmed"],
            "documents_that_differ": differs,
            "mb_per_cpu_s": median([each["bytes"] / each["cpu_s"] / 1e6 for each in warm[name]]),
            **bench.versions.get(name, {}),
        }
    bench.result.figures[case] = figures
    bench.result.rounds[case] = warm
    bench.result.rounds[f"{case}_cold"] = cold


def _ratios(bench: Bench, cell: tuple[str, str], warm: Rounds, cold: Rounds) -> None:
    result, case = bench.result, "_".join(cell)
    if OURS not in warm:
        return
    for rival in warm:
        if rival != OURS:
            name = f"{case}_over_{rival}"
            result.add_ratio(name, _over(warm, rival))
            if rival in WANTED.get(cell, {}):
                result.wanted[name] = WANTED[cell][rival]
    name = f"{case}_cold_over_{REFERENCE}"
    result.add_ratio(name, _over(cold, REFERENCE))
    result.wanted[name] = WANTED_COLD
    if cell == (GPT2, "english"):
        name = f"{case}_mb_per_s"
        result.ratios[name] = median([mb_per_s(each) for each in warm[OURS]])
        if " avx512bw " in Path("/proc/cpuinfo").read_text():
            result.wanted[name] = WANTED_MB_PER_S


def _over(rounds: Rounds, rival: str) -> list[float]:
    pairs = zip(rounds[OURS], rounds[rival], strict=True)
    return [mb_per_s(mine) / mb_per_s(theirs) for mine, theirs in pairs]
