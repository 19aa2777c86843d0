"""Parameters of a policy with which it does best over many simulated runs.

The first half of the evaluations draw parameters at random, the others vary the best ones by ever
less. A parameter whose range spans decades is drawn by its logarithm.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from drapps import _core
from drapps.errors import PipelineError
from drapps.policy import to_json
from drapps.simulation.cases import Case, Rates, oracle, rates_of, value

_DECADES = 100.0  # from the least to the most, from which on a range is drawn by its logarithm
_WIDE, _NARROW = 0.25, 0.03  # standard deviation of a step, of the range: first and last
_REDRAWN = 20  # times that parameters are drawn again which were tried
_DRAWN, _RESTARTS = 20, 3  # of the search for what the best known is

Parameters = Mapping[str, float]
_Values = tuple[float, ...]  # of parameters, in the order in which they are declared


@dataclass(frozen=True)
class Parameter:
    """What a policy declares: a number, and within what it may be.

    Attributes:
        name: of the parameter.
        default: where nothing is said.
        low, high: the least and the most.
        whole: whether it is a whole number.
    """

    name: str
    default: float
    low: float
    high: float
    whole: bool

    def at(self, place: float) -> float:
        """The value at a place of the range, 0 to 1."""
        place = min(1.0, max(0.0, place))
        low, high = self._ends()
        if self._by_logarithm():
            number = low * (high / low) ** place + self.low - low
        else:
            number = low + (high - low) * place
        number = min(self.high, max(self.low, number))
        return float(round(number)) if self.whole else float(f"{number:.4g}")

    def place(self, value: float) -> float:
        """Where in the range a value is, 0 to 1."""
        low, high = self._ends()
        if self._by_logarithm():
            return math.log((value - self.low + low) / low) / math.log(high / low)
        return (value - low) / (high - low)

    def _ends(self) -> tuple[float, float]:
        """The ends of the range, both more than 0 where they are taken by their logarithms."""
        if self.whole and self.low <= 0 and self.high - self.low >= _DECADES:
            return 1.0, self.high - self.low + 1
        return self.low, self.high

    def _by_logarithm(self) -> bool:
        low, high = self._ends()
        return low > 0 and high / low >= _DECADES


@dataclass(frozen=True)
class Tuned:
    """What came of a policy's parameters.

    Attributes:
        policy: its name.
        parameters: the best ones.
        score: theirs, the mean over all segments of their rate over the best one known.
        default: the score of the parameters that it has where none are named.
        evaluations: that were made.
    """

    policy: str
    parameters: Parameters
    score: float
    default: float
    evaluations: int

    def to_json(self) -> dict[str, Any]:
        """A policy, as every command takes it that takes one, with what is known of its scores."""
        return {
            "name": self.policy,
            "parameters": dict(self.parameters),
            "tuned": {
                "score": self.score,
                "default": self.default,
                "evaluations": self.evaluations,
            },
        }


def parameters_of(policy: str) -> tuple[Parameter, ...]:
    """What a policy declares.

    Raises:
        PipelineError: there is no such policy.
    """
    try:
        return tuple(Parameter(*each) for each in _core.policy_parameters(policy))
    except ValueError as error:
        raise PipelineError(str(error)) from None


def best_known(cases: Sequence[Case]) -> list[Rates]:
    """The best rate of each segment that a short search of held settings finds."""
    return [oracle(case, drawn=_DRAWN, restarts=_RESTARTS).best for case in cases]


def policy_text(policy: str, parameters: Parameters, more: Mapping[str, Any] | None = None) -> str:
    """A policy with its parameters in JSON, as the core reads it."""
    return json.dumps({"name": policy, "parameters": dict(parameters)} | dict(more or {}))


def tune(
    policy: str,
    cases: Sequence[Case],
    budget: int,
    *,
    seed: int = 1,
    best: Sequence[Rates] | None = None,
    more: Callable[[Case], Mapping[str, Any]] | None = None,
    progress: Callable[[int], None] | None = None,
) -> Tuned:
    """Searches the parameters of a policy.

    Args:
        policy: its name.
        cases: that it is simulated in.
        budget: how many parameters are tried, those that it has anyway among them.
        seed: of what is drawn. The same seed gives the same parameters.
        best: the best known rates of the segments of each case; `best_known` where absent.
        more: what the policy's mapping has beside name and parameters, by case.
        progress: is told how many were tried.

    Raises:
        PipelineError: there is no such policy, it has no parameters, or there are no cases.
    """
    declared = parameters_of(policy)
    if not declared:
        raise PipelineError(f"policy {policy!r} has no parameters: there is nothing to tune")
    if not cases:
        raise PipelineError("there is no simulated run to tune a policy in")
    to_json(policy)
    known = list(best_known(cases) if best is None else best)

    def rates(parameters: Parameters) -> list[Rates]:
        return [
            rates_of(case.run(policy_text(policy, parameters, more(case) if more else None)))
            for case in cases
        ]

    return tuned(policy, declared, rates, known, budget, seed=seed, progress=progress)


def tuned(
    policy: str,
    declared: Sequence[Parameter],
    rates: Callable[[Parameters], list[Rates]],
    best: Sequence[Rates],
    budget: int,
    *,
    seed: int = 1,
    progress: Callable[[int], None] | None = None,
) -> Tuned:
    """The search itself, whatever gives the rates; arguments as of `tune`.

    Scores compare with the best rates known, those found on the way among them.
    """
    draws = random.Random(f"{seed} {policy}")
    known = list(best)
    tried: dict[_Values, list[Rates]] = {}
    scores: dict[_Values, float] = {}
    begin = tuple(each.default for each in declared)
    for number in range(budget):
        key = begin if number == 0 else _next(declared, scores, draws, number / budget)
        if key is None:
            break
        tried[key] = rates(_named(declared, key))
        before = known
        known = [tuple(map(max, now, most)) for now, most in zip(tried[key], known, strict=True)]
        stale = [key] if known == before else tried
        scores |= {each: fmean(map(value, tried[each], known)) for each in stale}
        if progress is not None:
            progress(number + 1)
    most = max(scores, key=scores.__getitem__)
    return Tuned(policy, _named(declared, most), scores[most], scores[begin], len(tried))


def _next(
    declared: Sequence[Parameter],
    scores: Mapping[_Values, float],
    draws: random.Random,
    passed: float,
) -> _Values | None:
    """Parameters that were not tried yet; None where none are found."""
    best = max(scores, key=scores.__getitem__)
    width = _WIDE + (_NARROW - _WIDE) * max(0.0, 2 * passed - 1)
    for _ in range(_REDRAWN):
        if passed < 1 / 2:
            places = [draws.random() for _ in declared]
        else:
            always = draws.randrange(len(declared))
            places = [
                each.place(now)
                + (draws.gauss(0, width) if at == always or draws.random() < 1 / 3 else 0.0)
                for at, (each, now) in enumerate(zip(declared, best, strict=True))
            ]
        key = tuple(each.at(place) for each, place in zip(declared, places, strict=True))
        if key not in scores:
            return key
    return None


def _named(declared: Sequence[Parameter], values: _Values) -> dict[str, float]:
    return {each.name: value for each, value in zip(declared, values, strict=True)}
