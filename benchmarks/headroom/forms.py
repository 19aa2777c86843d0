"""What a choice of the cache's form could gain in a scenario; headroom.md says how it is measured.

python -m benchmarks.headroom.forms [SCENARIO...] [--keep] [--fresh]
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from statistics import mean
from typing import Any

from benchmarks import report
from benchmarks.cache.scenario import BUDGETS, FORMS
from benchmarks.headroom.compose import value
from benchmarks.headroom.stage import SkippedError, Stage, rates_of
from benchmarks.image_cpu import data
from benchmarks.journal import begin, code
from drapps.errors import PipelineError
from drapps.scenario import Drapps, Scenario, load

NAME = "headroom-forms"
_USUAL = ("bandwidth-falls", "outages")
_ROUNDS = 2
_NONE = "index"
_HERE = Path(__file__).resolve().parent

_HEAD = """# What a choice of form could gain

Scenarios with records kept in one form or another, each pinned for a whole run; the policy moves
the other knobs. The rate of a run is that of each segment, the value the mean over segments of the
rate over the best form's. *oracle ÷ best* is what it could gain at most to change the form with the
segment; *best ÷ bytes* is what the one best form gains. `python -m benchmarks.headroom.forms
--keep` writes this page.

| scenario | budget, % of files | best form | best ÷ bytes | oracle ÷ best | samples/s by segment |
|---|---|---|---|---|---|
"""


def main() -> int:
    """Measures, and prints the page; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.headroom.forms", description=__doc__
    )
    parser.add_argument("scenarios", nargs="*", metavar="SCENARIO", default=_USUAL)
    parser.add_argument("--keep", action="store_true", help="put it into benchmarks/results/")
    parser.add_argument("--fresh", action="store_true", help="forget an interrupted run")
    options = parser.parse_args()
    asked = {"cores": len(os.sched_getaffinity(0)), "code": code(sorted(_HERE.glob("*.py")))}
    folder = report.BUILD / NAME
    journal = begin(NAME, folder / "runs.jsonl", asked, options.fresh)
    photos = _photo_set()
    stage = Stage(journal, photos, folder / "traces")
    total = sum(file.stat().st_size for file in photos.rglob("*.jpg"))
    rows = []
    try:
        for name in options.scenarios:
            scenario = load(name)
            for percent, share in BUDGETS.items():
                print(f"{name}, {percent} %", flush=True)
                rows.append(_row(stage, scenario, percent, int(share * total)))
    except KeyboardInterrupt:
        return 130
    except (PipelineError, SkippedError, OSError) as error:
        print(f"{NAME}: {error}", file=sys.stderr)
        return 1
    text = _HEAD + "".join(map(_line, rows)) + f"\n{_place()}\n"
    print(text)
    if options.keep:
        file = report.KEPT / f"{NAME}.json"
        file.write_text("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n")
        file.with_suffix(".md").write_text(text)
    return 0


def _photo_set() -> Path:
    """The folder of the photographs themselves, of which an epoch ends within seconds."""
    first, _, _ = data.ensure()["420"].files.read_text().partition("\n")
    return Path(first).parents[1]


def _row(stage: Stage, scenario: Scenario, percent: str, budget: int) -> dict[str, Any]:
    """Segments' rates by form, means over the rounds."""
    rounds: dict[str, list[list[float]]] = {form: [] for form in (_NONE, *FORMS)}
    for number in range(_ROUNDS):
        for form, runs in rounds.items():
            loader = Drapps(form=form, cache="auto" if form == _NONE else budget)
            runs.append(list(rates_of(stage.run(scenario, f"{form} {percent}", loader, number))))
            print(f"  {form}: {' '.join(f'{rate:,.0f}' for rate in runs[-1])}", flush=True)
    rates = {
        form: [mean(each) for each in zip(*runs, strict=True)] for form, runs in rounds.items()
    }
    best = [max(each) for each in zip(*rates.values(), strict=True)]
    values = {form: value(each, best) for form, each in rates.items()}
    one = max(values, key=values.__getitem__)
    return {
        "scenario": scenario.name,
        "percent": percent,
        "budget": budget,
        "rounds": rounds,
        "best": one,
        "best_over_bytes": values[one] / values["bytes"],
        "oracle_over_best": 1 / values[one],
        "rates": rates,
    }


def _line(row: dict[str, Any]) -> str:
    rates = "; ".join(
        f"{form} {'/'.join(f'{rate:,.0f}' for rate in each)}" for form, each in row["rates"].items()
    )
    return (
        f"| {row['scenario']} | {row['percent']} | {row['best']} | {row['best_over_bytes']:.2f} "
        f"| {row['oracle_over_best']:.2f} | {rates} |\n"
    )


def _place() -> str:
    machine = report.machine()
    return f"Measured on {machine['cpu']}, {machine['cores']} cores, at {report.commit()[:12]}."


if __name__ == "__main__":
    sys.exit(main())
