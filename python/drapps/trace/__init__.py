"""Traces of runs: what ``loader.record(path)`` wrote, entry by entry, and decided again."""

from drapps.trace.entries import (
    Began,
    Decision,
    Ended,
    Entry,
    Field,
    Frozen,
    LimitsChanged,
    PassBegan,
    PolicyRenewed,
    PolicySwapped,
    Sample,
    Stopped,
)
from drapps.trace.reading import Replay, Trace, open, replay  # noqa: A004

__all__ = [
    "Began",
    "Decision",
    "Ended",
    "Entry",
    "Field",
    "Frozen",
    "LimitsChanged",
    "PassBegan",
    "PolicyRenewed",
    "PolicySwapped",
    "Replay",
    "Sample",
    "Stopped",
    "Trace",
    "open",
    "replay",
]
