"""What loaders say of themselves, as typed objects that are dictionaries, too."""

from __future__ import annotations

from drapps.report.bad_sample import BadSample
from drapps.report.decisions import Decision, Decisions
from drapps.report.explanation import Explanation
from drapps.report.machine import MachineStats, MeterReading
from drapps.report.memory import MemoryAccount, MemoryReport
from drapps.report.plan import Column, Plan
from drapps.report.stats import (
    ConsumerStats,
    Distribution,
    LaneStats,
    SlowSample,
    Stats,
    StorageStats,
    WorkerStats,
)

__all__ = [
    "BadSample",
    "Column",
    "ConsumerStats",
    "Decision",
    "Decisions",
    "Distribution",
    "Explanation",
    "LaneStats",
    "MachineStats",
    "MemoryAccount",
    "MemoryReport",
    "MeterReading",
    "Plan",
    "SlowSample",
    "Stats",
    "StorageStats",
    "WorkerStats",
]
