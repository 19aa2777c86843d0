"""What the system says of itself."""

from __future__ import annotations

import datetime
import os
from pathlib import Path


def core_count() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0))


def core_numbers() -> dict[str, float]:
    """The numbers of a world's cores that the system says."""
    return {"count": float(core_count()), "grouped": float(grouped())}


def grouped() -> bool:
    """Whether the kernel shares cores among sessions first, and then among the threads of each.

    It does where it makes groups by itself, and no cgroup divides the CPU time instead.
    """
    try:
        on = Path("/proc/sys/kernel/sched_autogroup_enabled").read_text().strip() == "1"
        groups = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return False
    rows = [line.split(":", 2) for line in groups]
    of_cpu = [path for _, controllers, path in rows if "cpu" in controllers.split(",")]
    whole = of_cpu or [path for _, controllers, path in rows if not controllers]
    return on and all(path == "/" for path in whole)


def measured_on(day: datetime.date | None = None) -> str:
    """The source of a number that was measured today."""
    day = day or datetime.datetime.now(datetime.timezone.utc).date()
    return f"measured, drapps calibrate, {day.isoformat()}"
