"""The runner's side of a player: its process, and what the two tell each other."""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from typing import Any

from drapps.errors import PipelineError

_LEAVING = 5.0  # seconds that a player may take to end by itself
_LOOK = 1.0  # seconds between looks whether a player has ended


class Player:
    """The process that loads. A context; it has ended behind it, with all that it has started."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._words = tempfile.TemporaryFile()  # noqa: SIM115  (closed with the player)
        path = os.pathsep.join(filter(None, sys.path))  # modules are those of this process
        self._process = subprocess.Popen(
            [sys.executable, "-m", "drapps.scenario.player"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._words,
            bufsize=0,
            start_new_session=True,
            env={**os.environ, "PYTHONPATH": path},
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self.pid = self._process.pid
        self._stdin, self._stdout = self._process.stdin, self._process.stdout
        self._rest = b""
        self._ready = selectors.DefaultSelector()
        self._ready.register(self._stdout, selectors.EVENT_READ)

    def send(self, what: dict[str, Any]) -> None:
        """Tells it something."""
        with suppress(BrokenPipeError):  # the missing answer tells
            line = memoryview(json.dumps(what).encode() + b"\n")
            while line:
                line = line[os.write(self._stdin.fileno(), line) :]

    def event(self, seconds: float) -> dict[str, Any] | None:
        """What the player says next; None where it says nothing for so long.

        Raises:
            PipelineError: it has failed, or ended.
        """
        end = time.monotonic() + seconds
        while b"\n" not in self._rest:
            left = max(0.0, end - time.monotonic())
            if not self._ready.select(min(left, _LOOK)):
                if self._has_ended():  # while what it has started keeps its output open
                    raise PipelineError(f"{self._name}: {self._last_words()}")
                if left <= _LOOK:
                    return None
                continue
            block = os.read(self._stdout.fileno(), 1 << 20)
            if not block:
                raise PipelineError(f"{self._name}: {self._last_words()}")
            self._rest += block
        line, _, self._rest = self._rest.partition(b"\n")
        message: dict[str, Any] = json.loads(line)
        if message["event"] == "failed":
            raise PipelineError(f"{self._name}: {message['error']}")
        return message

    def expect(self, name: str, seconds: float) -> dict[str, Any]:
        """The player's next event, which must have this name.

        Raises:
            PipelineError: it is silent for so long, has failed, or ended.
        """
        event = self.event(seconds)
        if event is None:
            raise PipelineError(f"{self._name}: the player was not {name} within {seconds:g} s")
        assert event["event"] == name
        return event

    def result(self, event: dict[str, Any]) -> dict[str, Any]:
        """What its last event holds; it may end by itself now."""
        assert event.pop("event") == "result"
        end = time.monotonic() + _LEAVING
        while time.monotonic() < end and not self._has_ended():
            time.sleep(0.02)
        return event

    def kill(self) -> None:
        """Ends it at once, with all that it has started."""
        if self._process.returncode is None:  # it leads a group, its workers are in it
            os.killpg(self.pid, signal.SIGKILL)

    def _has_ended(self) -> bool:
        """Whether the player has ended; its group keeps its number until it is waited for."""
        ended = os.WEXITED | os.WNOHANG | os.WNOWAIT
        return os.waitid(os.P_PID, self.pid, ended) is not None

    def _last_words(self) -> str:
        if self._has_ended():
            self.kill()
        status = self._process.wait()
        self._words.seek(0)
        lines = self._words.read().decode(errors="replace").split("\n")
        words = next((line.strip() for line in reversed(lines) if line.strip()), "")
        if status == -signal.SIGKILL:
            return "the player was killed, as happens where memory has run out"
        return f"the player ended with status {status}" + (f": {words}" if words else "")

    def __enter__(self) -> Player:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        self._process.wait()
        self._ready.close()
        for pipe in (self._stdin, self._stdout, self._words):
            pipe.close()
