"""Policies on simulated machines; control.md says how they are compared.

    python -m benchmarks.control [--keep] [--fresh] [--machines M...] [--budget N]
    python -m benchmarks.control --report | --live | --calibration | --learned FILE...
    python -m benchmarks.control --verdict FILE... --frozen HASH | --ablations | --adaptation

An interrupted run goes on where it was, as long as neither DRAPPS nor the benchmark has changed.
With --keep the result is written to benchmarks/results/control.{json,md,html} too.
"""

from __future__ import annotations

import argparse
import importlib
import sys

from benchmarks.control import compare
from benchmarks.control.cells import SCORED, TUNED
from drapps import simulation
from drapps.errors import PipelineError

_OTHERS = (
    "live",
    "calibration",
    "learned",
    "verdict",
    "ablations",
    "adaptation",
)  # modules of this folder with a main() of their own


def main() -> int:
    """Compares, and prints the report; returns the exit status, with an error in a sentence."""
    try:
        return _answer(sys.argv[1:])
    except KeyboardInterrupt:
        return 130
    except (PipelineError, OSError) as error:
        print(f"bench-control: {error}", file=sys.stderr)
        return 1


def _answer(words: list[str]) -> int:
    for name in _OTHERS:
        if f"--{name}" in words:
            words.remove(f"--{name}")
            chosen = importlib.import_module(f"benchmarks.control.{name}")
            status: int = chosen.main(words)
            return status
    parser = argparse.ArgumentParser(prog="python -m benchmarks.control", description=__doc__)
    parser.add_argument("--live", action="store_true", help="default against mpc, played live")
    parser.add_argument("--calibration", action="store_true", help="how far the simulator is right")
    parser.add_argument("--learned", action="store_true", help="learned policies beside the kept")
    parser.add_argument("--verdict", action="store_true", help="learned policies on test machines")
    parser.add_argument(
        "--ablations", action="store_true", help="what learned policies owe to what"
    )
    parser.add_argument("--adaptation", action="store_true", help="fitted to one machine")
    parser.add_argument(
        "--machines", nargs="+", choices=list(simulation.shipped()), help="some of the machines"
    )
    parser.add_argument(
        "--budget", type=int, default=compare.BUDGET, help="evaluations to tune each policy"
    )
    parser.add_argument("--scored", type=int, nargs="+", default=SCORED, help="variations")
    parser.add_argument("--tuned", type=int, nargs="+", default=TUNED, help="variations")
    parser.add_argument("--keep", action="store_true", help="put it into benchmarks/results/")
    parser.add_argument("--report", action="store_true", help="write the kept pages anew")
    parser.add_argument("--fresh", action="store_true", help="forget an interrupted run")
    options = parser.parse_args(words)
    return compare.again() if options.report else compare.run(options)


if __name__ == "__main__":
    sys.exit(main())
