"""Runs scenarios and reports them; `python -m benchmarks.run --help` lists what may be said."""

from __future__ import annotations

import argparse
import importlib
import inspect
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from benchmarks import report
from benchmarks.contestant import ContestantError

_HERE = Path(__file__).resolve().parent
SCENARIOS = sorted(f.parent.name.replace("_", "-") for f in _HERE.glob("*/scenario.md"))
DEFAULT = ["image-cpu", "image-kernels", "python-dataset", "small-samples"]


def main() -> int:
    """Measures, prints the tables and writes the JSON; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run", description=__doc__)
    known = f"of {', '.join(SCENARIOS)}; default {' and '.join(DEFAULT)}"
    parser.add_argument("scenarios", nargs="*", metavar="SCENARIO", help=known)
    parser.add_argument(
        "--rounds",
        type=int,
        help="default 5; of cache 1, image-peers, storage, text and tokenizers 3, python-cached 6, "
        "python-dataset 9",
    )
    parser.add_argument("--seconds", type=float, default=3.0, help="of each measurement; default 3")
    parser.add_argument("--keep", action="store_true", help="a dated copy in benchmarks/results/")
    many = (
        "cache",
        "image-peers",
        "own-datasets",
        "python-cached",
        "python-dataset",
        "storage",
        "tokenizers",
    )
    several = f"({', '.join(many)}, training-step)"
    parser.add_argument("--fresh", action="store_true", help=f"do not continue {several}")
    parser.add_argument("--only", nargs="+", metavar="NAME", help=f"contestants, cases {several}")
    parser.add_argument("--seed", type=int, help="of what is drawn (watch); default 1")
    whole = "all of it (text, tokenizers, training-step)"
    parser.add_argument("--full", action="store_true", help=whole)
    options = parser.parse_args()
    names = options.scenarios or DEFAULT
    if unknown := [name for name in names if name not in SCENARIOS]:
        parser.error(f"there is no scenario {', '.join(unknown)}")
    more = {
        name: value
        for name in ("fresh", "only", "full", "seed")
        if (value := getattr(options, name))
    }
    scenarios = [
        importlib.import_module(f"benchmarks.{name.replace('-', '_')}.scenario") for name in names
    ]
    for name, scenario in zip(names, scenarios, strict=True):
        if not set(more) <= set(inspect.signature(scenario.measure).parameters):
            parser.error(f"{name} knows no --{' and no --'.join(more)}")
    return next(filter(None, (_measure(each, options, more) for each in scenarios)), 0)


def _measure(scenario: ModuleType, options: argparse.Namespace, more: dict[str, Any]) -> int:
    """Measures one scenario; returns the exit status."""
    rounds = options.rounds or getattr(scenario, "ROUNDS", 5)
    load_before = os.getloadavg()[0]
    try:
        result: report.Result = scenario.measure(rounds, options.seconds, **more)
    except KeyboardInterrupt:
        return 130
    except (ContestantError, OSError) as error:
        print(f"benchmarks: {error}", file=sys.stderr)
        return 1
    files = report.save(result, load_before, options.keep)
    if hasattr(scenario, "illustrate"):
        files += [page for file in files for page in scenario.illustrate(file)]
    print(f"\n{report.table(result)}\n")
    print(f"load average {load_before:.1f} before. {', '.join(map(str, files))}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
