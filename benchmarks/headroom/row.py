"""One scenario's row of the table: its segments searched, its arms run."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from benchmarks import report
from benchmarks.headroom import verdict
from benchmarks.headroom.candidates import Settings, candidates
from benchmarks.headroom.compose import best_static, oracle, value
from benchmarks.headroom.search import Searched, search
from benchmarks.headroom.stage import SkippedError, Stage, rate_between, rates_of
from benchmarks.headroom.verdict import Ratio, ratio
from drapps.scenario import Drapps, Run, Scenario

FEWEST, ROUNDS, MORE_ROUNDS = 2, 3, 5
START_BEGIN = {"python": 15.0}  # seconds at which a loader has to have found its settings, by kind
_BEGIN, _STRETCH = 10.0, 30.0
Say = Callable[[str], None]


@dataclass
class Arms:
    """What is compared, with the runs of each round."""

    loaders: dict[str, Drapps]
    runs: dict[str, list[Run]] = field(default_factory=dict)

    def play(self, stage: Stage, scenario: Scenario, rounds: int, say: Say) -> None:
        """Runs each arm until it has so many runs, each round beginning with another one."""
        names = list(self.loaders)
        for number in range(len(self.runs.get(names[0], ())), rounds):
            first = number % len(names)
            for name in [*names[first:], *names[:first]]:
                run = stage.run(scenario, name, self.loaders[name], number)
                self.runs.setdefault(name, []).append(run)
            rates = (
                f"{name} {'/'.join(f'{rate:,.0f}' for rate in rates_of(self.runs[name][-1]))}"
                for name in names
            )
            say(f"  round {number + 1}: {', '.join(rates)} samples/s")


def measured(stage: Stage, scenario: Scenario, say: Say) -> dict[str, Any]:
    """The row, plain for JSON."""
    row: dict[str, Any] = {
        "scenario": scenario.name,
        "about": scenario.about,
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "commit": report.commit(),
        "machine": report.machine(),
    }
    try:
        return row | _measured(stage, scenario, say)
    except SkippedError as skipped:
        say(f"  skipped: {skipped}")
        return row | {"skipped": str(skipped)}


def _measured(stage: Stage, scenario: Scenario, say: Say) -> dict[str, Any]:
    tried = candidates(scenario)
    scores = [_searched(stage, scenario, number, tried, say) for number in range(_count(scenario))]
    static = best_static(scores)
    by_segment = oracle(scores, static)
    say(f"  best static: {static}; oracle: {'; '.join(by_segment)}")
    arms = Arms(_loaders(tried, static, by_segment))
    best = [each.best for each in scores]
    ratios = _played(arms, best, stage, scenario, say)
    return {
        "static": static,
        "oracle": by_segment,
        "ratios": {name: list(each.rounds) for name, each in ratios.items()},
        "verdict": verdict.verdict(ratios["oracle"], ratios["static"], ratios["again"]),
        "start": _start(scenario, arms),
        "segments": [
            {"name": segment.name, "begin": segment.begin, "best": each.best, "rates": each.rates}
            for segment, each in zip(scenario.segments, scores, strict=True)
        ],
        "runs": {name: [_kept(run) for run in runs] for name, runs in arms.runs.items()},
    }


def _played(
    arms: Arms, best: list[float], stage: Stage, scenario: Scenario, say: Say
) -> dict[str, Ratio]:
    """Runs the arms until more rounds would hardly change the verdict."""
    thresholds = {"oracle": verdict.CHANGING, "static": verdict.START}
    if len(scenario.segments) > 1:  # a stationary one has its start measured, in all rounds
        arms.play(stage, scenario, FEWEST, say)
        ratios = _ratios(arms, best)
        if all(ratios[name].below(threshold) for name, threshold in thresholds.items()):
            return ratios
    arms.play(stage, scenario, ROUNDS, say)
    ratios = _ratios(arms, best)
    if any(ratios[name].near(threshold) for name, threshold in thresholds.items()):
        arms.play(stage, scenario, MORE_ROUNDS, say)
        ratios = _ratios(arms, best)
    return ratios


def _count(scenario: Scenario) -> int:
    return len(scenario.segments)


def _searched(
    stage: Stage, scenario: Scenario, number: int, tried: dict[str, Settings], say: Say
) -> Searched:
    outcome = search(
        tried,
        lambda name, seconds, time: stage.searched(scenario, number, tried[name], seconds, time),
    )
    rates = ", ".join(f"{name}: {rate:,.0f}" for name, rate in outcome.rates.items())
    say(f"  segment {number} {scenario.segments[number].name}, samples/s by settings: {rates}")
    return outcome


def _loaders(tried: dict[str, Settings], static: str, by_segment: list[str]) -> dict[str, Drapps]:
    loaders = {"default": Drapps(), "static": Drapps(settings=tried[static])}
    if any(each != static for each in by_segment):
        loaders["oracle"] = Drapps(by_segment=[tried[name] for name in by_segment])
    return loaders | {"again": Drapps()}


def _ratios(arms: Arms, best: list[float]) -> dict[str, Ratio]:
    values = {
        name: [value(rates_of(run), best) for run in runs] for name, runs in arms.runs.items()
    }
    same = values["static"]  # where no other settings are better in any segment
    return {
        "oracle": ratio(values.get("oracle", same), same),
        "static": ratio(same, values["default"]),
        "again": ratio(values["again"], values["default"]),
    }


def _start(scenario: Scenario, arms: Arms) -> dict[str, Any] | None:
    """Of a stationary scenario, how soon the default is as good as the best static settings."""
    if len(scenario.segments) > 1:
        return None
    sleeps = scenario.segments[0].conditions.python.sleep > 0
    begin = START_BEGIN["python"] if sleeps else _BEGIN
    end = min(begin + _STRETCH, scenario.seconds)
    rates = {
        name: [rate_between(run, begin, end) for run in arms.runs[name]]
        for name in ("default", "static", "again")
    }
    return {
        "begin": begin,
        "ratios": list(ratio(rates["default"], rates["static"]).rounds),
        "again": list(ratio(rates["again"], rates["default"]).rounds),
    }


def _kept(run: Run) -> dict[str, Any]:
    """What of a run stays: all but the text of its scenario and its decisions."""
    whole = run.to_json()
    return {name: whole[name] for name in ("segments", "rates", "knobs")}
