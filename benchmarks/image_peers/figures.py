"""The figures and ratios of the scenario, from what its cases have measured."""

from __future__ import annotations

import statistics
from dataclasses import asdict
from typing import Any

from benchmarks import report
from benchmarks.contestant import Answer, rate
from benchmarks.image_peers import environment
from benchmarks.image_peers.case import Case
from benchmarks.image_peers.contestants import ENTRIES, RIVALS

_WANTED = {
    "loader_first_torch": {"444": 5.0, "420": 4.5},
    "loader_warm_torch": {"444": 7.0, "420": 6.0},
    "loader_first_dali": {"444": 3.5, "420": 3.5},
    "loader_warm_dali": {"444": 5.0, "420": 5.0},
    "loader_first_mlx": {"444": 2.2, "420": 2.2},
    "loader_warm_mlx": {"444": 3.0, "420": 3.0},
    "loader_coefficients_ffcv_raw": {"444": 1.6, "420": 1.6},
}


def add(result: report.Result, case: Case, count: int) -> None:
    """Adds a case's figures, its first `count` rounds and its ratios."""
    figures: dict[str, Any] = {}
    answers: dict[str, list[Answer]] = {}
    for entry in ENTRIES:
        about: dict[str, Any] = {"differs": entry.differs}
        about["versions"] = environment.versions(entry.environment, entry.packages)
        if entry.name in case.outputs:
            about |= asdict(case.outputs[entry.name])
        if entry.name in case.refused:
            figures[entry.name] = {"cannot_run": case.refused[entry.name], **about}
            continue
        mine = answers[entry.name] = case.answers(entry.name, count)
        first = {"first_batch_s": [each for answer in mine for each in answer["first_batch_s"]]}
        peak = max(answer["peak_bytes"] for answer in mine)
        figures[entry.name] = {**report.figures(mine, first, peak), **about}
        if any(mine[0].get("index_coverage", ())):
            figures[entry.name]["index_coverage"] = mine[0]["index_coverage"]
        if entry.name in case.probes:
            figures[entry.name] |= {
                "num_workers": case.workers[entry.name],
                "probe_samples_per_s": case.probes[entry.name],
            }
    result.figures[case.sampling] = figures
    result.rounds[case.sampling] = {
        name: [{k: v for k, v in answer.items() if k != "gaps_s"} for answer in mine]
        for name, mine in answers.items()
    }
    _add_ratios(result, case.sampling, answers)


def _add_ratios(result: report.Result, sampling: str, answers: dict[str, list[Answer]]) -> None:
    """Adds those whose both sides have run."""
    pairs = {
        f"loader_{stage}_{rival}": (f"drapps_{stage}", names)
        for stage in ("first", "warm")
        for rival, names in RIVALS.items()
    }
    pairs["loader_coefficients_ffcv_raw"] = ("drapps_coefficients", ("ffcv_raw",))
    for name, (ours, names) in pairs.items():
        if name in _WANTED:
            result.wanted[f"{name}_{sampling}"] = _WANTED[name][sampling]
        rivals = [each for each in names if each in answers]
        if ours in answers and rivals:
            best = max(rivals, key=lambda each: statistics.median(map(rate, answers[each])))
            result.ratios[f"{name}_{sampling}"] = report.ratio(answers[ours], answers[best])
