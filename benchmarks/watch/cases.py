"""Draws cases by a seed: a training each, with one or two causes of known cost.

A cause of a stall costs 5 to 50 % of the step, log-uniform. A quarter of the cases at least are
not data-bound, and some of these wait for 1 to 4 % of it.
"""

from __future__ import annotations

import math
import random
from dataclasses import asdict, dataclass, field
from typing import Any

STEP_S = 0.04
BATCH = 8

# Which verdicts are right, by cause. They are frozen: a rule is mended, never this table.
ACCEPTED = {
    "slow_read": {"storage"},
    "slow_decode": {"decode"},
    "slow_op": {"transform"},
    "python_transform": {"transform"},
    "collate": {"collate"},
    "straggler": {"stragglers"},
    "prefetch": {"prefetch"},
    "few_workers": {"few-workers"},
    "no_workers": {"no-workers"},
    "many_workers": {"many-workers"},
    "memory": {"memory"},
    "quota": {"quota"},
    "foreign_load": {"foreign-load"},
    "slow_rank_data": {"storage"},
    "slow_rank": {"slow-rank"},
    "consumer": {"step"},
    "small_wait": {"step", "accelerator"},
    "accelerator": {"accelerator"},
    "validation": {"pauses"},
    "logging": {"pauses"},
    # Of the threads of tf.data it is known whether they read or compute.
    "tf_read": {"storage"},
    "tf_cpu": {"dataset", "decode", "transform"},
    "tf_wait": {"step", "accelerator"},
}
STAGES = ("slow_read", "slow_decode", "slow_op", "python_transform", "collate")
STALLS = (
    *STAGES,
    "straggler",
    "prefetch",
    "few_workers",
    "no_workers",
    "many_workers",
    "slow_rank_data",
    "tf_read",
    "tf_cpu",
)
MACHINE = ("quota", "memory", "foreign_load")
SMALL = ("small_wait", "tf_wait")
NOT_BOUND = ("consumer", *SMALL, "accelerator", "validation", "logging", "slow_rank")


@dataclass(frozen=True)
class Case:
    """A training.

    Attributes:
        number: in its draw.
        causes: one, or two of which the one counts whose removal gains most.
        loader: ``stock``, ``drapps`` or ``tensorflow``.
        cost: of each cause, the share of the step that it is to take.
        seed: of what is random in it.
    """

    number: int
    causes: tuple[str, ...]
    loader: str
    cost: tuple[float, ...]
    seed: int
    more: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """For tables."""
        costs = "+".join(f"{cost:.0%}" for cost in self.cost)
        return f"{self.number:02} {'+'.join(self.causes)} {costs} {self.loader}"

    def without(self, cause: str) -> Case:
        """The same with one of its causes removed."""
        kept = [each for each in zip(self.causes, self.cost, strict=True) if each[0] != cause]
        causes, cost = zip(*kept, strict=True)
        return Case(self.number, causes, self.loader, cost, self.seed, self.more)

    def described(self) -> dict[str, Any]:
        """For the child, which makes it so."""
        return asdict(self) | {"step_s": STEP_S, "batch": BATCH}


def draw(seed: int, count: int) -> list[Case]:
    """So many cases, in an order that is drawn, too."""
    chance = random.Random(seed)
    quiet = max(1, math.ceil(count / 4))
    pairs = count // 10
    kinds = _each(chance, NOT_BOUND, quiet)
    kinds += _each(chance, (*STALLS, *MACHINE), count - quiet - pairs)
    causes = [(kind,) for kind in kinds]
    causes += [tuple(chance.sample(STAGES, 2)) for _ in range(pairs)]  # type: ignore[misc]
    chance.shuffle(causes)
    cases = []
    for number, each in enumerate(causes):
        cost = tuple(_cost(chance, kind) for kind in each)
        possible = all(kind in STAGES for kind in each)
        loader = "drapps" if possible and chance.random() < 0.4 else "stock"
        loader = "tensorflow" if each[0].startswith("tf_") else loader
        cases.append(Case(number, each, loader, cost, chance.randrange(2**31)))
    return cases


def _each(chance: random.Random, kinds: tuple[str, ...], count: int) -> list[str]:
    """So many of some kinds, as evenly as can be."""
    draws: list[str] = []
    while len(draws) < count:
        draws += chance.sample(kinds, len(kinds))
    return draws[:count]


def _cost(chance: random.Random, kind: str) -> float:
    if kind in SMALL:
        return chance.uniform(0.01, 0.04)
    low, high = (0.12, 0.5) if kind in NOT_BOUND else (0.06, 0.5)
    if kind == "many_workers":
        high = 0.4  # so that no step waits where there are as many workers as cores
    return math.exp(chance.uniform(math.log(low), math.log(high)))
