"""Runs a scenario and reports it; `python -m benchmarks.run --help` lists what may be said."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from pathlib import Path

from benchmarks import report
from benchmarks.contestant import ContestantError

_HERE = Path(__file__).resolve().parent
SCENARIOS = sorted(f.parent.name.replace("_", "-") for f in _HERE.glob("*/scenario.md"))


def main() -> int:
    """Measures, prints the table and writes the JSON; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run", description=__doc__)
    parser.add_argument("scenario", nargs="?", choices=SCENARIOS, default="image-cpu")
    parser.add_argument("--rounds", type=int, default=5, help="default 5")
    parser.add_argument("--seconds", type=float, default=3.0, help="of each measurement; default 3")
    parser.add_argument("--keep", action="store_true", help="a dated copy in benchmarks/results/")
    options = parser.parse_args()
    scenario = importlib.import_module(f"benchmarks.{options.scenario.replace('-', '_')}.scenario")
    load_before = os.getloadavg()[0]
    try:
        result: report.Result = scenario.measure(options.rounds, options.seconds)
    except KeyboardInterrupt:
        return 130
    except (ContestantError, OSError) as error:
        print(f"benchmarks: {error}", file=sys.stderr)
        return 1
    files = report.save(result, load_before, options.keep)
    print(f"\n{report.table(result)}\n")
    print(f"load average {load_before:.1f} before. {', '.join(map(str, files))}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
