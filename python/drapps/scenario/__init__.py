"""Scenarios: what a loader may meet, written down, and played against any loader.

A scenario is a file: a workload, a storage, a training step, foreign load, and a schedule of
events that change them. `play` runs it and measures. docs/guides/scenarios.md says how.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from drapps.scenario.contestant import Drapps, Stock
    from drapps.scenario.page import html
    from drapps.scenario.reading import load, shipped
    from drapps.scenario.result import Run
    from drapps.scenario.runner import play
    from drapps.scenario.scenario import Scenario, Segment

_HOMES = {
    "Drapps": "contestant",
    "Run": "result",
    "Scenario": "scenario",
    "Segment": "scenario",
    "Stock": "contestant",
    "html": "page",
    "load": "reading",
    "play": "runner",
    "shipped": "reading",
}

__all__ = ["Drapps", "Run", "Scenario", "Segment", "Stock", "html", "load", "play", "shipped"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'drapps.scenario' has no attribute {name!r}")
    return getattr(importlib.import_module(f"drapps.scenario.{_HOMES[name]}"), name)
