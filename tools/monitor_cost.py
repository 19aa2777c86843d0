"""Measure what watching a process costs its batches.

``python -m tools.monitor_cost`` loads arrays as fast as it can, in turn without a viewer, with one
at 10 Hz and with one that asks without a pause, and prints the time per batch of each. The first
line is the first batch of a process, with and without the socket.
"""

import os
import statistics
import subprocess
import sys
import time

import numpy as np

import drapps

PROCESSES = 25  # with the socket, and without
WINDOWS = 12  # of each kind
SECONDS = 0.5  # of each
HERTZ = {"no viewer": 0.0, "10 Hz": 10.0, "no pause": 1e6}

VIEWER = """
import sys, threading, time
from drapps import monitor

hertz = 0.0
def obey():
    global hertz
    for line in sys.stdin:
        hertz = float(line)

threading.Thread(target=obey, daemon=True).start()
client = monitor.connected(int(sys.argv[1]))
print("ready", flush=True)
while True:
    if hertz:
        client.snapshot()
    time.sleep(1 / hertz if hertz else 0.01)
"""

FIRST = """
import time
import drapps, numpy as np

loader = drapps.arrays({"x": np.zeros((4096, 64), np.float32)}).batch(64)
begun = time.perf_counter()
next(iter(loader))
print(time.perf_counter() - begun)
"""


def first_batches() -> dict[str, float]:
    """Milliseconds of a process's first batch: medians of processes in turn."""
    taken: dict[str, list[float]] = {"off": [], "on": []}
    for kind in [*taken] * PROCESSES:
        environment = {**os.environ, "DRAPPS_SOCKET": kind}
        done = subprocess.run(
            [sys.executable, "-c", FIRST], env=environment, stdout=subprocess.PIPE, check=True
        )
        taken[kind].append(float(done.stdout) * 1e3)
    return {kind: round(statistics.median(each), 3) for kind, each in taken.items()}


def window(loader: drapps.Loader) -> list[float]:
    """Seconds of each ``next`` in one window."""
    taken, end = [], time.perf_counter() + SECONDS
    while True:
        for _ in loader:
            now = time.perf_counter()
            taken.append(now)
            if now > end:
                return np.diff(taken).tolist()


def main() -> None:
    """Measure, and print a line for each."""
    print("first batch, ms:", first_batches())
    loader = drapps.arrays({"x": np.zeros((200_000, 64), np.float32)}).batch(64)
    window(loader)
    viewer = subprocess.Popen(
        [sys.executable, "-c", VIEWER, str(os.getpid())],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert viewer.stdin is not None and viewer.stdout is not None
    viewer.stdout.readline()
    times: dict[str, list[list[float]]] = {kind: [] for kind in HERTZ}
    for _ in range(WINDOWS):
        for kind, hertz in HERTZ.items():
            print(hertz, file=viewer.stdin, flush=True)
            time.sleep(0.1)
            times[kind].append(window(loader))
    viewer.kill()
    viewer.wait()
    for kind, windows in times.items():
        means = [statistics.fmean(each) * 1e6 for each in windows]
        all_of = np.concatenate(windows) * 1e6
        print(
            f"{kind:<10} mean per batch {statistics.median(means):7.1f} us (windows "
            f"{min(means):.1f} to {max(means):.1f}), p50 {np.median(all_of):.1f}, "
            f"p99.9 {np.quantile(all_of, 0.999):.0f}, most {all_of.max():.0f}"
        )


if __name__ == "__main__":
    main()
