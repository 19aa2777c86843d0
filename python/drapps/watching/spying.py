"""Where the threads of a running job stand, seen from outside by py-spy."""

from __future__ import annotations

import linecache
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from drapps.errors import PipelineError
from drapps.watching.frames import Spot

RATE = 20  # looks a second
_FRAME = re.compile(r"(.*) \((.*):(\d+)\)")
_PROCESS = re.compile(r"process (\d+)")
_GRACE_S = 60.0


@dataclass(frozen=True)
class Stack:
    """A thread as it was seen, and how often it was seen so.

    Attributes:
        pid: its process.
        thread: its name.
        spots: the functions that it is in, the innermost first.
        count: how often.
    """

    pid: int
    thread: str
    spots: tuple[Spot, ...]
    count: int


def stacks_of(pid: int, seconds: float) -> list[Stack]:
    """Looks at a job and its children for so long, without pausing any of them.

    Raises:
        PipelineError: there is no such process, py-spy is not there, or may not look; the message
            says what is missing.
    """
    program = shutil.which("py-spy") or shutil.which(
        "py-spy", path=str(Path(sys.executable).parent)
    )
    if not Path(f"/proc/{pid}").exists():
        raise PipelineError(f"there is no process {pid}")
    if program is None:
        raise PipelineError("a running process is looked at by py-spy: pip install drapps[watch]")
    with tempfile.TemporaryDirectory(prefix="drapps-watch-") as folder:
        out = Path(folder, "stacks")
        options = ["--subprocesses", "--nonblocking", "--idle", "--threads", "--full-filenames"]
        words = [program, "record", "--pid", str(pid), *options, "--format", "raw"]
        words += ["--rate", str(RATE), "--duration", str(max(1, round(seconds)))]
        try:
            done = subprocess.run(
                [*words, "--output", str(out)],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                check=False,
                timeout=seconds + _GRACE_S,
            )
        except subprocess.TimeoutExpired:
            raise PipelineError(f"py-spy has not come to an end with process {pid}") from None
        text = out.read_text(encoding="utf-8") if out.exists() else ""
    stacks = list(parse(text.splitlines()))
    if not stacks:
        lines = done.stderr.strip().splitlines()
        raise PipelineError(_refused(pid, lines[-1] if lines else "py-spy has seen nothing"))
    return stacks


def _refused(pid: int, text: str) -> str:
    """Why a process could not be looked at, and what is missing."""
    try:
        owner = Path(f"/proc/{pid}").stat().st_uid
        scope = Path("/proc/sys/kernel/yama/ptrace_scope")
        limited = scope.exists() and scope.read_text().strip() != "0"
    except OSError:
        return f"process {pid} has ended"
    if os.geteuid() not in (0, owner):
        return f"process {pid} belongs to another user: run this as that user, or by sudo"
    if os.geteuid() != 0 and limited:
        return (
            f"process {pid} may not be looked at: run this by sudo, or set the kernel's "
            "yama.ptrace_scope to 0"
        )
    return (
        f"process {pid} could not be looked at ({text}): it must be Python, and a container needs "
        "--cap-add=SYS_PTRACE"
    )


def parse(lines: Iterable[str]) -> Iterator[Stack]:
    """The stacks in lines of py-spy's raw format.

    Such a line is ``process 1:"…";thread (0x2): MainThread;f (x.py:3);… 7``.
    """
    for line in lines:
        text, _, count = line.rpartition(" ")
        parts = text.split(";")
        pid, thread, spots = 0, "", list[Spot]()
        for part in parts:
            process, frame = _PROCESS.match(part), _FRAME.fullmatch(part)
            if process is not None and not spots:
                pid = int(process[1])
            elif part.startswith("thread (") and not spots:
                thread = part.partition("): ")[2]
            elif frame is not None:
                name, file, number = frame[1], frame[2], int(frame[3])
                spots.append(Spot(file, number, name, partial(_line, file, number)))
        if spots and count.isdigit():
            yield Stack(pid, thread, tuple(reversed(spots)), int(count))


def _line(file: str, number: int) -> str:
    return linecache.getline(file, number).strip()
