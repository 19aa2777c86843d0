"""One worker process as its parent sees it, and what is told of it when it dies."""

from __future__ import annotations

import os
import select
import signal
import time
from dataclasses import dataclass
from typing import Any

from drapps import _core
from drapps.worker.descriptor import Descriptor
from drapps.worker.launch import NOT_BEGUN


@dataclass
class WorkerProcess:
    """One process.

    Attributes:
        number: its place on the board.
        worker: the virtual worker that it began as.
        process: as multiprocessing has it.
        pidfd: is readable as soon as it has ended.
        stacks: where it writes the stacks of its threads.
        retired: it ends when it has finished what it holds.
        beat: the last one seen, and when it was first seen.
    """

    number: int
    worker: int
    process: Any
    pidfd: int
    stacks: Descriptor
    retired: bool = False
    beat: tuple[int, float] = (-1, 0.0)

    @property
    def pid(self) -> int:
        """The pid of the process."""
        return int(self.process.pid)

    def is_stopped(self, beat: int, silence: float) -> bool:
        """Whether it stands still by a signal; looked up after so many seconds without a `beat`."""
        now = time.monotonic()
        if beat != self.beat[0]:
            self.beat = (beat, now)
        return now - self.beat[1] > silence and state_of(self.pid) == "T"

    @property
    def not_begun(self) -> str:
        """Why it could not begin, where it has ended and told that."""
        if self.process.exitcode != NOT_BEGUN:
            return ""
        size = os.fstat(self.stacks.fd).st_size
        return os.pread(self.stacks.fd, size, 0).decode(errors="replace")

    def stack(self, status: _core.ProcessStatus) -> str:
        """What it does now: its phase, and the stacks that it has written."""
        size = os.fstat(self.stacks.fd).st_size
        stack = os.pread(self.stacks.fd, size, 0).decode(errors="replace")
        if hasattr(self.process, "stack"):
            stack = self.process.stack()
        return (
            f"worker {self.worker} (pid {self.pid}): {status.phase} for "
            f"{status.since_seconds:.1f} s; {last_act(status)}\n"
            + (stack or f"  no answer; its state is {state_of(self.pid)!r}\n")
        )


@dataclass(frozen=True)
class Death:
    """A process that ended without being asked to, or that stands still.

    Attributes:
        worker: the virtual worker that it began as.
        pid: its pid.
        number: its place on the board.
        cause: what ended it, in words.
        status: what it did last.
        stopped: it is stopped, and was not killed yet.
        retired: it was to end.
        lost: (ticket, piece) of what is to be made again.
        not_begun: why it could not begin, where it has told that.
    """

    worker: int
    pid: int
    number: int
    cause: str
    status: _core.ProcessStatus
    stopped: bool = False
    retired: bool = False
    lost: tuple[tuple[int, int], ...] = ()
    not_begun: str = ""


def last_act(status: _core.ProcessStatus, sample: str = "") -> str:
    """What a process did last, in words; `sample` says more of the sample where that is known."""
    if status.ticket < 0:
        return "it had not begun a sample"
    what = "sample is the one" if status.piece >= 0 else "batch is the one"
    return (
        f"its last {what} at position {status.position + max(status.piece, 0)} of the epoch{sample}"
    )


def await_end(processes: list[WorkerProcess], seconds: float) -> None:
    """Waits until the processes have ended, at most so long."""
    poll, deadline = select.poll(), time.monotonic() + seconds
    for process in processes:
        poll.register(process.pidfd, select.POLLIN)
    left = len(processes)
    while left > 0 and time.monotonic() < deadline:
        for fd, _ in poll.poll(1e3 * max(0.0, deadline - time.monotonic())):
            poll.unregister(fd)
            left -= 1


def end_of(process: Any) -> int:
    """A descriptor that is readable as soon as the process, or thread, has ended."""
    if hasattr(process, "ended"):
        return os.dup(process.ended.fd)
    try:
        return os.pidfd_open(process.pid)
    except ProcessLookupError:  # a fork server's child may end, and be waited for, at any time
        return os.eventfd(1, os.EFD_CLOEXEC)


def cause_of(pid: int, code: int | None) -> str:
    """What an exit code says, in torch's words where it has some."""
    if code is not None and code < 0:
        text = signal.strsignal(-code) or "unknown"
        return f"DataLoader worker (pid {pid}) is killed by signal: {text} ({-code})"
    return f"it exited with code {code}"


def own_bytes(pid: int) -> int:
    """Memory that no other process shares; 0 where the kernel does not tell."""
    try:
        with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:  # noqa: PTH123
            own = [line.split()[1] for line in file if line.startswith("Private_")]
    except (OSError, IndexError):
        return 0
    return 1024 * sum(map(int, own))


def state_of(pid: int) -> str:
    """The letter of ``/proc/pid/stat``: T is stopped by a signal, t by a debugger."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:  # noqa: PTH123
            return file.read().rsplit(")", 1)[1].split()[0]
    except (OSError, IndexError):
        return "?"
