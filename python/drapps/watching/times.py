"""How times are spread, in buckets of a factor of 2^(1/4), and over a run."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

_PER_OCTAVE = 4
_MOST_BINS = 480


class Spread:
    """Count, sum and the spread of some seconds."""

    def __init__(self) -> None:
        self.count, self.sum, self.most = 0, 0.0, 0.0
        self._buckets: dict[int, list[float]] = {}  # count and sum

    def add(self, seconds: float) -> None:
        """Adds a time."""
        self.count += 1
        self.sum += seconds
        self.most = max(self.most, seconds)
        number = math.floor(math.log2(max(seconds, 1e-7)) * _PER_OCTAVE)
        bucket = self._buckets.get(number)
        if bucket is None:
            self._buckets[number] = [1, seconds]
        else:
            bucket[0] += 1
            bucket[1] += seconds

    def facts(self) -> dict[str, Any]:
        """JSON-able; buckets by rising time, ``[number, count, sum]`` each."""
        buckets = [[number, *both] for number, both in sorted(self._buckets.copy().items())]
        return {"count": self.count, "sum": self.sum, "most": self.most, "buckets": buckets}

    @classmethod
    def of(cls, *facts: Mapping[str, Any]) -> Spread:
        """One spread of several together."""
        spread = cls()
        for each in facts:
            spread.count += each["count"]
            spread.sum += each["sum"]
            spread.most = max(spread.most, each["most"])
            for number, count, total in each["buckets"]:
                bucket = spread._buckets.setdefault(int(number), [0, 0.0])
                bucket[0] += count
                bucket[1] += total
        return spread

    @property
    def mean(self) -> float:
        """The mean in seconds; 0 where there were none."""
        return self.sum / self.count if self.count else 0.0

    def quantile(self, share: float) -> float:
        """The mean of the bucket in which the quantile lies; 0 where there were none."""
        left = share * self.count
        for _, (count, total) in sorted(self._buckets.items()):
            left -= count
            if left <= 0:
                return total / count
        return 0.0

    def above(self, seconds: float) -> tuple[int, float]:
        """How many were longer than that, by whole buckets, and their sum."""
        far = [both for both in self._buckets.values() if both[1] / both[0] > seconds]
        return int(sum(both[0] for both in far)), sum(both[1] for both in far)


class Timeline:
    """Steps and exposed waits over the time of a run, in at most some hundred bins."""

    def __init__(self, begun: float) -> None:
        self._begun, self.width = begun, 1.0
        self._bins: list[list[float]] = []

    def add(self, at: float, step_s: float, exposed_s: float) -> None:
        """A step that ended."""
        number = max(0, int((at - self._begun) / self.width))
        while number >= _MOST_BINS:
            later = [*self._bins[1::2], [0, 0.0, 0.0]]
            self._bins = [
                [a + b for a, b in zip(*pair, strict=True)]
                for pair in zip(self._bins[::2], later, strict=False)
            ]
            self.width *= 2
            number //= 2
        while len(self._bins) <= number:
            self._bins.append([0, 0.0, 0.0])
        bucket = self._bins[number]
        bucket[0] += 1
        bucket[1] += step_s
        bucket[2] += exposed_s

    def facts(self) -> dict[str, Any]:
        """JSON-able: by bin, steps, their seconds and their exposed waits."""
        return {"width_s": self.width, "bins": [list(each) for each in list(self._bins)]}
