"""Where the time of a thread goes, as the kernel counts it."""

from __future__ import annotations

import contextlib
import os
import platform
import resource
import threading
import time
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

_PROC = "/proc/self/task"
# By number, system calls in which a thread waits for bytes, sleeps, or waits for another thread.
_CALLS = {
    "x86_64": {
        "io": (0, 4, 5, 6, 17, 19, 45, 47, 74, 75, 217, 257, 262, 295, 332),
        "sleep": (35, 230),
        "poll": (7, 23, 232, 270, 271, 281),
        "lock": (202,),
    },
    "aarch64": {
        "io": (63, 65, 67, 69, 56, 61, 79, 80, 82, 83, 207, 212, 291),
        "sleep": (101, 115),
        "poll": (22, 72, 73),
        "lock": (98,),
    },
}
_RESOURCES = {
    str(number): kind
    for kind, numbers in _CALLS.get(platform.machine(), {}).items()
    for number in numbers
}


class Spent(NamedTuple):
    """What a thread has had until now; the difference of two is what it had between.

    Attributes:
        wall_s: of any clock.
        cpu_s: on a core.
        queue_s: it could have run, and no core was free for it.
        faults: of pages that had to be read.
        read_bytes: from devices.
    """

    wall_s: float
    cpu_s: float
    queue_s: float
    faults: int
    read_bytes: int

    def since(self, before: Spent) -> Spent:
        """The difference."""
        return Spent(
            self.wall_s - before.wall_s,
            self.cpu_s - before.cpu_s,
            self.queue_s - before.queue_s,
            self.faults - before.faults,
            self.read_bytes - before.read_bytes,
        )

    def plus(self, other: Spent) -> Spent:
        """The sum."""
        return self.since(Spent(0.0, 0.0, 0.0, 0, 0).since(other))


class ThreadMeter:
    """Reads what the thread that makes it has spent; some 5 µs each time."""

    def __init__(self) -> None:
        try:
            path = f"{_PROC}/{threading.get_native_id()}/schedstat"
            self._file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            self._file = -1

    def queue_s(self) -> float:
        """How long it could have run, and no core was free for it; 0 where that is not known."""
        if self._file < 0:
            return 0.0
        try:
            return int(os.pread(self._file, 96, 0).split()[1]) * 1e-9
        except (OSError, IndexError, ValueError):
            self._file = -1
            return 0.0

    def read(self) -> Spent:
        """What it has spent."""
        queue = self.queue_s()
        usage = resource.getrusage(resource.RUSAGE_THREAD)
        cpu = time.thread_time()
        return Spent(time.perf_counter(), cpu, queue, usage.ru_majflt, usage.ru_inblock * 512)


class ThreadState:
    """What a thread of this process is about, read again and again."""

    def __init__(self, native_id: int) -> None:
        """Opens files, which stay open until `close`."""
        self._files: list[int] = []
        with contextlib.suppress(OSError):
            for name in ("stat", "syscall"):
                path = f"{_PROC}/{native_id}/{name}"
                self._files.append(os.open(path, os.O_RDONLY | os.O_CLOEXEC))

    def close(self) -> None:
        """Nothing is known of it from here on."""
        while self._files:
            os.close(self._files.pop())

    def doing(self, idle: str = "", call: bytes | None = None) -> str:
        """What it is about, while the calling thread has the interpreter.

        Args:
            idle: ``poll``: one that polls has nothing to do, and is no ``io``.
            call: what its ``syscall`` file says, where that was read already.

        Returns:
            ``cpu`` (also of one that waits for the interpreter), ``io`` (waits for a file or a
            socket), ``sleep``, ``lock``, ``fault`` (a page is read) or ``wait`` (for something
            else, or unknown).
        """
        try:
            stat, calls = self._files
            number, *arguments = (call or os.pread(calls, 512, 0)).split()
            if number == b"running":
                return "cpu"
            resource = _RESOURCES.get(number.decode())
            if resource is None:  # in another system call, or in none
                state = os.pread(stat, 512, 0).rpartition(b") ")[2][:1]
        except (OSError, ValueError):
            return "wait"
        if resource is None:
            if number == b"-1":
                return "fault" if state == b"D" else "cpu"
            return "io" if state == b"D" else "wait"
        if resource == "poll":
            return "wait" if idle == "poll" else "io"
        if resource == "lock" and _of_interpreter(int(arguments[0], 16)):
            return "cpu"
        return resource


def doing(native_id: int, idle: str = "") -> str:
    """What a thread is about, of one that is looked at once; see `ThreadState.doing`."""
    state = ThreadState(native_id)
    try:
        return state.doing(idle)
    finally:
        state.close()


def _of_interpreter(address: int) -> bool:
    """Whether a lock is the interpreter's own: those of Python code lie in the heap."""
    return any(begin <= address < end for begin, end in _interpreter())


@lru_cache(maxsize=1)
def _interpreter() -> tuple[tuple[int, int], ...]:
    """Where the variables of the interpreter lie: behind its code, with what follows unnamed."""
    ranges: list[tuple[int, int]] = []
    try:
        lines = Path("/proc/self/maps").read_text().splitlines()
    except OSError:
        return ()
    for line in lines:
        fields = line.split(None, 5)
        begin, end = (int(each, 16) for each in fields[0].split("-"))
        path = fields[5] if len(fields) > 5 else ""
        python = path.rpartition("/")[2].startswith(("python", "libpython"))
        if python or (not path and ranges and ranges[-1][1] == begin):
            ranges.append((begin, end))
    return tuple(ranges)
