"""The arithmetic of the report, on rows as they are kept."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any

from benchmarks.control.arms import CALIBRATED, DEFAULT, ORACLE, OWN, POLICIES, STATIC
from benchmarks.control.cells import NONE

GAP = 1.1  # oracle over tuned static, from which on no static settings will do
ABOVE = 1.01  # of the best known, above which a policy has found a mistake
CLEAR = 0.02  # of a mean, below which two are as good

Row = Mapping[str, Any]
SEARCHED = (STATIC, OWN, ORACLE)


def value(row: Row, arm: str) -> float:
    """The mean over the segments of the arm's rate over the segment's best; 1 where none flows."""
    rates = [facts["rate"] for facts in row["arms"][arm]]
    pairs = zip(rates, row["best"], strict=True)
    return fmean(rate / most if most > 0 else 1.0 for rate, most in pairs)


def values(rows: Iterable[Row], arm: str) -> list[float]:
    """Of all rows."""
    return [value(row, arm) for row in rows]


def mean(rows: Sequence[Row], arm: str) -> float:
    """The mean value over rows."""
    return fmean(values(rows, arm))


def quantile(numbers: Iterable[float], share: float) -> float:
    """The number below which this share of all lies."""
    ordered = sorted(numbers)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def fact(rows: Iterable[Row], arm: str, name: str) -> float | None:
    """The mean of a fact over all segments that have it; None where none has."""
    numbers = [facts[name] for row in rows for facts in row["arms"][arm] if name in facts]
    return fmean(numbers) if numbers else None


def gains(rows: Iterable[Row], arm: str) -> list[float]:
    """Value of an arm over the default's, less 1, of each row."""
    return [value(row, arm) / max(value(row, DEFAULT), 1e-9) - 1 for row in rows]


def best_policy(rows: Sequence[Row]) -> str:
    """The policy with the highest mean value, of those that know only what they observe."""
    known = [arm for arm in POLICIES if arm != CALIBRATED]
    return max(known, key=lambda arm: mean(rows, arm))


def grouped(rows: Iterable[Row], *names: str) -> dict[tuple[str, ...], list[Row]]:
    """Rows by what they are alike in."""
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(str(row[name]) for name in names), []).append(row)
    return groups


def stationary(rows: Iterable[Row]) -> list[Row]:
    """Those in which nothing changes."""
    return [row for row in rows if row["event"] == NONE]


def changing(rows: Iterable[Row]) -> list[Row]:
    """The others."""
    return [row for row in rows if row["event"] != NONE]


def gap(row: Row) -> float:
    """Value of the oracle over that of the tuned static settings."""
    return value(row, ORACLE) / max(value(row, STATIC), 1e-9)


def beyond(rows: Iterable[Row]) -> list[tuple[Row, str, float]]:
    """Who is better than the best known in a row in which nothing changes."""
    return [
        (row, arm, value(row, arm))
        for row in stationary(rows)
        for arm in (DEFAULT, *POLICIES)
        if value(row, arm) > ABOVE
    ]


def knob_and_signals(row: Row) -> tuple[Mapping[str, Any], Sequence[Mapping[str, Any]]]:
    """What tells the oracle from the tuned static settings, and what shows it.

    Returns:
        the knob of a segment that loses most of the segment's rate where it stands as in the static
        settings, and the greatest changes of an observation as that segment begins.
    """
    knobs = row["knobs"]
    number = max(range(len(knobs)), key=lambda at: float(knobs[at].get("lost", 0.0)))
    return knobs[number], row["signals"][number - 1] if number else ()
