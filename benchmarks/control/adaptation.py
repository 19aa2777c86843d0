"""What it gains to fit a learned policy to one machine: simulator only, refitted, online.

    python -m benchmarks.control --adaptation [--cases N] [--decisions N] [--seeds N] [--hours H]

On each validation machine what happens there happens over and over, for hours. "simulator only"
runs the weights of a usual training; "judged" has a judge beside; "online" goes on learning from
what it sees, and is judged, too; "refitted" are weights of a training that was given recorded runs
of this machine under `explore`. What counts is the last time, from the settings that stand then.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import fmean
from typing import Any

from benchmarks import report
from benchmarks.control.ablations import VALIDATION, mean_and_spread
from benchmarks.control.explored import record
from drapps import _core
from drapps.errors import PipelineError
from drapps.simulation import gate, learning
from drapps.simulation.calibration.recorded import refitted
from drapps.simulation.cases import Rates, rates_of, value

_NAME = "control-adaptation"
_RUNS = 4  # of a machine, from which a training is refitted
#: By arm, what its policy has beside its weights.
RUN: Mapping[str, Mapping[str, bool]] = {
    "simulator only": {},
    "judged": {"judge": True},
    "online": {"learn": True},
}
_REFITTED = "refitted"


def main(words: Sequence[str] | None = None) -> int:
    """Trains and runs all arms, and prints the report; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.control --adaptation", description=__doc__
    )
    parser.add_argument("--cases", type=int, default=8, help="machines of each of two kinds")
    parser.add_argument("--decisions", type=int, default=2_000_000, help="of each training")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--hours", type=float, default=2.0, help="simulated, of each run")
    parser.add_argument("--keep", action="store_true", help="put it into benchmarks/results/")
    options = parser.parse_args(words)
    content = _content(options)
    report.show(_NAME, content, page(content), options.keep)
    return 0


def _content(options: argparse.Namespace) -> dict[str, Any]:
    seeds = range(1, options.seeds + 1)
    training = {"decisions": options.decisions}
    usual = [each.weights for each in learning.train(training, seeds)]

    def rows_on(case: gate.ValidationCase) -> list[dict[str, Any]]:
        """Of each seed, what every arm comes to on one machine."""
        began = time.monotonic()
        world = world_of(case)
        own = [each.weights for each in learning.train(training | world, seeds)] if world else usual
        rows = []
        for plain, refit in zip(usual, own, strict=True):
            row: dict[str, Any] = {"fits": bool(world)}
            for arm, more in RUN.items():
                row[arm], learnt = last_time(case, plain, more, options.hours)
                if learnt:
                    row["updates"], row["core share"] = learnt["updates"], learnt["core_share"]
            row[_REFITTED], _ = last_time(case, refit, {}, options.hours)
            rows.append(row)
        print(f"a machine: {time.monotonic() - began:.0f} s", flush=True)
        return rows

    sets = {}
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for name, shift in gate.SETS.items():
            cases = gate.cases_of(options.cases, VALIDATION, shift)
            sets[name] = list(pool.map(rows_on, cases))
    return {
        **report.stamp(),
        "decisions": options.decisions,
        "hours": options.hours,
        "runs": _RUNS,
        "sets": sets,
    }


def world_of(case: gate.ValidationCase) -> dict[str, Any]:
    """Options of a training on machines like this one, as recorded runs have it.

    They are empty where the training never waits in these runs, from which nothing can be fitted,
    and where they are of worker processes, which the policy leaves to `trials`.
    """
    with tempfile.TemporaryDirectory() as folder:
        runs = [record(case, number, Path(folder), {}) for number in range(_RUNS)]
        try:
            refit = refitted(runs)
        except PipelineError:
            return {}
    return {} if "python" in refit.world else {"world": refit.world, "spread": refit.spread}


def last_time(
    case: gate.ValidationCase, weights: str, more: Mapping[str, bool], hours: float
) -> tuple[float, Mapping[str, Any] | None]:
    """The value of the last of the times that a machine's scenario goes by, and what was learnt."""
    scenario = json.loads(case.scenario)
    segments, seconds = scenario["segments"], scenario["seconds"]
    times = max(1, round(hours * 3600 / seconds))
    scenario["seconds"] = seconds * times
    scenario["segments"] = [
        {**each, "begin": each["begin"] + at * seconds} for at in range(times) for each in segments
    ]
    policy = {"name": "ppo", "weights": weights, **more}
    outcome = json.loads(_core.simulate(json.dumps(scenario), json.dumps(policy), "{}"))
    rates: Rates = rates_of(outcome["segments"][-len(segments) :])
    return value(rates, case.rates), outcome.get("learning")


def page(content: Mapping[str, Any]) -> str:
    """The report as Markdown."""
    return "".join(_page(content))


def _page(content: Mapping[str, Any]) -> Iterator[str]:
    sets: Mapping[str, Sequence[Sequence[Mapping[str, Any]]]] = content["sets"]
    some = next(iter(sets.values()))
    yield "# Learned policies fitted to one machine\n\n"
    yield (
        f"PPO, {content['decisions']:,} decisions, {len(some[0])} seeds, on {len(some)} validation "
        f"machines of each set: what happens there happens over and over for {content['hours']:g} "
        "simulated hours, and the last time counts. Rates over the best of each segment, mean ± "
        "standard deviation over seeds; refitted trainings were given "
        f"{content['runs']} recorded runs of the machine.\n\n"
    )
    yield f"| | {' | '.join(sets)} |\n|---{'|---' * len(sets)}|\n"
    for arm in [*RUN, _REFITTED]:
        cells = [_cell(arm, machines) for machines in sets.values()]
        yield f"| {arm} | {' | '.join(cells)} |\n"
    rows = [row for machines in sets.values() for rows in machines for row in rows]
    yield (
        f"\nOnline: {fmean(row['updates'] for row in rows):.0f} updates in the mean, at most "
        f"{max(row['core share'] for row in rows):.2%} of a core. "
        f"{sum(not row['fits'] for row in rows) // len(some[0])} machines keep the usual weights: "
        "the training never waits in their recorded runs, or worker processes make their samples.\n"
    )
    machine = content["machine"]
    yield (
        f"\n{content['date'][:10]}, commit {content['commit'][:12]}, {machine['cpu']}, "
        f"{machine['cores']} cores.\n"
    )


def _cell(arm: str, machines: Sequence[Sequence[Mapping[str, Any]]]) -> str:
    """Of an arm, over seeds, the means over machines."""
    seeds = range(len(machines[0]))
    return mean_and_spread([fmean(rows[seed][arm] for rows in machines) for seed in seeds])
