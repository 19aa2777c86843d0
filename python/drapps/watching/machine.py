"""What else bears on loading: the cores of the machine, a quota, memory that runs out."""

from __future__ import annotations

import os
import resource
import time
from pathlib import Path
from typing import Any

_MOST_POINTS = 240
_PAGE = resource.getpagesize()


def cores() -> float:
    """The cores that this process may use: its affinity, and the quota of its cgroup."""
    there = float(len(os.sched_getaffinity(0)))
    quota = quota_of(cgroup_folder("cpu"))
    return min(there, quota) if quota else there


def cgroup_folder(controller: str, process: str = "self", root: Path = Path("/")) -> Path | None:
    """Where the files of a process's cgroup are, of version 1 or 2."""
    try:
        lines = (root / "proc" / process / "cgroup").read_text().splitlines()
    except OSError:
        return None
    for line in lines:
        _, names, path = line.split(":", 2)
        mounted = controller if names else ""
        if names and controller not in names.split(","):
            continue
        for mount in (mounted, names, "unified"):
            folder = root / "sys/fs/cgroup" / mount
            for candidate in (folder / path.lstrip("/"), folder):
                if (candidate / f"{controller}.stat").exists():
                    return candidate
    return None


def quota_of(folder: Path | None) -> float | None:
    """Cores that a cgroup may use; None where there is no limit."""
    if folder is None:
        return None
    try:
        if (folder / "cpu.max").exists():
            limit, period = (folder / "cpu.max").read_text().split()
            return None if limit == "max" else int(limit) / int(period)
        limit = (folder / "cpu.cfs_quota_us").read_text()
        period = (folder / "cpu.cfs_period_us").read_text()
        return int(limit) / int(period) if int(limit) > 0 else None
    except (OSError, ValueError):
        return None


def throttled_s(folder: Path | None) -> float:
    """Seconds for which a cgroup's quota has held its processes back, summed over cores."""
    if folder is None:
        return 0.0
    try:
        fields = dict(line.split() for line in (folder / "cpu.stat").read_text().splitlines())
    except (OSError, ValueError):
        return 0.0
    if "throttled_usec" in fields:
        return int(fields["throttled_usec"]) * 1e-6
    return int(fields.get("throttled_time", 0)) * 1e-9


def busy_s(path: Path = Path("/proc/stat")) -> float:
    """CPU seconds that all processes of the machine have had."""
    try:
        fields = path.read_text().split("\n", 1)[0].split()[1:]
    except OSError:
        return 0.0
    idle = int(fields[3]) + int(fields[4])
    return (sum(map(int, fields[:8])) - idle) / os.sysconf("SC_CLK_TCK")


def memory_pressure_s(path: Path = Path("/proc/pressure/memory")) -> float:
    """Seconds for which something on the machine waited for memory."""
    try:
        return int(path.read_text().split("\n", 1)[0].rpartition("total=")[2]) * 1e-6
    except (OSError, ValueError):
        return 0.0


def resident_bytes() -> int:
    """Memory of this process, with what it shares."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * _PAGE
    except (OSError, IndexError, ValueError):
        return 0


class Machine:
    """Reads the machine's numbers once a second, from the thread that looks where others stand."""

    def __init__(self) -> None:
        self._group = cgroup_folder("cpu")
        self._began = self._read()
        self._memory: list[tuple[float, int]] = []

    def _read(self) -> dict[str, float]:
        usage = resource.getrusage(resource.RUSAGE_SELF)
        return {
            "seconds": time.perf_counter(),
            "busy_s": busy_s(),
            "own_cpu_s": usage.ru_utime + usage.ru_stime,
            "throttled_s": throttled_s(self._group),
            "memory_pressure_s": memory_pressure_s(),
            "major_faults": float(usage.ru_majflt),
        }

    def facts(self) -> dict[str, Any]:
        """Since the beginning, JSON-able; ``memory`` has pairs of seconds and resident bytes."""
        now = self._read()
        self._memory.append((now["seconds"] - self._began["seconds"], resident_bytes()))
        if len(self._memory) > _MOST_POINTS:
            self._memory = self._memory[::2]
        since = {name: now[name] - then for name, then in self._began.items()}
        limits = {"cores": cores(), "quota": quota_of(self._group)}
        return since | limits | {"memory": list(self._memory)}
