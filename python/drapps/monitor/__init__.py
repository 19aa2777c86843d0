"""Watching the loaders of a running process: ``drapps.monitor.snapshot(pid)``.

Each process offers what its loaders count at a socket of the user's own; docs/guides/
watching-a-loader.md shows what to do with it. Every name below is loaded at first use, since each
loader imports a part of this package.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from drapps.errors import MonitorError
    from drapps.monitor.client import Client, Snapshot, connected, processes, snapshot
    from drapps.monitor.reports import LoaderReport, ProcessReport

_HOMES = {
    "Client": "drapps.monitor.client",
    "LoaderReport": "drapps.monitor.reports",
    "MonitorError": "drapps.errors",
    "ProcessReport": "drapps.monitor.reports",
    "Snapshot": "drapps.monitor.client",
    "connected": "drapps.monitor.client",
    "processes": "drapps.monitor.client",
    "snapshot": "drapps.monitor.client",
}

__all__ = [
    "Client",
    "LoaderReport",
    "MonitorError",
    "ProcessReport",
    "Snapshot",
    "connected",
    "processes",
    "snapshot",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'drapps.monitor' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)
