"""Hostile inputs, two threads, and how long a vocabulary takes to load."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from statistics import median
from typing import Any

from benchmarks.contestant import Answer, ContestantError
from benchmarks.image_peers.case import refusing
from benchmarks.tokenizers import texts
from benchmarks.tokenizers.bench import CORES, Bench, mb_per_s
from benchmarks.tokenizers.contestants import ENTRIES, OURS, REFERENCE, Entry
from benchmarks.tokenizers.hostile import INPUTS
from benchmarks.tokenizers.settings import (
    LOADED,
    MOST_HOSTILE_BYTES,
    MOST_HOSTILE_GROWTH,
    MOST_LOAD_S,
    WANTED_HOSTILE_MB_PER_S,
    WANTED_TWO_THREADS,
)

_VOCABULARY = "cl100k"
_PATIENCE_S = 60  # for one short hostile input of a rival


def hostile(bench: Bench) -> None:
    """Ours on both sizes of each input, rivals on the short ones; ids compared on those."""
    short, long = bench.settings.hostile
    slowest, growth, memory = [], [], []
    for name in INPUTS:
        answers, refused = _answers(bench, name)
        figures: dict[str, Any] = {each: {"cannot_run": why} for each, why in refused.items()}
        for contestant, (first, *_) in answers.items():
            figures[contestant] = _figures(answers[contestant])
            if REFERENCE in answers:
                differs = first[0]["digests"] != answers[REFERENCE][0][0]["digests"]
                figures[contestant]["documents_that_differ"] = int(differs)
        if figures.get(OURS, {}).get("documents_that_differ"):
            figures[OURS] = {"cannot_run": f"its ids are not those of {REFERENCE}"}
        names = [entry.name for entry in ENTRIES if entry.name in figures]
        bench.result.figures[f"hostile {name}"] = {each: figures[each] for each in names}
        ours = figures.get(OURS, {})
        rates = [ours.get(f"mb_per_s_at_{size}", 0.0) for size in (short, long)]
        slowest.append(min(rates))  # 0 of what has no figures
        if all(rates):
            growth.append(rates[0] / rates[1])
            memory.append(ours["peak_bytes_per_byte"])
    result = bench.result
    result.ratios["hostile_slowest_mb_per_s"] = min(slowest)
    result.wanted["hostile_slowest_mb_per_s"] = WANTED_HOSTILE_MB_PER_S
    if growth:
        result.ratios[f"hostile_time_per_byte_{long}_over_{short}"] = max(growth)
        result.limits[f"hostile_time_per_byte_{long}_over_{short}"] = MOST_HOSTILE_GROWTH
        result.ratios["hostile_peak_bytes_per_byte"] = max(memory)
        result.limits["hostile_peak_bytes_per_byte"] = MOST_HOSTILE_BYTES


def _answers(bench: Bench, name: str) -> tuple[dict[str, list[list[Answer]]], dict[str, str]]:
    """Of each contestant the rounds at each size; and why others have none."""
    answers: dict[str, list[list[Answer]]] = {}
    refused = dict(bench.refused)
    for entry in ENTRIES:
        if entry.name not in refused and entry.can(_VOCABULARY):
            sizes = bench.settings.hostile if entry.name == OURS else bench.settings.hostile[:1]
            with refusing(entry.name, refused):
                answers[entry.name] = [_rounds(bench, entry, name, size) for size in sizes]
    return answers, refused


def _figures(sizes: list[list[Answer]]) -> dict[str, Any]:
    """Of the rounds at each size; the peak is that of the last one."""
    last = sizes[-1]
    return {
        **{f"mb_per_s_at_{_size(each)}": median(map(mb_per_s, each)) for each in sizes},
        "mb_per_s": median(map(mb_per_s, last)),
        "peak_bytes_per_byte": max(each["peak_bytes"] / each["bytes"] for each in last),
    }


def _size(rounds: list[Answer]) -> int:
    """The size that was asked for, of which whole characters may leave some bytes out."""
    return int(-(-rounds[0]["bytes"] // 16) * 16)


def _rounds(bench: Bench, entry: Entry, name: str, size: int) -> list[Answer]:
    text = str(texts.hostile_input(name, size))

    def once() -> Answer:
        with bench.started(entry, _VOCABULARY, limit_s=_PATIENCE_S) as contestant:
            answer = contestant.ask(do="encode", text=text, whole=True)
            compared = size == bench.settings.hostile[0]
            ids = contestant.ask(do="ids", text=text, whole=True) if compared else {}
            return {**answer, **ids}

    count = bench.count if entry.name == OURS else 1
    return [bench.kept(("hostile", name, size, entry.name, each), once) for each in range(count)]


def threads(bench: Bench) -> None:
    """Two threads of ours over two processes at the same time."""
    if OURS in bench.refused or len(CORES) < 2:
        why = bench.refused.get(OURS, "there is one core")
        bench.result.figures["threads"] = {OURS: {"cannot_run": why}}
        return
    (ours,) = _entries({OURS})
    text = texts.warm(bench.settings, "code", bench.settings.warmed)
    try:
        pairs = [
            bench.kept(("threads", each), partial(bench.together, ours, _VOCABULARY, text))
            for each in range(bench.count)
        ]
    except ContestantError as error:
        bench.result.figures["threads"] = {OURS: {"cannot_run": str(error)}}
        return
    bench.result.figures["threads"] = {
        "two processes": {"mb_per_s": median([apart for apart, _ in pairs])},
        OURS: {"mb_per_s": median([both for _, both in pairs])},
    }
    bench.result.add_ratio("two_threads_over_two_processes", [b / a for a, b in pairs])
    bench.result.wanted["two_threads_over_two_processes"] = WANTED_TWO_THREADS


def load(bench: Bench) -> None:
    """From a file to a tokenizer, imports done, of every contestant."""
    figures: dict[str, Any] = {}
    for entry in ENTRIES:
        if entry.name in bench.refused or not entry.can(LOADED):
            continue
        try:
            times = [
                bench.kept(("load", entry.name, each), partial(_load_s, bench, entry))
                for each in range(bench.count)
            ]
        except ContestantError as error:
            figures[entry.name] = {"cannot_run": str(error)}
            continue
        figures[entry.name] = {"load_s": median(times)}
        if entry.name == OURS:
            bench.result.ratios[f"load_{LOADED}_s"] = median(times)
            bench.result.limits[f"load_{LOADED}_s"] = MOST_LOAD_S
    bench.result.figures[f"load {LOADED}"] = figures


def _load_s(bench: Bench, entry: Entry) -> float:
    with bench.started(entry, LOADED) as contestant:
        return float(contestant.started["load_s"])


def _entries(names: Collection[str]) -> list[Entry]:
    return [entry for entry in ENTRIES if entry.name in names]
