"""The gate that a learned policy has to pass before anybody is given it.

It is measured on validation machines, which no training and no choice among seeds has seen: some as
those of the training, others with slower accelerators and storage that is farther away. Every seed
is compared with settings that were searched for the machine's beginning and stay ("tuned static"),
with what a loader does by itself, and with the heuristics as they are.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from drapps import _core
from drapps.errors import PipelineError
from drapps.policy import DEFAULTS, PUBLISHED, to_json
from drapps.simulation.cases import Rates, rates_of, value

HEURISTICS = ("initial", "hill_climb", "rule", "aimd", "model")
#: Ways to learn, as policies are named.
LEARNED = ("ppo", "sac", "cql", "bcq", "awac", "cloning", "residual", *PUBLISHED)
SEEDS = 5  # that a gate asks for
#: Machines of each of `SETS` and each draw, and draws: they tell a share of 3 % from one of 5 %.
CASES = 300
DRAWS = (1, 2, 3)
_GAP = 1.1  # oracle over tuned static, from which on no static settings will do

NOTHING_SPECIAL: Mapping[str, float] = {}
FARTHER: Mapping[str, float] = {"slower_gpu": 2.5, "later_reads": 3.0}
_WITHIN, _WITHOUT = "as in training", "farther away"
SETS = {_WITHIN: NOTHING_SPECIAL, _WITHOUT: FARTHER}

STATIC, DEFAULT, ORACLE = "tuned static", "default", "oracle"
Values = dict[str, list[float]]  # of each case, by arm


@dataclass(frozen=True)
class ValidationCase:
    """A machine that no training has seen, and what happens to it.

    Attributes:
        scenario: as the core takes it.
        best: the settings found for each segment.
        rates: samples/s with these in a steady plant.
        default: the policy of a loader that is told none.
    """

    scenario: str
    best: tuple[Mapping[str, int], ...]
    rates: Rates
    default: str

    @property
    def changes(self) -> bool:
        """Whether something happens."""
        return len(self.best) > 1


def cases_of(count: int, seed: int, shift: Mapping[str, float]) -> list[ValidationCase]:
    """Validation machines.

    Args:
        count: of them.
        seed: from which they are drawn.
        shift: how they differ from those of trainings: a value of `SETS`.
    """
    cases = []
    for episode in json.loads(_core.validation_episodes(count, seed, **shift)):
        segments = episode["segments"]
        scenario = {
            "seconds": episode["seconds"],
            "seed": episode["seed"],
            "segments": [
                {key: each[key] for key in ("begin", "name", "world")} for each in segments
            ],
        }
        cases.append(
            ValidationCase(
                json.dumps(scenario),
                tuple(each["best"] for each in segments),
                tuple(each["rate"] for each in segments),
                str(DEFAULTS["processes" if episode["processes"] else "threads"]),
            )
        )
    return cases


def learned_text(weights: str, name: str = "ppo") -> str:
    """A learned policy in JSON, as the core reads it."""
    return json.dumps({"name": name, "weights": weights})


def rates_begun(case: ValidationCase, policy: str, knobs: Mapping[str, int] | None = None) -> Rates:
    """The rate of each segment under a policy in JSON, begun with a loader's settings or others."""
    outcome = json.loads(_core.simulate(case.scenario, policy, json.dumps(dict(knobs or {}))))
    return rates_of(outcome["segments"])


def rates_held(case: ValidationCase, settings: Sequence[Mapping[str, int]] = ()) -> Rates:
    """The rate of each segment with settings of each, or with those that were found to be best."""
    held = json.dumps([dict(each) for each in settings or case.best])
    return rates_of(json.loads(_core.simulate(case.scenario, "", held))["segments"])


def seeds_of(policy: Mapping[str, Any]) -> dict[int, str]:
    """The weights of each seed that the card of a policy file has.

    Raises:
        PipelineError: it is no learned policy, or its weights are none.
    """
    if policy.get("name") not in LEARNED:
        raise PipelineError(
            f"only a learned policy has a gate: its name is one of {', '.join(LEARNED)}"
        )
    card = policy.get("card")
    listed = card.get("seeds") if isinstance(card, dict) else None
    seeds = {0: policy.get("weights", "")}
    if listed:
        try:
            seeds = {int(each["seed"]): str(each["weights"]) for each in listed}
        except (KeyError, TypeError, ValueError):
            raise PipelineError("the card of this policy does not list its seeds") from None
    for weights in seeds.values():
        to_json({"name": policy["name"], "weights": weights})
    return seeds


def measured(
    cases: Sequence[ValidationCase],
    seeds: Mapping[int, str],
    progress: Callable[[], None] | None = None,
    name: str = "ppo",
) -> Values:
    """The value of every arm in every case: the mean over segments of its rate over the best known.

    Learned arms are ``seed N``, begun as a loader begins, and ``seed N, warm``, from the tuned
    static settings. As many cases run at once as there are cores.
    """
    policies = {seed: learned_text(weights, name) for seed, weights in seeds.items()}
    values: Values = {}
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for arms in pool.map(lambda case: _values_in(case, policies), cases):
            for arm, own in arms.items():
                values.setdefault(arm, []).append(own)
            if progress:
                progress()
    return values


