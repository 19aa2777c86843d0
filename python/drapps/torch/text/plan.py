"""What a loader over text runs: batches that are made natively, as a whole.

Whatever the native form has no answer for, the stock code makes: a batch with a null, rows that
cannot be stacked, an index that is none. So it fails as stock does, and with stock's words.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
import torch
from torch.utils.data._utils.fetch import _MapDatasetFetcher

from drapps import _core
from drapps.torch.text.cells import Place
from drapps.torch.text.language import seeded


class TextPlan(ABC):
    """Batches of one dataset and one collator; from any thread.

    Attributes:
        dataset: what samples are of, as reports say it.
        described: what is done with them.
        random: the collator draws.
        stamp: what the plan was made of; see `same_stamp`.
    """

    dataset: ClassVar[str]
    described: tuple[str, ...] = ()
    random = False
    stamp: tuple[Any, ...] = ()

    def __init__(self, loader: Any) -> None:
        """Of the loader's dataset and collator."""
        self._dataset, self._collate_fn = loader.dataset, loader.collate_fn
        self._stock = threading.Lock()

    def batch(self, index: Any, place: Place) -> Any:
        """The batch of the samples that `index` names."""
        batch = self._native_batch(index, place)
        return self._stock_batch(index, place) if batch is None else batch

    @abstractmethod
    def _native_batch(self, index: Any, place: Place) -> Any:
        """The same; None where the stock code is to make it."""

    def _stock_batch(self, index: Any, place: Place) -> Any:
        """As the stock loader makes it: one at a time, as stock tokenizers are for one thread."""
        collate = self._collate_fn
        with self._stock:
            if self.random:
                collate = seeded(collate, _key_of(place))
            return _MapDatasetFetcher(self._dataset, True, collate, False).fetch(index)  # type: ignore[no-untyped-call]


def _key_of(place: Place) -> int:
    """A seed for what is drawn at a place by stock code."""
    unused = np.zeros(len(torch.default_generator.get_state()), np.uint8)
    where = (place.seed, place.epoch, place.position, _core.ORDINAL_BATCH, 0)
    return _core.seed_torch_state(unused, *where) >> 1
