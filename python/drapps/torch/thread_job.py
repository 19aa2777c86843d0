"""The user's dataset on worker threads, where the global random states are everybody's."""

from __future__ import annotations

import contextlib
import copy
import random
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch.utils.data._utils import worker as stock

from drapps import _core
from drapps.torch.map_job import MapJob
from drapps.torch.seeding import SampleSeeds

_here = threading.local()


@dataclass(frozen=True)
class SampleGenerators:
    """Generators of one worker thread, seeded anew for each sample.

    Attributes:
        random_generator: of Python.
        torch_generator: of torch.
        numpy_generator: of NumPy.
    """

    random_generator: random.Random
    torch_generator: torch.Generator
    numpy_generator: np.random.Generator


@dataclass(frozen=True)
class ThreadInfo:
    """What `get_worker_info` gives on a worker thread; the fields are those of torch's WorkerInfo.

    Attributes:
        id: of the virtual worker.
        num_workers: how many there are.
        seed: of the virtual worker.
        dataset: which all threads share.
        rng: generators for the sample that is being made.
        worker_method: ``thread``.
    """

    id: int
    num_workers: int
    seed: int
    dataset: Any
    rng: SampleGenerators
    worker_method: str = "thread"


def get_worker_info() -> Any:
    """As ``torch.utils.data.get_worker_info()``, and on worker threads a `ThreadInfo`."""
    info = getattr(_here, "info", None)
    return stock.get_worker_info() if info is None else info


class ThreadSeeds(SampleSeeds):
    """Gives the thread generators of its own instead of seeding the process's."""

    _job: MapJob

    def of(self, job: MapJob) -> ThreadSeeds:
        """The seeds of one thread that runs `job`."""
        mine = copy.copy(self)
        mine._job = job
        mine._bytes = np.zeros(len(torch.default_generator.get_state()), np.uint8)
        return mine

    def _set(self, worker: int, epoch: int, position: int, ordinal: int) -> None:
        key = _core.seed_torch_state(self._bytes, self.seed, epoch, position, ordinal, 0)
        rng = SampleGenerators(
            random.Random(key),
            torch.Generator().manual_seed(key),
            np.random.Generator(np.random.PCG64(key)),
        )
        job = self._job
        seed = self.base_seed + worker
        _here.info = ThreadInfo(worker, job.workers, seed, job.dataset, rng)


@dataclass(kw_only=True)
class ThreadJob(MapJob):
    """A `MapJob` for threads, which leaves the process as it is."""

    _within: Callable[[], AbstractContextManager[None]] = contextlib.nullcontext

    def in_thread(self, within: Callable[[], AbstractContextManager[None]]) -> ThreadJob:
        """A copy with generators of its own."""
        job = copy.copy(self)
        job._within = within
        assert isinstance(self.numbers, ThreadSeeds)
        job.numbers = self.numbers.of(job)
        return job

    def start(self, worker: int, allocate: Callable[[int], Any]) -> None:  # noqa: ARG002
        """Prepares nothing but what is this thread's."""
        self._fetcher = self._new_fetcher()

    def sample(self, index: Any, worker: int, epoch: int, position: int) -> Any:
        """``dataset[index]`` by the virtual worker, with the position's random numbers."""
        with self._within():
            return super().sample(index, worker, epoch, position)

    def collate(self, samples: list[Any], worker: int, epoch: int, position: int) -> Any:
        """The user's collate function; its random numbers are those of the first position."""
        with self._within():
            return super().collate(samples, worker, epoch, position)

    def whole(self, index: Any, worker: int, epoch: int, position: int) -> Any:
        """A batch by the stock fetcher."""
        with self._within():
            return super().whole(index, worker, epoch, position)

    def _become(self, worker: int) -> None:
        """Seeding tells the thread who it is."""