def _values_in(case: ValidationCase, policies: Mapping[int, str]) -> dict[str, float]:
    static = case.best[0]
    rates = {
        STATIC: rates_held(case, [static] * len(case.best)),
        ORACLE: rates_held(case),
        DEFAULT: rates_begun(case, json.dumps(case.default)),
    }
    for other in HEURISTICS:
        rates[other] = rates_begun(case, json.dumps(other))
    for seed, text in policies.items():
        rates[f"seed {seed}"] = rates_begun(case, text)
        rates[f"seed {seed}, warm"] = rates_begun(case, text, static)
    best = tuple(map(max, *rates.values()))
    return {arm: value(own, best) for arm, own in rates.items()}


def quantile(numbers: Sequence[float], share: float) -> float:
    """The number below which this share of all lies."""
    ordered = sorted(numbers)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def _compared(values: Values, arm: str, other: str) -> dict[str, float]:
    gains = [own - theirs for own, theirs in zip(values[arm], values[other], strict=True)]
    return {
        "mean": fmean(gains),
        "p5": quantile(gains, 0.05),
        "worst": min(gains),
        "worse_by_3": sum(gain < -0.03 for gain in gains) / len(gains),
    }


def verdict(
    measurements: Mapping[str, tuple[Sequence[ValidationCase], Values]], seeds: Sequence[int]
) -> dict[str, Any]:
    """What a gate says: whether it is passed, why not, and what was measured.

    Args:
        measurements: cases and values of each of `SETS`.
        seeds: of the learned arms.
    """
    failed: list[str] = []
    sets: dict[str, Any] = {}

    def ask(true: bool, reason: str) -> None:
        if not true:
            failed.append(reason)

    ask(len(seeds) >= SEEDS, f"{len(seeds)} seeds, and {SEEDS} are asked for")
    for name, (cases, values) in measurements.items():
        pairs = list(zip(values[ORACLE], values[STATIC], strict=True))
        gap = [number for number, (most, held) in enumerate(pairs) if most >= _GAP * held]
        steady = [number for number, case in enumerate(cases) if not case.changes]
        tails = {_WITHIN: -0.05, _WITHOUT: -0.10}[name]
        arms: dict[str, Any] = {}
        for seed in seeds:
            warm = f"seed {seed}, warm"
            static = _compared(values, warm, STATIC)
            begun = _compared(values, f"seed {seed}", DEFAULT)
            gains = [own - held for own, held in zip(values[warm], values[STATIC], strict=True)]
            static["mean_where_gap"] = fmean([gains[at] for at in gap]) if gap else 0.0
            static["mean_where_steady"] = fmean([gains[at] for at in steady]) if steady else 0.0
            arms[str(seed)] = {"against_static": static, "against_default": begun}
            who = f"seed {seed}, {name}"
            ask(static["mean"] >= 0, f"{who}: {static['mean']:+.3f} against tuned static")
            ask(static["p5"] >= tails, f"{who}: 5 % of the runs lose {-static['p5']:.3f} or more")
            ask(
                static["mean_where_steady"] >= -0.02,
                f"{who}: {static['mean_where_steady']:+.3f} where nothing happens",
            )
            ask(begun["mean"] >= 0, f"{who}: {begun['mean']:+.3f} against the default")
            if name == _WITHIN:
                share = static["worse_by_3"]
                ask(
                    share <= 0.03, f"{who}: {share:.0%} of the runs are worse by more than 3 points"
                )
                more = static["mean_where_gap"]
                ask(more >= 0.04, f"{who}: {more:+.3f} where no static settings will do")
        sets[name] = {
            "runs": len(cases),
            "means": {arm: round(fmean(each), 4) for arm, each in values.items()},
            "seeds": arms,
        }
    return {"passed": not failed, "failed": failed, "sets": sets}


def check(
    policy: Mapping[str, Any],
    *,
    cases: int = CASES,
    draws: Sequence[int] = DRAWS,
    progress: Callable[[int, int], None] | None = None,
) -> dict[str, Any]:
    """Measures a policy file, and gives the verdict of `verdict` over all draws together.

    Args:
        policy: all that stands in the file, its card too.
        cases: validation machines of each of `SETS` and of each draw.
        draws: seeds from which they are drawn; 0 are those by which a seed is chosen.
        progress: is told how many of all were run.

    Returns:
        The verdict, from what machines were drawn, and the SHA-256 of each seed's weights.

    Raises:
        PipelineError: it is no learned policy.
    """
    seeds = seeds_of(policy)
    done = 0

    def one_more() -> None:
        nonlocal done
        done += 1
        if progress:
            progress(done, cases * len(draws) * len(SETS))

    measurements = {}
    for name, shift in SETS.items():
        where = [case for draw in draws for case in cases_of(cases, draw, shift)]
        measurements[name] = (where, measured(where, seeds, one_more, str(policy["name"])))
    return verdict(measurements, list(seeds)) | {
        "drawn_from": list(draws),
        "weights": {str(seed): hash_of(weights) for seed, weights in seeds.items()},
    }


def hash_of(weights: str) -> str:
    """The SHA-256 of weights in base64, in hexadecimal digits."""
    return hashlib.sha256(base64.b64decode(weights)).hexdigest()
