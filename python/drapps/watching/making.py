"""How samples are made in a process: by the thread that makes them, counted with each batch."""

from __future__ import annotations

import heapq
import time
from typing import Any

from drapps.watching.sampler import Sampler, Watched
from drapps.watching.threads import Spent, ThreadMeter
from drapps.watching.times import Spread

_SLOWEST = 10
_NOTHING = Spent(0.0, 0.0, 0.0, 0, 0)


class Making:
    """What the batches that one thread makes cost it.

    Calls come in the order of a fetch: `begins`, `sampled` for each sample, `collates` and
    `collated`, `ends`.
    """

    def __init__(self, sampler: Sampler) -> None:
        self._meter = ThreadMeter()
        self._watched: Watched = sampler.watch()
        self._outer: str | None = None
        self._began, self._collating, self._in_collate = _NOTHING, _NOTHING, _NOTHING
        self._sample_began = 0.0
        self.index: Any = None  # of a sample that is made by itself
        self.items, self.collate = _NOTHING, _NOTHING
        self.batches = Spread()
        self.samples = Spread()
        self.since = time.perf_counter()
        self._slowest: list[tuple[float, str]] = []

    def begins(self) -> None:
        """A batch is begun."""
        self._began, self._in_collate = self._meter.read(), _NOTHING
        self._sample_began = self._began.wall_s
        self._outer, self._watched.phase = self._watched.phase, "items"

    def sampled(self, index: Any) -> None:
        """A sample was made."""
        now = time.perf_counter()
        seconds = now - self._sample_began
        self._sample_began = now
        self.samples.add(seconds)
        if len(self._slowest) < _SLOWEST:
            heapq.heappush(self._slowest, (seconds, str(index)[:80]))
        elif seconds > self._slowest[0][0]:
            heapq.heapreplace(self._slowest, (seconds, str(index)[:80]))

    def collates(self) -> None:
        """Its samples become a batch."""
        self._collating = self._meter.read()
        self._watched.phase = "collate"

    def collated(self) -> None:
        """They have become one."""
        spent = self._meter.read().since(self._collating)
        self._in_collate = self._in_collate.plus(spent)
        self._watched.phase = "items"

    def ends(self) -> None:
        """A batch has ended, or failed."""
        spent = self._meter.read().since(self._began)
        self.items = self.items.plus(spent.since(self._in_collate))
        self.collate = self.collate.plus(self._in_collate)
        self.batches.add(spent.wall_s)
        self._watched.phase = self._outer

    def facts(self) -> dict[str, Any]:
        """All of it, JSON-able."""
        return {
            "seconds": time.perf_counter() - self.since,
            "items": self.items._asdict(),
            "collate": self.collate._asdict(),
            "batches": self.batches.facts(),
            "samples": self.samples.facts(),
            "slowest": sorted(self._slowest, reverse=True),
        }
