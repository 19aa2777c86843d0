"""Watching the loaders of a running process: ``drapps.monitor.snapshot(pid)``.

Each process offers what its loaders count at a socket of the user's own; docs/guides/
watching-a-loader.md shows what to do with it.
"""

from __future__ import annotations

from drapps.errors import MonitorError
from drapps.monitor.client import Client, Snapshot, connected, processes, snapshot
from drapps.monitor.reports import LoaderReport, ProcessReport

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
