"""Whether there is something to gain, beyond what two runs of the same settings differ by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

CHANGING, START = 1.10, 1.25  # oracle over static, static over default
NEAR = 0.05  # of a threshold, at which more rounds are run
LEAST_START = 0.95  # default over static, in a stationary scenario


@dataclass(frozen=True)
class Ratio:
    """A ratio in each round."""

    rounds: tuple[float, ...]

    @property
    def median(self) -> float:
        """Over the rounds."""
        return median(self.rounds)

    def reaches(self, threshold: float, noise: float) -> bool:
        """Whether it does, and lies beyond the noise in every round."""
        return self.median >= threshold and min(self.rounds) > 1 + noise

    def below(self, threshold: float) -> bool:
        """Whether it is, and not near, in every round: so is the median if one more joins two."""
        return max(self.rounds) < threshold - NEAR

    def near(self, threshold: float) -> bool:
        """Whether more rounds might decide otherwise."""
        return abs(self.median - threshold) <= NEAR


def ratio(over: Sequence[float], under: Sequence[float]) -> Ratio:
    """Of the values of two arms in the same rounds."""
    return Ratio(tuple(a / b for a, b in zip(over, under, strict=True)))


def noise_of(again: Ratio) -> float:
    """The most that a second run of the default differed by."""
    return max(abs(each - 1) for each in again.rounds)


def verdict(oracle: Ratio, static: Ratio, again: Ratio) -> str:
    """``changing``, ``start-up``, both, or ``none``.

    Args:
        oracle: over the best static settings.
        static: these over the default.
        again: a second default over the first.
    """
    noise = noise_of(again)
    kinds = []
    if oracle.reaches(CHANGING, noise):
        kinds.append("changing")
    if static.reaches(START, noise):
        kinds.append("start-up")
    return " and ".join(kinds) or "none"
