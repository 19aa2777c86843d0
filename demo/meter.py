"""CPU time and memory of a process and all below it, read from /proc.

Worker processes count: what a loader costs is what its whole tree uses.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable
from pathlib import Path

_TICK = os.sysconf("SC_CLK_TCK")


def tree(root: int) -> list[int]:
    """Returns `root` and every process below it that is alive now."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            fields = _stat(int(entry.name))
            if fields:
                children.setdefault(int(fields[1]), []).append(int(entry.name))
    pids = [root]
    for pid in pids:  # grows while it is walked
        pids += children.get(pid, [])
    return pids


def cpu_seconds(root: int) -> float:
    """CPU time of the tree so far, those included that have ended and been waited for."""
    return sum(sum(map(int, _stat(pid)[11:15])) for pid in tree(root) if _stat(pid)) / _TICK


def memory_bytes(pids: Iterable[int]) -> int:
    """Memory of these processes, where a page that several share counts once.

    It is the sum of their proportional set sizes; of resident sets where the kernel hides those.
    """
    return sum(_memory(pid) for pid in pids)


def _stat(pid: int) -> list[str]:
    """The fields of /proc/PID/stat from the state on; empty when the process is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def _memory(pid: int) -> int:
    return _line(pid, "smaps_rollup", "Pss:") or _line(pid, "status", "VmRSS:")


def _line(pid: int, file: str, key: str) -> int:
    """The bytes that a line of /proc/PID/FILE gives in kB; 0 when there is none to read."""
    try:
        for line in Path(f"/proc/{pid}/{file}").read_text().splitlines():
            if line.startswith(key):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0


class PeakMemory:
    """Samples the memory of a process tree on a thread of its own until it is left."""

    _PERIOD_S = 1.0

    def __init__(self, root: int) -> None:
        self._root = root
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)
        self.peak_bytes = 0

    def __enter__(self) -> PeakMemory:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _sample(self) -> None:
        while not self._stop.wait(self._PERIOD_S):
            self.peak_bytes = max(self.peak_bytes, memory_bytes(tree(self._root)))
