"""Sessions of processes that are watched from outside, and never outlive their test."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
SHARED_MEMORY = Path("/dev/shm")
_OF_STREAMING = re.compile(
    r"\d{6}_"
)  # what MosaicML's package makes, whose tests may run beside these


@dataclass
class Session:
    """A script that runs in a session of its own.

    Attributes:
        pid: of its first process, and the session's number.
        folder: where it writes ``out`` and ``err``.
    """

    pid: int
    folder: Path
    _statuses: dict[int, int] = field(repr=False)
    _shared: set[str] = field(repr=False)

    def wait_for(self, mark: str, seconds: float) -> None:
        """Until the script has printed the line `mark`."""

        def marked() -> bool:
            if self.pid in self._statuses:
                raise AssertionError(f"ended before {mark!r}: {self._state()}")
            return mark in self.output.splitlines()

        self._until(marked, seconds, f"no {mark!r}")

    def wait(self, seconds: float) -> int:
        """Until the first process has ended; its exit status, or minus its signal."""
        self._until(lambda: self.pid in self._statuses, seconds, "it has not ended")
        return self._statuses[self.pid]

    def wait_empty(self, seconds: float) -> None:
        """Until no process of the session is left, and no file in shared memory."""
        self._until(lambda: not processes_of(self.pid), seconds, "processes are left")
        self._until(lambda: not self._new_shared(), seconds, "shared memory is left")

    def end(self) -> None:
        """Kills all that is left."""
        for pid in processes_of(self.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    @property
    def output(self) -> str:
        """What the script has printed."""
        file = self.folder / "out"
        return file.read_text() if file.exists() else ""

    @property
    def errors(self) -> str:
        """What it and its workers have written to standard error."""
        file = self.folder / "err"
        return file.read_text(errors="replace") if file.exists() else ""

    def _new_shared(self) -> set[str]:
        return set(filter(_is_left, shared_files() - self._shared))

    def _until(self, condition: Callable[[], bool], seconds: float, problem: str) -> None:
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, f"{problem} after {seconds} s: {self._state()}"
            time.sleep(0.02)

    def _state(self) -> str:
        left = [(pid, _command(pid)) for pid in processes_of(self.pid)]
        shared = self._new_shared()
        return (
            f"status {self._statuses.get(self.pid)}, processes {left}, shared memory {shared}\n"
            f"{self.output[-2000:]}\n{self.errors[-4000:]}"
        )


class Harness:
    """The zygote, and the sessions that it began."""

    def __init__(self, folder: Path) -> None:
        paths = [str(ROOT / "python"), str(ROOT), os.environ.get("PYTHONPATH", "")]
        self._folder = folder
        self._zygote = subprocess.Popen(
            [sys.executable, "-m", "tests.fault_matrix.zygote"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ | {"PYTHONPATH": ":".join(filter(None, paths))},
            text=True,
        )
        self._lock = threading.Lock()
        self._begun: dict[int, int] = {}
        self._statuses: dict[int, int] = {}
        self._numbers = 0
        threading.Thread(target=self._listen, daemon=True).start()

    def start(self, module: str, function: str, *arguments: Any) -> Session:
        """Runs a function of ``scenes`` or ``trials`` in a new session."""
        with self._lock:
            self._numbers += 1
            number = self._numbers
            folder = self._folder / str(number)
            folder.mkdir()
            shared = shared_files()
            call = [module, function, arguments]
            request = {"id": number, "folder": str(folder), "call": call}
            self._stdin.write(json.dumps(request) + "\n")
            self._stdin.flush()
        deadline = time.monotonic() + 600
        while number not in self._begun:
            assert time.monotonic() < deadline, "the zygote does not answer"
            time.sleep(0.005)
        return Session(self._begun[number], folder, self._statuses, shared)

    def run(self, function: str, *arguments: Any, seconds: float = 600.0) -> Session:
        """Runs a trial to its end, which must be a good one, and leave nothing."""
        session = self.start("trials", function, *arguments)
        try:
            status = session.wait(seconds)
            assert status == 0, f"status {status}\n{session.output}\n{session.errors}"
            session.wait_empty(10)
        finally:
            session.end()
        return session

    def close(self) -> None:
        """Ends the zygote."""
        self._stdin.close()
        self._zygote.wait(30)

    @property
    def _stdin(self) -> Any:
        return self._zygote.stdin

    def _listen(self) -> None:
        assert self._zygote.stdout is not None
        for line in self._zygote.stdout:
            message = json.loads(line)
            if "id" in message:
                self._begun[message["id"]] = message["pid"]
            else:
                self._statuses[message["pid"]] = message["status"]


def processes_of(session: int) -> list[int]:
    """The processes of a session, in whatever state."""
    pids = []
    for entry in Path("/proc").glob("[0-9]*"):
        fields = _read(f"{entry}/stat").rsplit(")", 1)[-1].split()
        if len(fields) > 3 and int(fields[3]) == session:
            pids.append(int(entry.name))
    return pids


def shared_files() -> set[str]:
    """Names of what lies in shared memory."""
    names = {entry.name for entry in SHARED_MEMORY.iterdir()}
    return {name for name in names if not _OF_STREAMING.match(name)}


def _is_left(name: str) -> bool:
    """Whether a file may be what a loader left: torch's name their process, and ours have none.

    Semaphores are multiprocessing's, for locks and queues; no loader here makes any.
    """
    pids = [part for part in name.split("_") if part.isdigit()]
    lives = any(Path(f"/proc/{pid}").exists() for pid in pids)
    return not lives and not name.startswith("sem.")


def _command(pid: int) -> str:
    return _read(f"/proc/{pid}/cmdline").replace("\0", " ")


def _read(path: str) -> str:
    try:
        return Path(path).read_text(errors="replace")
    except OSError:
        return ""
