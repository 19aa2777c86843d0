"""An emulated training: a storage with a token bucket, cores that sleep, steps that sleep."""

from __future__ import annotations

import collections
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import drapps
from drapps.analysis.journal import Journal
from drapps.analysis.live import about
from drapps.analysis.loaders import AnyLoader
from drapps.analysis.page_cache import Reading
from drapps.analysis.report import AnalysisReport
from drapps.analysis.session import Plan, Session

BATCH, SAMPLE_BYTES, FILES = 8, 20_000, 64
_SMALL = 100  # bytes


@dataclass(frozen=True)
class World:
    """What is emulated.

    Attributes:
        fetch: samples/s of the storage, with none of them in memory.
        prepare: samples/s of one core.
        training: samples/s of the training step.
        cache: the share of the samples that is in memory.
        cores: that prepare.
        depth: batches that may be under way.
    """

    fetch: float
    prepare: float
    training: float
    cache: float = 0.0
    cores: int = 1
    depth: int = 16


class Training(AnyLoader):
    """The loader of such a training, and its step.

    Args:
        world: what is emulated.
        folder: for its files; those that it has already are taken as they are.
    """

    def __init__(self, world: World, folder: Path) -> None:
        super().__init__([], world.depth)
        self.loader = self
        self.world = world
        self.about = {"kind": "emulated", "class": "Training"}
        self.workers, self.samples = 1, FILES
        self.cores, self.choices = float(world.cores), (1.0, 2.0)
        self.in_turn = False
        self.iterate = lambda _: self.chosen(self.cores)
        self._storage = drapps.emulate(bandwidth=world.fetch * SAMPLE_BYTES)
        self.held = world.cache
        self.paths = [folder / f"{number}.bin" for number in range(FILES)]
        self.small = folder / "small.bin"
        for path, size in ((self.small, _SMALL), *((path, SAMPLE_BYTES) for path in self.paths)):
            if not path.exists():
                path.write_bytes(bytes(size))

    def step(self, _batch: Any) -> None:
        """A step of the training."""
        time.sleep(BATCH / self.world.training)

    def read(self, path: Path) -> int:
        """A file, as the storage sends it; gives its size."""
        return len(self._storage.open(path).read())

    def _round(self, cores: float) -> int:
        return self.world.depth if cores else 1  # what was ready ahead does not count

    def chosen(self, cores: float) -> Iterator[Any]:
        """Batches without end, that so many cores prepare."""
        world, number = self.world, 0
        under_way: collections.deque[Future[Any]] = collections.deque()
        fetcher, preparers = ThreadPoolExecutor(1), ThreadPoolExecutor(int(cores))
        try:
            while True:
                while len(under_way) < world.depth:
                    fetched = fetcher.submit(self._fetch, number)
                    under_way.append(preparers.submit(self._prepare, fetched))
                    number += BATCH
                yield under_way.popleft().result()
        finally:
            fetcher.shutdown(cancel_futures=True)
            preparers.shutdown(cancel_futures=True)

    def _fetch(self, first: int) -> int:
        """A batch's files: every so often one lies in memory, so that their share is `held`."""
        size = 0
        for number in range(first, first + BATCH):
            if int((number + 1) * self.held) == int(number * self.held):
                size += self.read(self.paths[number % FILES])
        return size

    def _prepare(self, fetched: Future[int]) -> Any:
        fetched.result()
        time.sleep(BATCH / self.world.prepare)
        return np.zeros((BATCH, 1))

    def _chosen(self, cores: float) -> Iterator[Any]:
        return self.chosen(cores)


class Holding:
    """The samples of a training, which are in memory as far as it says."""

    sample_bytes = float(SAMPLE_BYTES)

    def __init__(self, training: Training) -> None:
        self._training = training

    def hold(self, share: float) -> float:
        """Has that share of the samples be in memory."""
        self._training.held = share
        return share

    def held(self) -> float:
        """The share that is."""
        return self._training.held

    def read(self, depth: int, most_s: float, first: int | None = None) -> Reading:
        """Reads the files one after the other: nothing here is faster for being asked at once."""
        del depth
        training, begun = self._training, time.perf_counter()
        files = size = 0
        while time.perf_counter() - begun < most_s and files < 4 * FILES:
            if training.held < 1:
                path = training.paths[files % FILES] if first is None else training.small
                size += training.read(path)
            else:
                size += SAMPLE_BYTES
            files += 1
        spent = time.perf_counter() - begun
        return Reading(spent, spent / files, files, size)


def analyzed(world: World, folder: Path, seconds: float) -> AnalysisReport:
    """What an analysis of a training finds."""
    training = Training(world, folder)
    journal = Journal(None, about(training))
    session = Session(training, Plan(seconds), journal, holding=Holding(training))
    for batch in session.batches():
        training.step(batch)
    return AnalysisReport.of(journal.facts())


def measured(world: World, folder: Path, seconds: float) -> float:
    """Samples/s of a training, behind what was ready ahead of it."""
    training = Training(world, folder)
    batches = training.chosen(world.cores)
    for _ in range(world.depth + 2):
        training.step(next(batches))
    begun, steps = time.perf_counter(), 0
    while time.perf_counter() - begun < seconds or steps < 2 * world.depth:
        training.step(next(batches))
        steps += 1
    spent = time.perf_counter() - begun
    batches.close()  # type: ignore[attr-defined]
    return steps * BATCH / spent
