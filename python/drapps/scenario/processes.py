"""CPU time of this process and of all below it, its worker processes."""

from __future__ import annotations

import os
import time
from pathlib import Path

_TICK = os.sysconf("SC_CLK_TCK")


def cpu_seconds() -> float:
    """CPU seconds so far, with those of processes that have ended and been waited for."""
    children: dict[int, list[tuple[int, int]]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and (fields := _fields(entry)):
            ticks = sum(map(int, fields[11:15]))
            children.setdefault(int(fields[1]), []).append((int(entry.name), ticks))
    ended = os.times()
    ticks, family = 0, [os.getpid()]
    for pid in family:  # grows while it is walked
        below = children.get(pid, [])
        ticks += sum(each for _, each in below)
        family += [child for child, _ in below]
    return time.process_time() + ended.children_user + ended.children_system + ticks / _TICK


def _fields(entry: Path) -> list[str]:
    """The fields of ``/proc/PID/stat`` from the state on; empty when the process is gone."""
    try:
        return (entry / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []
