"""The child's side of a contestant in Python: it starts a loader, and measures it when asked to.

Commands are lines of JSON on standard input, each answered by a line on standard output; the
yardstick speaks the same. The first line comes unasked, once the loader has given batches:

    {"first_batch_s": [...]}                       of each start
    {"warm_s": W, "measure_s": S}  →  {"samples", "seconds", "cpu_s", "consumer_cpu_s", "gaps_s", …}
"""

from __future__ import annotations

import functools
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from demo import meter

Answering = tuple[dict[str, Any], Callable[..., dict[str, Any]]]


class Feed(Protocol):
    """A loader that was started.

    Attributes:
        group: batches after which its pace repeats; a measurement covers a multiple of it.
        notes: if there is such an attribute, what else joins each answer.
    """

    group: int

    def batches(self) -> Iterator[int]:
        """Takes batch after batch, epoch after epoch, lets go of it and yields its rows."""
        ...

    def counters(self) -> dict[str, float]:
        """What it counts about itself, ever rising; its rise joins the answer."""
        ...

    def close(self) -> None:
        """Ends its workers."""
        ...


def converse(begin: Callable[[dict[str, Any]], Answering]) -> None:
    """Answers commands until the input ends.

    `begin` gets what the only argument says, in JSON; it gives the first answer, and what answers
    a command's arguments.
    """
    spec: dict[str, Any] = json.loads(sys.argv[1])
    # The channel is taken away from print(), so that a library's message cannot break it.
    channel = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def answer(what: dict[str, Any]) -> None:
        channel.write(json.dumps(what) + "\n")
        channel.flush()

    first, respond = begin(spec)
    answer(first)
    for line in sys.stdin:
        answer(respond(**json.loads(line)))


def serve(start: Callable[[dict[str, Any]], Feed]) -> None:
    """Runs the child that the only argument, in JSON, describes, until its input ends.

    It starts the loader `starts` times, and goes on with the last.
    """

    def begin(spec: dict[str, Any]) -> Answering:
        first_batch_s = []
        for left in reversed(range(spec["starts"])):
            began = time.perf_counter()
            feed = start(spec)
            batches = feed.batches()
            next(batches)
            first_batch_s.append(time.perf_counter() - began)
            if left:
                feed.close()
                del feed, batches
        return {"first_batch_s": first_batch_s}, functools.partial(_measure, feed, batches)

    converse(begin)


def _measure(feed: Feed, batches: Iterator[int], warm_s: float, measure_s: float) -> dict[str, Any]:
    _take(batches, feed.group, warm_s)
    counters, cpu, consumer = feed.counters(), cpu_s(), time.thread_time()
    began = time.perf_counter()
    samples, ends = _take(batches, feed.group, measure_s)
    return {
        "samples": samples,
        "seconds": ends[-1] - began,
        "consumer_cpu_s": time.thread_time() - consumer,
        "cpu_s": cpu_s() - cpu,
        "gaps_s": [after - before for before, after in zip([began, *ends], ends, strict=False)],
        **{name: value - counters[name] for name, value in feed.counters().items()},
        **getattr(feed, "notes", {}),
    }


def _take(batches: Iterator[int], group: int, seconds: float) -> tuple[int, list[float]]:
    """Takes whole groups until the time is over; returns the samples and when each batch came."""
    samples = 0
    ends: list[float] = []
    limit = time.perf_counter() + seconds
    while not ends or ends[-1] < limit or len(ends) % group:
        samples += next(batches)
        ends.append(time.perf_counter())
    return samples, ends


def cpu_s() -> float:
    """CPU time of this process and of all that live below it, however they were started."""
    ticks = 0
    for pid in meter.tree(os.getpid())[1:]:
        with suppress(OSError):  # it has just ended
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12])
    return time.process_time() + ticks / os.sysconf("SC_CLK_TCK")
