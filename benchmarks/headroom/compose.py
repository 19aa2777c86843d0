"""From what was found in each segment to settings of a scenario; what a run is worth."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean

from benchmarks.headroom.search import Searched

WORTH_MOVING = 1.03  # what another setting has to gain in a segment, or noise would choose it


def best_static(segments: Sequence[Searched]) -> str:
    """The candidate with the greatest value over all segments."""
    return max(
        segments[0].rates, key=lambda name: mean(each.rates[name] / each.best for each in segments)
    )


def oracle(segments: Sequence[Searched], static: str) -> list[str]:
    """Each segment's best candidate; the static one where another gains hardly anything."""
    return [
        static if each.best < WORTH_MOVING * each.rates[static] else each.finalists[0]
        for each in segments
    ]


def value(rates: Sequence[float], best: Sequence[float]) -> float:
    """The mean over segments of a run's rate over the best one, transitions included."""
    return mean(rate / most for rate, most in zip(rates, best, strict=True))
