"""The child's side: it starts a loader when it is asked to, and measures a stretch of its life.

    {"begin_s": B, "seconds": S}  →  {"samples", "seconds", "cpu_s", "first_batch_s", …}

The stretch begins with the first batch that comes B seconds after the call that makes the loader,
and ends with the first that comes S seconds later. A process answers once.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import drapps
from benchmarks import feed


class Contestant(Protocol):
    """A loader that was started.

    Attributes:
        group: batches after which its pace repeats; a stretch covers a multiple of it.
    """

    group: int

    def batches(self) -> Iterator[int]:
        """Takes batch after batch of an epoch, lets go of it and yields its rows."""
        ...

    def notes(self) -> dict[str, Any]:
        """What joins the answer."""
        ...


def storage_of(spec: dict[str, Any]) -> drapps.storage.EmulatedStorage | None:
    """What the files lie on; None: on this machine's own."""
    return drapps.emulate(**spec["storage"]) if spec["storage"] else None


def serve(start: Callable[[dict[str, Any]], Contestant]) -> None:
    """Runs the child that the only argument, in JSON, describes, until its input ends."""

    def begin(spec: dict[str, Any]) -> feed.Answering:
        return {}, lambda **ask: _measure(start, spec, **ask)

    feed.converse(begin)


def _measure(
    start: Callable[[dict[str, Any]], Contestant],
    spec: dict[str, Any],
    begin_s: float,
    seconds: float,
) -> dict[str, Any]:
    origin = time.perf_counter()
    contestant = start(spec)
    batches = contestant.batches()
    next(batches)
    first_batch_s = time.perf_counter() - origin
    now = origin
    while now < origin + begin_s:
        next(batches)
        now = time.perf_counter()
    began, cpu_s, samples, count = now, feed.cpu_s(), 0, 0
    while now < began + seconds or count % contestant.group:
        samples += next(batches)
        count += 1
        now = time.perf_counter()
    return {
        "samples": samples,
        "seconds": now - began,
        "cpu_s": feed.cpu_s() - cpu_s,
        "first_batch_s": first_batch_s,
        **contestant.notes(),
    }
