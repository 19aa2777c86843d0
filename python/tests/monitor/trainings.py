"""Processes that can be watched, and raw sockets to them."""

import contextlib
import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

from drapps import monitor

# A training that lasts until its stdin is closed; it prints a line when it has begun.
TRAINING = """
import sys, threading, time
import numpy as np
import drapps

ended = threading.Event()
threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
loader = drapps.arrays({"x": np.zeros((640, 8), np.float32)}).batch(8)
print("begins", flush=True)
begun = False
while not (begun and ended.is_set()):
    for batch in loader:
        time.sleep(0.001)
    begun = True
print(loader.stats().batches)
"""


class Trainings:
    """Starts scripts whose sockets lie in a folder of their own."""

    def __init__(self, runtime):
        self.folder = runtime / "drapps"
        self.environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(sys.path),
            "XDG_RUNTIME_DIR": str(runtime),
            "TMPDIR": str(runtime),
        }
        self._started = []

    def start(self, script=TRAINING, *words, **environment):
        """The process of a script, once it says that it begins."""
        process = subprocess.Popen(
            [sys.executable, "-c", script, *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**self.environment, **environment},
        )
        self._started.append(process)
        assert process.stdout.readline() == "begins\n", process.stderr.read()
        return process

    def path(self, process):
        """Of its socket."""
        return self.folder / f"{process.pid}.sock"

    def watched(self, script=TRAINING, *words, **environment):
        """The process of a script, once it listens."""
        process = self.start(script, *words, **environment)
        until(lambda: is_listening(self.path(process)))
        return process

    def end(self, process):
        """Lets it end; what it has printed."""
        out, error = process.communicate(timeout=60)
        assert process.returncode == 0, error
        assert "Traceback" not in error
        return out

    def close(self):
        """Ends all of them."""
        for process in self._started:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            process.communicate()


def until(holds, seconds=60):
    """Waits until something holds, and gives it."""
    end = time.monotonic() + seconds
    while True:
        outcome = holds()
        if outcome:
            return outcome
        assert time.monotonic() < end, "it has not come about"
        time.sleep(0.02)


def is_listening(path):
    """Whether somebody answers there."""
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as probe:
        probe.connect(str(path))
        return True
    return False


def batches(process):
    """Delivered up to now."""
    return monitor.snapshot(process.pid, 30).loaders[0].stats.batches


def connect(path, seconds=30):
    """A socket that waits for so long."""
    client = socket.socket(socket.AF_UNIX)
    client.settimeout(seconds)
    client.connect(str(path))
    return client


def answer(client, line=None):
    """What the server answers to a line; with none, what it says by itself."""
    if line is not None:
        client.sendall(line + b"\n")
    return json.loads(client.makefile("rb").readline())


def resident_bytes(process):
    """Memory that a process has resident."""
    pages = Path(f"/proc/{process.pid}/statm").read_text().split()[1]
    return int(pages) * os.sysconf("SC_PAGESIZE")
