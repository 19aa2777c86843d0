"""How samples are made in a process: by the thread that makes them, counted with each batch."""

from __future__ import annotations

import heapq
import os
import time
from typing import Any

from drapps.watching.sampler import Sampler, Watched
from drapps.watching.threads import Spent, ThreadMeter
from drapps.watching.times import Spread

_SLOWEST = 10
_NOTHING = Spent(0.0, 0.0, 0.0, 0, 0)


_LISTS = ("samples", "imgs", "images", "paths", "files", "filenames")


def name_of(dataset: Any, index: Any) -> str:
    """The file of a sample, where its dataset has a list of them; else its index.

    No code of the dataset runs.
    """
    own = getattr(dataset, "__dict__", {})
    if isinstance(index, int) and {"dataset", "indices"} <= own.keys():  # torch's Subset
        inner = own["indices"]
        if isinstance(inner, list) and -len(inner) <= index < len(inner):
            return name_of(own["dataset"], inner[index])
    for name in _LISTS:
        items = own.get(name)
        if isinstance(items, list) and isinstance(index, int) and -len(items) <= index < len(items):
            entry = items[index]
            entry = entry[0] if isinstance(entry, (tuple, list)) and entry else entry
            if isinstance(entry, (str, os.PathLike)):
                return os.fspath(entry)
    return f"sample {index}"


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
        self.dataset: Any = None
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
            heapq.heappush(self._slowest, (seconds, name_of(self.dataset, index)[:300]))
        elif seconds > self._slowest[0][0]:
            heapq.heapreplace(self._slowest, (seconds, name_of(self.dataset, index)[:300]))

    def collates(self) -> None:
        """Its samples become a batch."""
        self._collating = self._meter.read()
        self._watched.phase = "collate"

    def collated(self) -> None:
        """The samples have become a batch."""
        spent = self._meter.read().since(self._collating)
        self._in_collate = self._in_collate.plus(spent)
        self._watched.phase = "items"

    def ends(self) -> None:
        """A batch has ended, or failed."""
        spent = self._meter.read().since(self._began)
        self.items = self.items.plus(spent.since(self._in_collate))
        self.collate = self.collate.plus(self._in_collate)
        self.batches.add(spent.wall_s)
        self.dataset = self.index = None  # which nothing here is to keep
        self._watched.phase = self._outer

    def facts(self) -> dict[str, Any]:
        """All that was counted, JSON-able."""
        return {
            "seconds": time.perf_counter() - self.since,
            "items": self.items._asdict(),
            "collate": self.collate._asdict(),
            "batches": self.batches.facts(),
            "samples": self.samples.facts(),
            "slowest": sorted(self._slowest, reverse=True),
        }
