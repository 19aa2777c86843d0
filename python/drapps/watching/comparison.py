"""``--compare BEFORE.json``: whether what was done has gained what it should."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from drapps.watching.report import WatchReport


def compared(before: Mapping[str, Any], now: WatchReport) -> str:
    """What has changed since a report, in one line.

    Args:
        before: of an earlier run, as ``--json`` wrote it.
        now: of this one.

    Raises:
        KeyError: `before` is no such report.
    """
    stall, expected = float(before["stall"]), float(before["gain"])
    then, after = (_step_s(ranks) for ranks in (before["ranks"], now.ranks))
    text = f"Before, {stall:.1%} of the steps were stall; now {now.stall:.1%}"
    if not then or not after:
        return f"{text}. Steps were not counted in both, so what it gained is not known."
    gained = then / after
    text += (
        f". A step took {then * 1e3:.3g} ms, and now {after * 1e3:.3g} ms: {gained:.2f} times as "
        "fast"
    )
    if expected < 1.02:
        return f"{text}."
    reached = (gained - 1) / (expected - 1)
    if reached >= 0.8:
        verdict = "it did"
    elif reached >= 0.2:
        verdict = "it did in part"
    else:
        verdict = "it did not"
    return f"{text}. It should have become up to {expected:.2f} times: {verdict}."


def _step_s(ranks: Any) -> float:
    steps = sum(rank["steps"] for rank in ranks)
    if not steps:
        return 0.0  # seen from outside, where steps are not counted
    return float(sum(rank["steps"] * rank["step_s"] for rank in ranks) / max(1, steps))
