"""Scenario watch; scenario.md says what it measures and why so."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from benchmarks import report
from benchmarks.contestant import ROOT
from benchmarks.journal import begin, code
from benchmarks.watch.cases import ACCEPTED, NOT_BOUND, Case, draw
from benchmarks.watch.rivals import RIVALS, says
from drapps.scenario.cgroup import Cgroup, CgroupError

NAME = "watch"
ROUNDS = 1

_COUNT, _FULL = 15, 60
_SECONDS, _REMOVED_S, _MOST_S = 12.0, 8.0, 120.0
_QUOTA = 0.6  # cores
_MEMORY = 1 << 30  # bytes, in which the file that is read does not fit
_BURNERS = 2
_HERE = Path(__file__).resolve().parent
_BURNER = ROOT / "python/drapps/scenario/burner.py"


def measure(
    count: int,
    _seconds: float,
    only: Collection[str] = (),
    fresh: bool = False,
    full: bool = False,
    seed: int = 1,
) -> report.Result:
    """Runs every case of a draw under `drapps watch`; `count` is not used.

    What an interrupted run of the same draw has measured is not measured again, unless `fresh`.
    `only` leaves out cases of other causes. Where `full`, rivals run the cases that they can.
    """
    del count
    cases = draw(seed, _FULL if full else _COUNT)
    asked = {"seed": seed, "cases": len(cases), "code": code(sorted(_HERE.glob("*.py")))}
    journal = begin(NAME, report.BUILD / NAME / "rounds.jsonl", asked, fresh)
    result = report.Result(NAME)
    table: Counter[tuple[str, str]] = Counter()
    for case in cases:
        if only and not set(only) & set(case.causes):
            continue
        record = journal.get(case.name)
        if record is None:
            record = _judge(case)
            journal.keep(case.name, result=record)
        if "cannot_run" not in record:
            table[record["cause"], record["verdict"]] += 1
        result.figures[case.name] = {"watch": record}
        result.rounds[case.name] = {"watch": [case.described() | record]}
        print(f"{NAME}, {case.name}: {_summary(record)}", flush=True)
        for rival in RIVALS if full else ():
            answer = journal.get(case.name, rival)
            if answer is None:
                answer = _of_rival(rival, case)
                journal.keep(case.name, rival, result=answer)
            result.figures[case.name][rival] = answer
            print(f"  {rival}: {answer.get('says') or answer['cannot_run']}", flush=True)
    _add_rivals(result)
    ran = [each["watch"] for each in result.figures.values() if "cannot_run" not in each["watch"]]
    if ran:
        result.ratios["right"] = sum(each["right"] for each in ran) / len(ran)
        result.ratios["false_alarms"] = float(sum(each["false_alarm"] for each in ran))
        result.wanted["right"], result.limits["false_alarms"] = 0.95, 0.0
    costs = json.loads(_run([sys.executable, "-m", "benchmarks.watch.cost"], 120.0))
    result.figures["costs"] = {"watch": costs}
    result.ratios |= {"step_us": costs["step_us"], "cpu_share": costs["cpu_share"]}
    result.limits |= {"step_us": 50.0, "cpu_share": 0.01}
    print(f"\n{confusion(table)}\n")
    return result


def confusion(table: Counter[tuple[str, str]]) -> str:
    """Injected causes, and what was said of each, as a table of Markdown."""
    verdicts = sorted({verdict for _, verdict in table})
    lines = [f"| injected | {' | '.join(verdicts)} |", "|---" * (len(verdicts) + 1) + "|"]
    for cause in sorted({cause for cause, _ in table}):
        cells = [str(table[cause, verdict] or "") for verdict in verdicts]
        lines.append(f"| {cause} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _summary(record: dict[str, Any]) -> str:
    if "cannot_run" in record:
        return f"skipped: {record['cannot_run']}"
    right = "right" if record["right"] else "wrong"
    return f"{record['verdict']} ({right}), stall {record['stall']:.1%}"


def _judge(case: Case) -> dict[str, Any]:
    """What was said of a case, and whether that is right."""
    try:
        with tempfile.TemporaryDirectory() as folder, _conditions(case) as group:
            file = Path(folder, "told.json")
            watch = [sys.executable, "-m", "drapps", "watch", "--quiet", "--json", str(file), "--"]
            _run([*watch, *_command(case, _SECONDS)], _MOST_S, group)
            diagnosis = json.loads(file.read_text())
        cause = case.causes[0] if len(case.causes) == 1 else _gains_most(case)
    except (CgroupError, OSError, subprocess.SubprocessError) as error:
        return {"cannot_run": str(error)}
    verdict, bound = diagnosis["verdict"], diagnosis["data_bound"]
    return {
        "cause": cause,
        "verdict": verdict,
        "right": verdict in ACCEPTED[cause],
        "false_alarm": bool(bound) and cause in NOT_BOUND,
        "bound_right": bool(bound) == (cause not in NOT_BOUND),
        "stall": diagnosis["stall"],
        "sentence": diagnosis["sentence"],
    }


def _of_rival(rival: str, case: Case) -> dict[str, Any]:
    """What another tool says of a case."""
    try:
        with _conditions(case) as group:
            return says(rival, case, _SECONDS, lambda words: _run(words, _MOST_S, group))
    except (CgroupError, OSError, subprocess.SubprocessError, StopIteration) as error:
        return {"cannot_run": str(error) or "it has written no summary"}


def _add_rivals(result: report.Result) -> None:
    """Of the cases that a rival runs, how often each of the two tells what is data-bound."""
    for rival in RIVALS:
        both = [each for each in result.figures.values() if "says" in each.get(rival, {})]
        both = [each for each in both if "bound_right" in each["watch"]]
        for tool in (rival, "watch") if both else ():
            name = f"bound_right_{tool}" if tool == rival else f"bound_right_watch_beside_{rival}"
            result.ratios[name] = sum(each[tool]["bound_right"] for each in both) / len(both)


def _gains_most(case: Case) -> str:
    """Of two causes, the one without which most steps are taken."""
    steps = {
        cause: json.loads(_run(_command(case.without(cause), _REMOVED_S), _MOST_S))["steps"]
        for cause in case.causes
    }
    return max(steps, key=lambda cause: steps[cause])


def _command(case: Case, seconds: float) -> list[str]:
    words = ["-m", "benchmarks.watch.child", json.dumps(case.described()), str(seconds)]
    if case.causes[0].startswith("slow_rank"):
        ranks = ["--standalone", "--nproc-per-node", "2"]
        return [sys.executable, "-m", "torch.distributed.run", *ranks, *words]
    return [sys.executable, *words]


@contextlib.contextmanager
def _conditions(case: Case) -> Iterator[Cgroup | None]:
    """While it lasts, the machine is as the case wants it."""
    if case.causes[0] in ("quota", "memory"):
        with Cgroup(f"drapps-watch-{os.getpid()}") as group:
            group.limit(*((_QUOTA, 0) if case.causes[0] == "quota" else (0.0, _MEMORY)))
            yield group
    elif case.causes[0] == "foreign_load":
        burners = [
            subprocess.Popen([sys.executable, str(_BURNER)], stdin=subprocess.PIPE, text=True)
            for _ in range(_BURNERS)
        ]
        try:
            for burner in burners:
                assert burner.stdin is not None
                print(1.0, file=burner.stdin, flush=True)
            yield None
        finally:
            for burner in burners:
                burner.communicate()
    else:
        yield None


def _run(words: list[str], most_s: float, group: Cgroup | None = None) -> str:
    """The last line that a command prints."""
    path = os.pathsep.join([str(ROOT), str(ROOT / "python")])
    done = subprocess.run(
        words,
        capture_output=True,
        text=True,
        check=False,
        timeout=most_s,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
        preexec_fn=None if group is None else lambda: group.take(os.getpid()),
    )
    if done.returncode:
        raise OSError(f"exit status {done.returncode}: {done.stderr[-400:]}")
    return done.stdout.strip().splitlines()[-1] if done.stdout.strip() else ""
