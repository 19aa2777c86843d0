"""What there is to gain over the default settings; headroom.md says how it is measured.

    python -m benchmarks.headroom [SCENARIO...] [--rounds 3] [--keep] [--fresh]

An interrupted run goes on where it was, as long as neither DRAPPS nor the benchmark has changed.
With --keep each row replaces the one of its scenario in benchmarks/results/headroom.json, and
the page beside it is written anew.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks import report
from benchmarks.headroom.page import page
from benchmarks.headroom.row import measured
from benchmarks.headroom.signals import signals
from benchmarks.headroom.stage import Stage
from benchmarks.journal import begin, code
from benchmarks.storage import data
from drapps.errors import PipelineError
from drapps.scenario import Scenario, load, shipped
from drapps.trace import Trace

NAME = "headroom"
_TOLD = 3  # signals of an event that are listed
_TRIAL = "quick"  # the shipped scenario that is for trying things out
_HERE = Path(__file__).resolve().parent


def main() -> int:
    """Measures, and prints the page; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.headroom", description=__doc__)
    known = [name for name in shipped() if name != _TRIAL]
    parser.add_argument("scenarios", nargs="*", metavar="SCENARIO", help=f"of {', '.join(known)}")
    parser.add_argument("--keep", action="store_true", help="put the rows into benchmarks/results/")
    parser.add_argument("--fresh", action="store_true", help="forget an interrupted run")
    options = parser.parse_args()
    if unknown := [name for name in options.scenarios if name not in shipped()]:
        parser.error(f"there is no scenario {', '.join(unknown)}")
    asked = {"cores": len(os.sched_getaffinity(0)), "code": code(sorted(_HERE.glob("*.py")))}
    folder = report.BUILD / NAME
    journal = begin(NAME, folder / "runs.jsonl", asked, options.fresh)
    stage = Stage(journal, data.ensure(), folder / "traces")
    rows = []
    try:
        for name in options.scenarios or known:
            print(name, flush=True)
            scenario = load(name)
            row = measured(stage, scenario, lambda text: print(text, flush=True))
            rows.append(_with_signals(row, scenario, folder / "traces"))
            _write(rows, folder.with_suffix(".json"), folder.with_suffix(".md"))
            if options.keep:
                _keep(rows[-1])
    except KeyboardInterrupt:
        return 130
    except (PipelineError, OSError) as error:
        print(f"{NAME}: {error}", file=sys.stderr)
        return 1
    print(page(rows))
    return 0


def _with_signals(row: dict[str, Any], scenario: Scenario, traces: Path) -> dict[str, Any]:
    """The row with what told each event, of a scenario that changes at set times."""
    if "skipped" in row or len(scenario.segments) == 1 or scenario.counted == "samples":
        return row
    trace = Trace(traces / f"{scenario.name}-0.trace")
    ends = [*(each.begin for each in scenario.segments[1:]), scenario.seconds]
    events = [
        signals(trace, before.begin, now.begin, end)[:_TOLD]
        for before, now, end in zip(
            scenario.segments[:-1], scenario.segments[1:], ends[1:], strict=True
        )
    ]
    return row | {"signals": [[asdict(each) for each in event] for event in events]}


def _keep(row: dict[str, Any]) -> None:
    file = report.KEPT / f"{NAME}.json"
    kept = json.loads(file.read_text()) if file.is_file() else []
    rows = [each for each in kept if each["scenario"] != row["scenario"]] + [row]
    _write(rows, file, file.with_suffix(".md"))


def _write(rows: list[dict[str, Any]], file: Path, text: Path) -> None:
    file.write_text("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n")
    text.write_text(page(rows))


if __name__ == "__main__":
    sys.exit(main())
