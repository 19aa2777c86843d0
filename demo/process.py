"""The parent's side of a run in its own process.

Each run has a fresh interpreter, so that no run profits or suffers from what one before it left
behind, and its memory and CPU time can be told apart.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from demo import meter
from demo.progress import Bar

_BURN = "import os, sys\nwhile os.getppid() == int(sys.argv[1]):\n for _ in range(10**6): pass"


class RunError(RuntimeError):
    """A run ended before its time; its own message stands above, on the terminal."""


def run(title: str, spec: dict[str, Any]) -> tuple[list[dict[str, Any]], int]:
    """Does one job behind a progress bar.

    Returns its events in order, steps left out, and the peak memory of its process tree in bytes.
    Raises RunError when the child fails.
    """
    command = [sys.executable, "-m", "demo.runner", json.dumps(spec)]
    # Threads of the network that wait would otherwise spin, and count as CPU time of the feed.
    environment = {**os.environ, "OMP_WAIT_POLICY": "PASSIVE"}
    events: list[dict[str, Any]] = []
    with (
        Bar(title) as bar,
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as child,
        meter.PeakMemory(child.pid) as memory,
        _foreign_load() as load,
    ):
        bar.update(0, 1, "starting")
        assert child.stdout is not None
        try:
            for line in child.stdout:
                event = json.loads(line)
                if event["event"] == "step":
                    bar.update(event["done"], event["total"], event["note"])
                    continue
                if event["event"] == "load":
                    load.switch(event["on"])
                events.append(event)
        except BaseException:
            child.terminate()
            raise
        if child.wait() != 0:
            raise RunError(f"{title}: the run ended with status {child.returncode}")
        bar.update(1, 1)
    return events, memory.peak_bytes


class _ForeignLoad:
    """Processes that keep every core busy, and have no other purpose."""

    def __init__(self) -> None:
        self._burners: list[subprocess.Popen[bytes]] = []

    def switch(self, on: bool) -> None:
        """Starts one busy process for each core, or ends them."""
        for burner in self._burners:
            burner.kill()
            burner.wait()
        command = [sys.executable, "-c", _BURN, str(os.getpid())]
        cores = len(os.sched_getaffinity(0)) if on else 0
        self._burners = [subprocess.Popen(command) for _ in range(cores)]


@contextmanager
def _foreign_load() -> Iterator[_ForeignLoad]:
    load = _ForeignLoad()
    try:
        yield load
    finally:
        load.switch(False)
