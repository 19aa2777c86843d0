"""Scenario image-peers; scenario.md says what it measures and why so."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from benchmarks import report
from benchmarks.contestant import ContestantError
from benchmarks.image_peers import data, environment, figures, page
from benchmarks.image_peers.case import PROBE_S, WARM_S, Case, refusing
from benchmarks.image_peers.contestants import ENTRIES, Entry
from benchmarks.journal import begin, code

NAME = "image-peers"
ROUNDS = 3

_HERE = Path(__file__).resolve().parent


def measure(
    count: int, seconds: float, fresh: bool = False, only: Collection[str] = ()
) -> report.Result:
    """Measures both chroma samplings in `count` rounds, `seconds` for each contestant in each.

    What an interrupted run with the same parameters has measured is not measured again, unless
    `fresh`. `only` leaves all others out.

    Raises:
        ContestantError: `only` names one that does not exist, or what is measured has changed.
    """
    unknown = set(only) - {entry.name for entry in ENTRIES}
    if unknown:
        names = ", ".join(entry.name for entry in ENTRIES)
        raise ContestantError(f"no contestant {', '.join(sorted(unknown))}; there are {names}")
    by_sampling = data.ensure()
    asked = _asked(seconds, by_sampling)
    journal = begin(NAME, data.PLACE / "rounds.jsonl", asked, fresh)
    entries = [entry for entry in ENTRIES if not only or entry.name in only]
    interpreters, refused = _environments(entries)
    result = report.Result(NAME)
    for sampling, files in by_sampling.items():
        print(f"{NAME}, {sampling[0]}:{sampling[1]}:{sampling[2]}", flush=True)
        data.warm(files.timed.root)
        case = Case(sampling, files, interpreters, journal)
        case.refused |= dict.fromkeys(_names(ENTRIES) - _names(entries), "left out by --only")
        case.refused |= refused
        case.measure(entries, count, seconds)
        figures.add(result, case, count)
        if _asked(seconds, by_sampling) != asked:
            raise ContestantError("the code was changed or built anew while it was measured")
    return result


def illustrate(file: Path) -> list[Path]:
    """Makes the page and the plot of a result; returns where."""
    try:
        plotter = environment.ensure("plot")
    except environment.CannotRunError as error:
        print(f"no plot: {error}")
        plotter = None
    return page.write(file, plotter)


def _names(entries: Collection[Entry]) -> set[str]:
    return {entry.name for entry in entries}


def _asked(seconds: float, by_sampling: dict[str, data.Data]) -> dict[str, Any]:
    """All that results depend on: those of other parameters are not continued."""
    sources = [_HERE / f"{name}.py" for name in sorted({entry.module for entry in ENTRIES})]
    return {
        "seconds": [WARM_S, PROBE_S, seconds],
        "cores": len(os.sched_getaffinity(0)),
        "data": {sampling: files.timed.digest for sampling, files in by_sampling.items()},
        "pins": hashlib.sha256(environment.pins().encode()).hexdigest(),
        "code": code([*sources, _HERE / "peer.py"]),
    }


def _environments(entries: Sequence[Entry]) -> tuple[dict[str, str], dict[str, str]]:
    """The interpreter of each contestant, and why some have none."""
    interpreters: dict[str, str] = {}
    refused: dict[str, str] = {}
    for entry in entries:
        with refusing(entry.name, refused):
            interpreters[entry.name] = environment.ensure(entry.environment)
    return interpreters, refused
