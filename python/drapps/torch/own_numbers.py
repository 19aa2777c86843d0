"""Which random numbers are drawn in the caller's process: its own, or those of a seed.

Those of a seed are the same as in a worker process. The global random states are lent to the
dataset while it makes a batch, and are the caller's again behind it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from torch.utils.data._utils import worker as stock

from drapps.torch.drawn import set_packed_states
from drapps.torch.map_job import gives_samples
from drapps.torch.progress import Progress
from drapps.torch.seeding import SampleSeeds, StockNumbers, random_states, set_random_states


class CallersNumbers:
    """The caller's own random numbers."""

    def begin(self, make: Callable[[], Any], start: Mapping[str, Any]) -> Any:  # noqa: ARG002
        """The fetcher that `make` gives.

        Args:
            make: makes it, at the place of the pass.
            start: what a saved stream goes on with.
        """
        return make()

    def fetch(self, fetcher: Any, index: Any) -> Any:
        """The batch of `index` from a stock fetcher."""
        return fetcher.fetch(index)


class SampleNumbers(CallersNumbers):
    """The random numbers of each sample's place."""

    def __init__(self, progress: Progress) -> None:
        """For the samples of this pass."""
        self._progress = progress
        self._seeds = SampleSeeds(progress.key, progress.base_seed)

    def fetch(self, fetcher: Any, index: Any) -> Any:
        """The batch of `index`, as a worker process makes it."""
        kept = random_states()
        self._seeds.keep_initial_seed(0, torch.initial_seed())
        try:
            return self._fetched(fetcher, index)
        finally:
            set_random_states(kept)

    def _fetched(self, fetcher: Any, index: Any) -> Any:
        seeds, dataset = self._seeds, fetcher.dataset
        place = (self._progress.key_epoch, self._progress.position)
        if not fetcher.auto_collation or not gives_samples(dataset):
            seeds.batch(0, *place)
            return fetcher.fetch(index)
        samples = []
        for position, each in enumerate(index, place[1]):
            seeds.sample(0, place[0], position)
            samples.append(dataset[each])
        seeds.batch(0, *place)
        return fetcher.collate_fn(samples)


class StreamNumbers(CallersNumbers):
    """The one stream of numbers that worker 0 has."""

    def __init__(self, progress: Progress) -> None:
        """For the stream of this pass."""
        self._progress = progress
        self._numbers = StockNumbers()
        self._states: Any = None

    def begin(self, make: Callable[[], Any], start: Mapping[str, Any]) -> Any:
        """The fetcher that `make` gives, whose stream may draw as it begins."""
        kept, seed = random_states(), self._progress.base_seed
        try:
            random.seed(seed)
            torch.default_generator.manual_seed(seed)
            np.random.seed(stock._generate_state(seed, 0))  # type: ignore[no-untyped-call]
            self._numbers.start()
            set_packed_states(start.get("began", {}))
            fetcher = make()
            set_packed_states(start.get("drawn", {}))
            self._progress.drew(0, self._numbers.begin_pass())
            self._states = random_states()
        finally:
            set_random_states(kept)
        return fetcher

    def fetch(self, fetcher: Any, index: Any) -> Any:
        """The next batch of the stream."""
        kept = random_states()
        set_random_states(self._states)
        try:
            return fetcher.fetch(index)
        finally:
            self._progress.drew(0, self._numbers.drawn())
            self._states = random_states()
            set_random_states(kept)


def numbers_of(progress: Progress) -> CallersNumbers:
    """The random numbers of a pass in the caller's process."""
    if progress.seed is None:
        return CallersNumbers()
    return StreamNumbers(progress) if progress.is_stream else SampleNumbers(progress)
