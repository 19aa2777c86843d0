"""Averages over past steps."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any


class PairAverage:
    """The exponential averages of two numbers that belong together, and of their squares.

    Each is corrected for its beginning, as Adam's moments are: after one number it is that number.
    """

    def __init__(self, decay: float) -> None:
        self.decay = decay
        self.count = 0
        self._sums = [0.0] * 5  # a, b, a², b², ab

    def add(self, a: float, b: float) -> None:
        """Takes two numbers in."""
        for place, value in enumerate((a, b, a * a, b * b, a * b)):
            self._sums[place] += (1 - self.decay) * (value - self._sums[place])
        self.count += 1

    def _mean(self, place: int) -> float:
        return self._sums[place] / (1 - self.decay**self.count) if self.count else math.nan

    @property
    def means(self) -> tuple[float, float]:
        """Of both; NaN before the first."""
        return self._mean(0), self._mean(1)

    @property
    def weight(self) -> float:
        """Numbers that are as good as the averaged ones, were they weighted alike."""
        power = self.decay**self.count
        return (1 + self.decay) / (1 - self.decay) * (1 - power) / (1 + power)

    def ratio_error(self) -> float:
        """The standard error of mean a ÷ mean b, by the first order of its expansion."""
        a, b = self.means
        if self.count < 2 or b == 0:
            return math.inf
        ratio = a / b
        spread = (self._mean(2) - a * a + ratio**2 * (self._mean(3) - b * b)) - 2 * ratio * (
            self._mean(4) - a * b
        )
        return math.sqrt(max(0.0, spread) / max(1.0, self.weight - 1)) / abs(b)

    def state_dict(self) -> dict[str, Any]:
        """All that it is."""
        return {"decay": self.decay, "count": self.count, "sums": list(self._sums)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """As one was."""
        self.decay, self.count, self._sums = state["decay"], state["count"], list(state["sums"])
