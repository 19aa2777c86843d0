"""Recorded runs of simulated machines under `explore`, for policies that learn from recorded runs.

    python -m benchmarks.control.explored DIR [--runs N] [--seed N]

The machines are drawn as those of trainings are, from a seed that neither `drapps policy check` nor
`make bench-control` draws from.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from drapps import _core
from drapps.simulation.gate import NOTHING_SPECIAL, ValidationCase, cases_of

_SHARE = 0.5  # of the decisions at which something moves


def main(words: Sequence[str] | None = None) -> int:
    """Writes the runs; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.control.explored", description=__doc__
    )
    parser.add_argument("folder", type=Path, metavar="DIR", help="a new folder for *.trace")
    parser.add_argument("--runs", type=int, default=300, metavar="N")
    parser.add_argument("--seed", type=int, default=7_000_000, metavar="N", help="of the machines")
    options = parser.parse_args(words)
    options.folder.mkdir(parents=True)
    for number, case in enumerate(cases_of(options.runs, options.seed, NOTHING_SPECIAL)):
        record(case, number, options.folder, case.best[0] if number % 2 else {})
    return 0


def record(case: ValidationCase, number: int, folder: Path, begun: Mapping[str, int]) -> Path:
    """The file of a run whose moves are drawn from its number."""
    explore = {"name": "explore", "parameters": {"share": _SHARE, "seed": number}}
    file = folder / f"{number:04}.trace"
    _core.simulate(
        case.scenario, json.dumps(explore), json.dumps(dict(begun)), trace=os.fsencode(file)
    )
    return file


if __name__ == "__main__":
    raise SystemExit(main())
