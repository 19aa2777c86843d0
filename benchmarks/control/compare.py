"""The comparison from its first job to its files."""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path
from typing import Any

from benchmarks import report
from benchmarks.control import jobs, summary
from benchmarks.control.arms import POLICIES
from benchmarks.control.page import page
from benchmarks.control.plots import html
from benchmarks.journal import Journal, begin, code
from drapps import simulation

BUDGET = 60
_NAME = "control"
_HERE = Path(__file__).resolve().parent
_MEASURES = ("arms", "cells", "jobs", "measure", "sensitivity")  # modules that results depend on
_LISTS = ("rows", "sensitivity")  # of the result, written a line each


def run(options: argparse.Namespace) -> int:
    """Simulates what is missing, writes the files and prints the report; gives the exit status."""
    machines = options.machines or list(simulation.shipped())
    asked = {
        "code": code([_HERE / f"{name}.py" for name in _MEASURES]),
        "machines": machines,
        "budget": options.budget,
        "tuned": list(options.tuned),
    }
    journal = begin(_NAME, report.BUILD / _NAME / "runs.jsonl", asked, options.fresh)
    content = _compared(journal, machines, options)
    for folder in [report.BUILD, *([report.KEPT] if options.keep else [])]:
        write(content, folder / f"{_NAME}.json")
    print(page(content))
    return 0


def _compared(journal: Journal, machines: list[str], options: argparse.Namespace) -> dict[str, Any]:
    started = time.monotonic()
    before = journal.get("seconds") or 0.0

    def say(text: str) -> None:
        passed = before + time.monotonic() - started
        journal.keep("seconds", result=passed)
        print(f"{passed:6.0f} s  {text}", flush=True)

    places = [(machine, variation) for machine in machines for variation in options.tuned]
    groups = jobs.all_of(journal, "best known", jobs.known, [(each, each) for each in places], say)
    best = [rates for place in groups for rates in place]
    policies = jobs.all_of(
        journal,
        "tuned",
        jobs.tuned,
        [((arm,), (arm, machines, options.tuned, options.budget, best)) for arm in POLICIES],
        say,
    )
    tuned = dict(zip(POLICIES, policies, strict=True))
    parameters = {arm: policy["parameters"] for arm, policy in tuned.items()}
    keys = [
        cell.key
        for machine in machines
        for variation in options.scored
        for cell in jobs.cells_of(machine, variation)
    ]
    rows = jobs.all_of(
        journal, "row", jobs.row, [(key, (list(key), parameters)) for key in keys], say
    )
    compared = summary.best_policy(rows)
    numbers = [(name, each) for name in machines for each in simulation.load(name).assumed]
    flips = jobs.all_of(
        journal,
        f"verdicts on {compared}",
        jobs.verdicts,
        [(each, (*each, compared, parameters[compared], options.scored[0])) for each in numbers],
        say,
    )
    return {
        **report.stamp(),
        "load": os.getloadavg()[0],
        "seconds": journal.get("seconds"),
        "budget": options.budget,
        "scored": list(options.scored),
        "varied": list(options.tuned),
        "compared": compared,
        "tuned": tuned,
        "rows": rows,
        "sensitivity": [each for both in flips for each in both],
    }


def again() -> int:
    """Writes the kept pages anew from the kept result, and prints the report."""
    file = report.KEPT / f"{_NAME}.json"
    content = json.loads(file.read_text())
    write(content, file)
    print(page(content))
    return 0


def write(content: dict[str, Any], file: Path) -> None:
    """The result, and beside it the report and its plots."""
    file.parent.mkdir(parents=True, exist_ok=True)
    lines = []
    for name, value in content.items():
        if name in _LISTS:
            each = ",\n".join(json.dumps(item, ensure_ascii=False) for item in value)
            lines.append(f"{json.dumps(name)}: [\n{each}\n]")
        else:
            lines.append(f"{json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}")
    file.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    file.with_suffix(".md").write_text(page(content))
    file.with_suffix(".html").write_text(html(content))
