"""Runs of machines that are not there: a scenario, simulated under any policy or settings.

`simulate` runs it in a moment of this machine's time. docs/guides/simulating.md says what is
simulated, and what is not.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from drapps.simulation.machine import Machine, load, load_scenario, shipped
    from drapps.simulation.run import SimulatedRun, SimulatedSegment, simulate

_HOMES = {
    "Machine": "machine",
    "SimulatedRun": "run",
    "SimulatedSegment": "run",
    "load": "machine",
    "load_scenario": "machine",
    "shipped": "machine",
    "simulate": "run",
}

__all__ = [
    "Machine",
    "SimulatedRun",
    "SimulatedSegment",
    "load",
    "load_scenario",
    "shipped",
    "simulate",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'drapps.simulation' has no attribute {name!r}")
    return getattr(importlib.import_module(f"drapps.simulation.{_HOMES[name]}"), name)
