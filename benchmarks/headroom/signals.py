"""Which number of an observation told a change of the conditions, and how soon.

Of each number before and after an event: a counter by its growth per second, a gauge as it is. It
has told the event with the first decision from which on it stays beyond all that it was before, and
by more than `CLEAR` of what lay between its 5 % and 95 % quantile then.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from drapps.trace import Decision, Trace

CLEAR = 1.0
_SETTLING = 4.0  # seconds of a run, or behind an event, that say nothing of what is usual
_LASTING = 3  # decisions for which it has to stay beyond
_LEAST = 4  # decisions before, or nothing can be told
_OWN = ("time", "settings.", "limits.")  # what is no signal


@dataclass(frozen=True)
class Signal:
    """A number that told an event.

    Attributes:
        name: of the field.
        after: seconds from the event to the decision that saw it.
        factor: its mean behind that decision over its mean before the event; None where that was 0.
    """

    name: str
    after: float
    factor: float | None


def signals(trace: Trace, begin: float, event: float, end: float) -> list[Signal]:
    """Those that told an event between two times, the earliest first. Times as in the trace."""
    decisions = [each for each in trace if isinstance(each, Decision) and not each.missing]
    counters = {field.name for field in trace.fields if field.kind == "counter"}
    names = [field.name for field in trace.fields if not field.name.startswith(_OWN)]
    clues = []
    for name in names:
        series = list(_series(decisions, name, name in counters))
        seen = departure(series, begin + _SETTLING, event, end)
        if seen is not None:
            clues.append(Signal(name, *seen))
    return sorted(clues, key=lambda each: each.after)


def _series(decisions: Sequence[Decision], name: str, grows: bool) -> Iterable[tuple[float, float]]:
    for before, now in pairwise(decisions):
        value = float(now.observation[name])
        if grows:
            passed = now.time - before.time
            if passed <= 0:
                continue
            value = (value - float(before.observation[name])) / passed
        yield now.time, value


def departure(
    series: Sequence[tuple[float, float]], begin: float, event: float, end: float
) -> tuple[float, float | None] | None:
    """When a series told an event, in seconds behind it, and by what factor its mean changed."""
    usual = np.array([value for time, value in series if begin <= time < event])
    behind = [(time, value) for time, value in series if event <= time < end]
    if len(usual) < _LEAST or len(behind) < _LASTING:
        return None
    low, high = usual.min(), usual.max()
    clear = CLEAR * (np.quantile(usual, 0.95) - np.quantile(usual, 0.05))
    values = np.array([value for _, value in behind])
    for beyond in (values > high + clear, values < low - clear):
        for place in range(len(values) - _LASTING + 1):
            if beyond[place : place + _LASTING].all():
                usually = usual.mean()
                factor = float(values[place:].mean() / usually) if usually else None
                return behind[place][0] - event, factor
    return None
