"""What never evicting is worth beside the closed form, by the programs of eviction.cc."""

from __future__ import annotations

import math
import os
import statistics
from pathlib import Path

from benchmarks import native, report
from benchmarks.contestant import Answer, Contestant, rate
from benchmarks.journal import Journal

SHARES = {"lru_35": 0.35, "lru_65": 0.65}  # of the files' bytes, that either cache may hold
WANTED = 0.95
_BANDWIDTH = 20e6  # bytes per second
_PASSES = 5
_CONTESTANTS = ("store", "lru")


def measure(
    result: report.Result, journal: Journal, root: Path, count: int, chosen: list[str]
) -> None:
    """Adds the ratios of `chosen`, in `count` rounds of both caches in turn."""
    files = report.BUILD / "cache/files.txt"
    files.write_text("".join(f"{file}\n" for file in sorted(root.rglob("*.*"))))
    spec = {
        "files": str(files),
        "bandwidth": _BANDWIDTH,
        "crop": 224,
        "batch": 64,
        "seed": 4,
        "workers": len(os.sched_getaffinity(0)),
    }
    for name in chosen:
        answers: dict[str, list[Answer]] = {each: [] for each in _CONTESTANTS}
        for number in range(count):
            for each in _CONTESTANTS:
                reply = journal.get(name, each, number)
                if reply is None:
                    with Contestant(each, [native.build("cache_eviction")], spec) as contestant:
                        reply = contestant.ask(cache=each, share=SHARES[name], passes=_PASSES)
                    journal.keep(name, each, number, result=reply)
                answers[each].append(reply)
        result.rounds[name] = dict(answers)
        result.figures[name] = {
            each: {
                "samples_per_s": statistics.median(map(rate, mine)),
                "hits": statistics.median(answer["hits"] / answer["samples"] for answer in mine),
            }
            for each, mine in answers.items()
        }
        over_lru = report.ratios(answers["store"], answers["lru"])
        result.wanted[name] = WANTED
        result.add_ratio(name, [each / closed_form(SHARES[name]) for each in over_lru])
        print(f"cache, {name}: {result.ratios[name]:.3f} of the closed form", flush=True)


def closed_form(share: float) -> float:
    """How much less a cache that holds `share`, and never evicts, misses than an LRU as large.

    Of an LRU under a fresh permutation in each pass a share of ``c + (1 - c) ln(1 - c)`` hits.
    """
    hits = share + (1 - share) * math.log(1 - share)
    return (1 - hits) / (1 - share)
