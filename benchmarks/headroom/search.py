"""The best settings of a segment, by successive halving.

Jamieson and Talwalkar, Non-stochastic best arm identification and hyperparameter optimization,
AISTATS 2016.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

SHORT, LONG = 6.0, 15.0  # seconds of a run
KEPT = (4, 2)  # how many go on after each round

Measured = Callable[[str, float, int], float]  # a candidate, seconds, which time; → samples/s


@dataclass(frozen=True)
class Searched:
    """What candidates reached in a segment.

    Attributes:
        rates: samples/s by candidate, over all its runs.
        finalists: those that were run longest, the best first.
    """

    rates: dict[str, float]
    finalists: tuple[str, ...]

    @property
    def best(self) -> float:
        """Samples/s of the best one."""
        return self.rates[self.finalists[0]]


def search(names: Collection[str], measured: Measured) -> Searched:
    """Runs each candidate shortly, the best `KEPT` again, and the best of those for longer."""
    runs: dict[str, list[tuple[float, float]]] = {name: [] for name in names}
    left = list(names)
    for number, kept in enumerate((*KEPT, 0)):
        seconds = SHORT if kept else LONG
        for name in left:
            runs[name].append((seconds, measured(name, seconds, number)))
        left.sort(key=lambda name: _rate(runs[name]), reverse=True)
        left = left[: kept or None]
    return Searched({name: _rate(pairs) for name, pairs in runs.items()}, tuple(left))


def _rate(runs: list[tuple[float, float]]) -> float:
    return sum(seconds * rate for seconds, rate in runs) / sum(seconds for seconds, _ in runs)
