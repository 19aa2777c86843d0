"""Which activations to keep: dynamic programming over the chain.

A label is a placement of the first elements. Of two labels that end alike (with activations kept or
not, after as many segments) the one that keeps more bytes and is no better in what is minimised can
be left out, because all that follows depends on the bytes alone. What remains is exact. For chains
of more than `EXACT` elements, labels whose bytes differ by less than a part of what the plain step
keeps are compared as if they kept equally many, so that the work stays bounded: there are
`COARSEST` to `FINEST` parts, as `EFFORT` allows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from drapps.train.checkpointing.chain import (
    Chain,
    Placement,
    Segment,
    Step,
    costs,
    evaluate,
    plain,
    segments_from,
)

EXACT = 32
FINEST = 512
COARSEST = 48
EFFORT = 1 << 20  # labels that are made, about


class _Label(NamedTuple):
    kept: int
    cached: int
    objective: float
    other: float
    before: _Label | None
    segment: Segment | None

    def peak(self, by_peak: bool) -> float:
        """The most bytes so far."""
        return self.objective if by_peak else self.other


def cheapest(
    chain: Chain, limit: int, most: int | None = None, offload: bool = False
) -> Placement | None:
    """The placement of least added seconds whose peak is within the limit.

    Args:
        chain: all elements.
        limit: of the peak, in bytes.
        most: segments that may be recomputed; None for any number.
        offload: whether activations may go to the host.

    Returns:
        None where no placement is within the limit.
    """
    return _search(chain, limit, most, offload, by_peak=False)


def lowest(chain: Chain, most: int | None = None, offload: bool = False) -> Placement:
    """The placement of least peak; of those, one of least added seconds.

    Args:
        chain: all elements.
        most: segments that may be recomputed; None for any number.
        offload: whether activations may go to the host.
    """
    least = _search(chain, None, most, offload, by_peak=True) or plain(chain)
    return _search(chain, evaluate(chain, least).peak, most, offload, by_peak=False) or least


def _search(
    chain: Chain, limit: int | None, most: int | None, offload: bool, by_peak: bool
) -> Placement | None:
    every = [list(segments_from(chain, first, offload)) for first in range(len(chain))]
    grid = 1
    if len(chain) > EXACT:
        parts = EFFORT // (sum(map(len, every)) * ((most or 0) + 1))
        parts = min(max(parts, COARSEST), FINEST)
        grid = max(1, sum(each.saved + each.input for each in chain) // parts)
    at: list[dict[tuple[bool, int], list[_Label]]]
    at = [defaultdict(list) for _ in range(len(chain) + 1)]
    at[0][False, 0] = [_Label(0, 0, 0.0, 0.0, None, None)]
    for first in range(len(chain)):
        choices = [
            (segment, (costs(chain, segment, False), costs(chain, segment, True)))
            for segment in every[first]
        ]
        for (after_kept, count), labels in at[first].items():
            best = _best(labels, grid)
            for segment, steps in choices:
                number = count + (most is not None and segment.action == "recompute")
                if most is not None and number > most:
                    continue
                step = steps[after_kept]
                grown = (_after(label, segment, step, by_peak) for label in best)
                at[segment.last + 1][segment.action == "keep", number] += (
                    label for label in grown if limit is None or label.peak(by_peak) <= limit
                )
        at[first].clear()
    ends = [label for labels in at[-1].values() for label in labels]
    return _placement(min(ends, key=lambda each: each[2:4])) if ends else None


def _after(label: _Label, segment: Segment, step: Step, by_peak: bool) -> _Label:
    there = max(label.kept + step.backward, label.kept + label.cached + step.forward)
    peak = max(there, label.peak(by_peak))
    seconds = (label.other if by_peak else label.objective) + step.seconds
    one, other = (peak, seconds) if by_peak else (seconds, peak)
    kept, cached = label.kept + step.kept, label.cached + step.cached
    return _Label(kept, cached, one, other, label, segment)


def _best(labels: Iterable[_Label], grid: int) -> list[_Label]:
    """Those that no other beats in bytes, to the grid, and objective."""
    best: list[_Label] = []
    front: list[_Label] = []  # of these, what may beat one that keeps more
    for label in sorted(labels, key=lambda each: (each.kept // grid, *each[1:4], each.kept)):
        if any(each.cached <= label.cached and each.objective <= label.objective for each in front):
            continue
        best.append(label)
        front = [
            each for each in front if each.cached < label.cached or each.objective < label.objective
        ]
        front.append(label)
    return best


def _placement(label: _Label) -> Placement:
    segments = []
    end: _Label | None = label
    while end is not None and end.segment is not None:
        segments.append(end.segment)
        end = end.before
    return tuple(reversed(segments))
