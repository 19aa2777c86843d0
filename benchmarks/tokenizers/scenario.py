"""Scenario tokenizers; scenario.md says what it measures and why so."""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
from collections.abc import Callable, Collection
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import report
from benchmarks.contestant import ContestantError
from benchmarks.image_peers import environment
from benchmarks.journal import begin, code
from benchmarks.tokenizers.bench import CORES, Bench
from benchmarks.tokenizers.contestants import ENTRIES, PINS
from benchmarks.tokenizers.settings import CUT, FULL, Settings

NAME = "tokenizers"
ROUNDS = 3

_OTHERS = ("hostile", "threads", "load")
_PACKAGES = {"quicktok": "quicktok-v1"}  # of modules that are called otherwise
_HERE = Path(__file__).resolve().parent


def measure(
    count: int, _seconds: float, fresh: bool = False, only: Collection[str] = (), full: bool = False
) -> report.Result:
    """Measures all parts in `count` rounds; in the cut, one round of little text.

    What an interrupted run with the same parameters has measured is not measured again, unless
    `fresh`. `only` leaves out all parts that are not among it.

    Raises:
        ContestantError: no part is left, or there is no text.
    """
    settings = FULL if full else CUT
    names = [*("_".join(cell) for cell in settings.cells), *_OTHERS]
    chosen = [name for name in names if not only or name in only]
    if not chosen:
        raise ContestantError(f"no part {', '.join(only)}; there are {', '.join(names)}")
    journal = begin(NAME, report.BUILD / NAME / f"{settings.name}.jsonl", _asked(settings), fresh)
    result = report.Result(NAME)
    bench = Bench(settings, count if full else 1, journal, result, _versions())
    for name, part in zip(names, _parts(bench), strict=True):
        if name in chosen:
            print(f"{NAME}, {name}", flush=True)
            part()
    return result


def illustrate(file: Path) -> list[Path]:
    """Makes the page of a result; returns where."""
    from benchmarks.tokenizers.page import write

    return [write(file)]


def _parts(bench: Bench) -> list[Callable[[], None]]:
    from benchmarks.tokenizers import cells, others  # they read what tokenizers trains

    return [
        *(partial(cells.measure, bench, *cell) for cell in bench.settings.cells),
        *(partial(getattr(others, name), bench) for name in _OTHERS),
    ]


def _asked(settings: Settings) -> dict[str, Any]:
    """All that results depend on: those of other parameters are not continued."""
    sources = sorted(each for each in _HERE.glob("*.py") if each.name != "page.py")
    return {
        "settings": asdict(settings),
        "cores": len(CORES),
        "pins": hashlib.sha256(environment.pins(PINS).encode()).hexdigest(),
        "code": code(sources),
    }


def _versions() -> dict[str, dict[str, str]]:
    """What is measured of each rival, and the newest that there is."""
    rivals = {}
    for entry in ENTRIES:
        if entry.environment:
            package = _PACKAGES.get(entry.module, entry.module)
            pinned = environment.versions(entry.environment, (package,), PINS)
            rivals[entry.name] = {"versions": pinned, "newest": _newest(package)}
    return rivals


def _newest(package: str) -> str:
    """The newest version that the package index has; empty where it cannot be asked."""
    command = [sys.executable, "-m", "pip", "index", "versions", package, "--pre"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    except subprocess.TimeoutExpired:
        return ""
    version = re.match(rf"{package} \(([^)]+)\)", done.stdout)
    return version[1] if version else ""
