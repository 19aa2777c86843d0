"""What watching costs: CPU seconds of a step, and of the thread that looks, as JSON."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import drapps

_STEPS = 20_000
_LOOKED_S = 10.0


def steps_s(loader: Iterable[Any]) -> float:
    """CPU seconds of a step of this thread."""
    begun = time.thread_time()
    for _ in loader:
        pass
    return (time.thread_time() - begun) / _STEPS


def looking_share() -> float:
    """Of a core, what all threads but this one take while this one waits."""
    own = time.thread_time()
    begun, before = time.perf_counter(), time.process_time()
    time.sleep(_LOOKED_S)
    spent = time.process_time() - before - (time.thread_time() - own)
    return spent / (time.perf_counter() - begun)


def main() -> None:
    """Measures both."""
    plain = steps_s(iter(range(_STEPS)))
    watched = steps_s(drapps.watch(iter(range(_STEPS))))
    threads = len(list(Path("/proc/self/task").iterdir()))
    costs = {"step_us": 1e6 * (watched - plain), "cpu_share": looking_share(), "threads": threads}
    print(json.dumps(costs))


if __name__ == "__main__":
    main()
