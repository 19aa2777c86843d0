"""What differences between policies are worth, where the seeds of a training are what is drawn.

Runs are averaged within a seed first: machines are the same for all, seeds are not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

import numpy as np
from scipy import stats

_RESAMPLED = 9999
_SEED = 1

#: Of a policy, by seed and scenario: its mean value.
Table = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True)
class Compared:
    """One policy less another.

    Attributes:
        seeds: that both have; of a policy without seeds those of the other.
        mean: of the differences.
        deviation: their standard deviation.
        low, high: the bootstrap interval of the mean at 95 %; both the mean where it cannot be had.
        p: of a paired t-test, two-sided; None where there are fewer than two seeds or no spread.
    """

    seeds: int
    mean: float
    deviation: float
    low: float
    high: float
    p: float | None


def compared(own: Sequence[float], other: Sequence[float]) -> Compared:
    """By seed, in the same order; a policy without seeds has one number, which counts for each."""
    others = list(other) * len(own) if len(other) == 1 else list(other)
    gains = [mine - theirs for mine, theirs in zip(own, others, strict=True)]
    mean = fmean(gains)
    if len(gains) < 2:
        return Compared(len(gains), mean, 0.0, mean, mean, None)
    spread = stdev(gains)
    if spread == 0:
        return Compared(len(gains), mean, 0.0, mean, mean, None)
    bootstrap = stats.bootstrap(
        (np.array(gains),),
        np.mean,
        n_resamples=_RESAMPLED,
        method="percentile",
        random_state=np.random.default_rng(_SEED),
    )
    interval = bootstrap.confidence_interval
    p = float(stats.ttest_rel(own, others).pvalue)
    return Compared(len(gains), mean, spread, float(interval.low), float(interval.high), p)


def holm(ps: Mapping[str, float | None]) -> dict[str, float | None]:
    """Adjusted so that of all together no more than one in twenty errs (S. Holm, 1979)."""
    known = sorted((p, name) for name, p in ps.items() if p is not None)
    adjusted: dict[str, float | None] = dict.fromkeys(ps)
    least = 0.0
    for rank, (p, name) in enumerate(known):
        least = max(least, min(1.0, p * (len(known) - rank)))
        adjusted[name] = least
    return adjusted


@dataclass(frozen=True)
class Effect:
    """A row of an analysis of variance."""

    name: str
    freedom: int
    share: float  # of the sum of squares
    f: float
    p: float


def variance(policies: Mapping[str, Table]) -> list[Effect]:
    """Two ways, policy and scenario, balanced, with the seeds as what is repeated.

    Args:
        policies: by name; all with as many seeds, two at least, and the same scenarios. What is
            repeated is a seed's number, so that more of one policy are left out.
    """
    seeds = min(len(table) for table in policies.values())
    scenarios = list(next(iter(next(iter(policies.values())).values())))
    cells = np.array(
        [
            [[table[seed][name] for seed in list(table)[:seeds]] for name in scenarios]
            for table in policies.values()
        ]
    )
    count, many, repeats = cells.shape
    whole = cells.mean()
    by_policy, by_scenario = cells.mean(axis=(1, 2)), cells.mean(axis=(0, 2))
    by_cell = cells.mean(axis=2)
    both = by_cell - by_policy[:, None] - by_scenario[None, :] + whole
    squares = {
        "policy": many * repeats * float(((by_policy - whole) ** 2).sum()),
        "scenario": count * repeats * float(((by_scenario - whole) ** 2).sum()),
        "policy by scenario": repeats * float((both**2).sum()),
    }
    left = float(((cells - by_cell[:, :, None]) ** 2).sum())
    freedom = {
        "policy": count - 1,
        "scenario": many - 1,
        "policy by scenario": (count - 1) * (many - 1),
    }
    of_error = count * many * (repeats - 1)
    total = sum(squares.values()) + left
    effects = []
    for name, square in squares.items():
        f = (
            square / freedom[name] / (left / of_error)
            if left > 0 and of_error > 0
            else float("nan")
        )
        p = float(stats.f.sf(f, freedom[name], of_error))
        effects.append(Effect(name, freedom[name], square / total if total > 0 else 0.0, f, p))
    effects.append(
        Effect("seed", of_error, left / total if total > 0 else 0.0, float("nan"), float("nan"))
    )
    return effects
