"""The parent's side: contestants in processes of their own, measured in turn."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any

from demo import meter

ROOT = Path(__file__).resolve().parent.parent

Answer = dict[str, Any]


class ContestantError(RuntimeError):
    """A contestant's process ended; its own message stands above, on the terminal or in its log."""


class Contestant:
    """A process that loads when it is asked to, and is idle in between. A context.

    Its messages go to the terminal, or to the file `log`. With `limit_s` it has so many seconds
    for each answer, and is killed where it takes longer. `package` is the folder of another build's
    Python package, which the process imports instead of this checkout's.

    Attributes:
        started: the answer that it gave unasked, once it was ready.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str | Path],
        spec: Mapping[str, Any],
        log: Path | None = None,
        limit_s: float | None = None,
        package: Path | None = None,
    ) -> None:
        self.name = name
        self._log, self._limit_s, self._killed = log, limit_s, False
        with log.open("w") if log else nullcontext() as messages:
            self._process = subprocess.Popen(
                [*command, json.dumps(spec)],
                cwd=ROOT,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=messages,
                text=True,
                env=_environment() | ({"PYTHONPATH": str(package)} if package else {}),
            )
        self.started = self._answer()

    def __enter__(self) -> Contestant:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()  # which ends it
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._kill()
            self._process.wait()

    def ask(self, **command: Any) -> Answer:
        """Sends a command; returns the answer once the process is idle again.

        Raises:
            ContestantError: it ended instead.
        """
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(command) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # the missing answer tells
        return self._answer()

    def _answer(self) -> Answer:
        assert self._process.stdout is not None
        timer = threading.Timer(self._limit_s or 0, self._kill)
        if self._limit_s:
            timer.start()
        line = self._process.stdout.readline()
        timer.cancel()
        if not line:
            raise ContestantError(f"{self.name}: {self._last_words()}")
        self._settle()
        answer: Answer = json.loads(line)
        return answer

    def _last_words(self) -> str:
        """Why its answer is missing."""
        status = self._process.wait()
        if self._killed:
            return f"no answer within {self._limit_s:.0f} s"
        return f"ended with status {status}" + (f": {last_error(self._log)}" if self._log else "")

    def _kill(self) -> None:
        """Ends it and its workers at once."""
        self._killed = True
        for pid in reversed(meter.tree(self._process.pid)):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def _settle(self) -> None:
        """Waits until what was asked for ahead is done, so that the next contestant is alone."""
        limit = time.monotonic() + 10
        before = -1.0
        while time.monotonic() < limit:
            now = meter.cpu_seconds(self._process.pid)
            if now - before < 0.015:  # a tick of the kernel's clock
                return
            before = now
            time.sleep(0.1)

    def peak_bytes(self) -> int:
        """The most memory that the process and its workers had, pages they share counted once."""
        pids = meter.tree(self._process.pid)
        return meter.memory_bytes(pids) + sum(map(_shrunk_by, pids))


def _environment() -> dict[str, str]:
    """Ours; compiled modules are kept, as they are where packages are used, and not only tested."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def _shrunk_by(pid: int) -> int:
    """By how many bytes a process has been larger than it is now."""
    status = Path(f"/proc/{pid}/status").read_text()
    fields = dict(line.split(":", 1) for line in status.splitlines())
    if "VmHWM" not in fields:  # it has just ended
        return 0
    return (int(fields["VmHWM"].split()[0]) - int(fields["VmRSS"].split()[0])) * 1024


def last_error(log: Path) -> str:
    """The line of a program's messages that says most likely why it ended; empty without any."""
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
    errors = [line for line in lines if re.match(r"[\w.]*(Error|Exception)\b", line)]
    return (errors or lines or [""])[-1]


def python(module: str) -> list[str]:
    """The command that runs a module of this checkout."""
    return [sys.executable, "-m", module]


def rounds(
    contestants: Sequence[Contestant], count: int, warm_s: float, measure_s: float
) -> dict[str, list[Answer]]:
    """Measures all in turn, `count` times, each round beginning with another one."""
    answers: dict[str, list[Answer]] = {contestant.name: [] for contestant in contestants}
    for number in range(count):
        first = number % len(contestants)
        for contestant in [*contestants[first:], *contestants[:first]]:
            answers[contestant.name].append(contestant.ask(warm_s=warm_s, measure_s=measure_s))
        rates = ", ".join(f"{name} {rate(each[-1]):,.0f}" for name, each in answers.items())
        print(f"  round {number + 1} of {count}: {rates} samples/s", flush=True)
    return answers


def rate(answer: Answer) -> float:
    """Samples per second of one measurement."""
    return float(answer["samples"] / answer["seconds"])
