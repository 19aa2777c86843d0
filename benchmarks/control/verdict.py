"""Learned policies on test machines that nobody has seen, beside all other policies.

    python -m benchmarks.control --verdict FILE... --frozen HASH [--cases N] [--keep]

The machines, and what happens to them, are drawn from the hash of the commit that froze policies
and gate: whoever trained or chose them could not know it. The policies without weights have the
parameters of the kept comparison, tuned with one budget for all.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks import report
from benchmarks.control import jobs, verdict_page
from benchmarks.control.arms import POLICIES
from benchmarks.control.jobs import Job
from benchmarks.journal import begin, code
from drapps.errors import PipelineError
from drapps.policy import read
from drapps.simulation import gate
from drapps.simulation.cases import value
from drapps.simulation.tuning import policy_text

_NAME = "control-verdict"
_HERE = Path(__file__).resolve().parent
_FIRST = 1 << 32  # of the seeds of test machines: far from those of validation
_CASES = 40
#: Policies without weights that are compared; the others have no knob here.
OTHERS = tuple(name for name in POLICIES if "," not in name and name != "static")


def main(words: Sequence[str] | None = None) -> int:
    """Runs what is missing, and prints the report; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.control --verdict", description=__doc__
    )
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="of train-policy")
    parser.add_argument("--frozen", required=True, metavar="HASH", help="of the commit that froze")
    parser.add_argument("--cases", type=int, default=_CASES, help="machines of each of two kinds")
    parser.add_argument("--fresh", action="store_true", help="forget an interrupted run")
    parser.add_argument("--keep", action="store_true", help="put it into benchmarks/results/")
    options = parser.parse_args(words)
    content = _content(options)
    text, html = verdict_page.page(content), verdict_page.html(content)
    report.show(_NAME, content, text, options.keep, html=html)
    return 0


def seed_of(frozen: str) -> int:
    """What test machines are drawn from.

    Raises:
        PipelineError: it is no hash of a commit.
    """
    if not re.fullmatch(r"[0-9a-f]{12,64}", frozen):
        raise PipelineError(f"{frozen!r} is no hash of a commit: 12 hexadecimal digits at least")
    return _FIRST + int(frozen[:8], 16)


def _content(options: argparse.Namespace) -> dict[str, Any]:
    seed = seed_of(options.frozen)
    kept = json.loads((report.KEPT / "control.json").read_text())
    others = {
        name: policy_text(name, kept["tuned"].get(name, {}).get("parameters", {}))
        for name in OTHERS
    }
    policies = [read(file) for file in options.files]
    learned = {
        f"{_named(policy, file)} {seed}": gate.learned_text(weights, str(policy["name"]))
        for policy, file in zip(policies, options.files, strict=True)
        for seed, weights in gate.seeds_of(policy).items()
    }
    asked = {
        "code": code([_HERE / "verdict.py"]),
        "seed": seed,
        "others": others,
        "learned": learned,
    }
    journal = begin(_NAME, report.BUILD / _NAME / "runs.jsonl", asked, options.fresh)
    places: list[tuple[Job, tuple[Any, ...]]] = [
        ((which, number), (which, number, options.cases, seed, others, learned))
        for which in gate.SETS
        for number in range(options.cases)
    ]
    rows = jobs.all_of(journal, "row", row, places, lambda text: print(text, flush=True))
    return {
        **report.stamp(),
        "frozen": options.frozen,
        "tuned": {"commit": kept["commit"], "budget": kept["budget"]},
        "trainings": [
            {
                "name": _named(policy, file),
                "options": (policy.get("card") or {}).get("options", {}),
                "passed": ((policy.get("card") or {}).get("gate") or {}).get("passed"),
            }
            for policy, file in zip(policies, options.files, strict=True)
        ],
        "rows": rows,
    }


def _named(policy: Mapping[str, Any], file: Path) -> str:
    return str(policy["name"]) if file.stem == policy["name"] else file.stem


_CASES_OF: dict[tuple[str, int, int], list[gate.ValidationCase]] = {}


def row(
    which: str,
    number: int,
    count: int,
    seed: int,
    others: Mapping[str, str],
    learned: Mapping[str, str],
) -> dict[str, Any]:
    """The values of all arms on one machine, from where a loader and tuned settings begin."""
    if (which, count, seed) not in _CASES_OF:
        _CASES_OF[which, count, seed] = gate.cases_of(count, seed, gate.SETS[which])
    case = _CASES_OF[which, count, seed][number]
    static = case.best[0]
    rates = {
        gate.STATIC: gate.rates_held(case, [static] * len(case.best)),
        gate.ORACLE: gate.rates_held(case),
        gate.DEFAULT: gate.rates_begun(case, json.dumps(case.default)),
    }
    for name, text in {**others, **learned}.items():
        rates[name] = gate.rates_begun(case, text)
        rates[f"{name}, warm"] = gate.rates_begun(case, text, static)
    best = tuple(map(max, *rates.values()))
    processes = case.default == "trials"
    return {
        "set": which,
        "scenario": ", ".join(
            [
                which,
                "processes" if processes else "threads",
                "something happens" if case.changes else "nothing happens",
            ]
        ),
        "values": {arm: round(value(own, best), 5) for arm, own in rates.items()},
    }
