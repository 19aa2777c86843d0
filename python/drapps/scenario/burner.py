"""A process that wants a core for a share of the time, and has no other purpose.

It reads shares, lines such as ``0.5``, from its input, and ends when that ends. It looks for one
at least every 50 ms. It is run by its path, so that it starts without the package.
"""

import os
import select
import sys
import time

PERIOD = 0.01  # seconds
LONGEST = 0.04  # seconds of a burst, where others have the core, too


def main() -> None:
    """Burns what it is told to."""
    duty = 0.0
    rest = b""
    due = time.monotonic()
    while True:
        pause = max(0.0, due - time.monotonic()) if duty else None
        if select.select([0], [], [], pause)[0]:
            block = os.read(0, 4096)
            if not block:
                return
            *lines, rest = (rest + block).split(b"\n")
            if lines:
                duty = float(lines[-1])
        due = max(due + PERIOD, time.monotonic() - PERIOD)
        burn(PERIOD * duty)


def burn(cpu: float) -> None:
    """Takes so many seconds of CPU time, unless that takes too long."""
    limit = time.monotonic() + LONGEST
    end = time.thread_time() + cpu
    while time.thread_time() < end and time.monotonic() < limit:
        for _ in range(200):
            pass


if __name__ == "__main__":
    if len(sys.argv) == 1:
        main()
