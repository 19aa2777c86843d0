"""Scenario meter-cpu; scenario.md says what it measures and why so."""

from __future__ import annotations

import json
import statistics
import subprocess
from typing import Any

from benchmarks import native, report
from benchmarks.contestant import Answer, Contestant, ContestantError, python, rate
from benchmarks.image_cpu import data as photos
from benchmarks.image_cpu.scenario import describe
from benchmarks.small_samples import data as fashion

NAME = "meter-cpu"
ROUNDS = 3

LIMIT = 0.005  # of a core
_WARM_S, _MEASURE_S = 10.0, 20.0
# Cases of exec_bench: what they are a cost of.
_COSTS = {"record": "records", "time_lane": "lanes", "read_both_clocks": "clocks"}


def measure(count: int, _seconds: float) -> report.Result:
    """Counts `count` times for each loader."""
    costs = _costs()
    specs: dict[str, dict[str, Any]] = {
        "photos": {**describe(photos.ensure()["420"]), "what": "photos"},
        "arrays": {"root": str(fashion.ensure()), "batch": 64, "seed": 4, "what": "arrays"},
    }
    result = report.Result(NAME)
    for name, spec in specs.items():
        answers: list[Answer] = []
        for _ in range(count):
            with Contestant(name, python("benchmarks.meter_cpu.child"), spec) as contestant:
                answers.append(contestant.ask(warm_s=_WARM_S, measure_s=_MEASURE_S))
        shares = [_shares(answer, costs) for answer in answers]
        result.rounds[name] = {"drapps": answers}
        result.figures[name] = {
            "drapps": {
                "samples_per_s": statistics.median(map(rate, answers)),
                **{part: max(each[part] for each in shares) for part in shares[0]},
            }
        }
        result.limits[f"meter_cpu_{name}"] = LIMIT
        result.add_ratio(f"meter_cpu_{name}", [sum(each.values()) for each in shares])
    result.figures["costs"] = {"ns": {name: 1e9 * cost for name, cost in costs.items()}}
    return result


def _shares(answer: Answer, costs: dict[str, float]) -> dict[str, float]:
    """Of a core, by part."""
    spent = {
        "control": answer["control_s"],
        "meters": answer["meters_s"],
        "accounts": sum(answer[counted] * costs[case] for case, counted in _COSTS.items()),
    }
    return {part: seconds / answer["seconds"] for part, seconds in spent.items()}


def _costs() -> dict[str, float]:
    """CPU seconds of one of each, the least of several runs."""
    program = native.build("exec_bench", folder="src/drapps")
    command = [program, "--benchmark_format=json", "--benchmark_repetitions=5"]
    command.append(f"--benchmark_filter=^({'|'.join(_COSTS)})$")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ContestantError(f"exec_bench: {done.stderr.strip()}")
    runs = json.loads(done.stdout)["benchmarks"]
    return {
        name: 1e-9
        * min(
            run["cpu_time"]
            for run in runs
            if run["run_name"] == name and run["run_type"] == "iteration"
        )
        for name in _COSTS
    }
