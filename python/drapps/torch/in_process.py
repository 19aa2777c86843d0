"""The iterator of a loader without workers: the stock one, which also knows its place."""

from __future__ import annotations

import contextlib
import functools
import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import torch
from torch.utils.data import IterDataPipe, MapDataPipe
from torch.utils.data.dataloader import (
    _BaseDataLoaderIter,
    _DatasetKind,
    _SingleProcessDataLoaderIter,
)
from torch.utils.data.graph_settings import apply_random_seed, apply_sharding

from drapps.torch.destination import at_once, destination_of
from drapps.torch.own_numbers import numbers_of
from drapps.torch.streams import fetcher_at, state_owner
from drapps.torch.told_state import LiveState, ToldState

if TYPE_CHECKING:
    from drapps.accelerate.acceleration import Acceleration
    from drapps.torch.base import IteratedLoader


class InProcessIterator(_SingleProcessDataLoaderIter):
    """One pass in the caller's process, exactly as stock; the global random state is the user's."""

    def __init__(self, loader: IteratedLoader[Any]) -> None:
        _BaseDataLoaderIter.__init__(self, loader)
        if self._timeout != 0:
            raise AssertionError("_SingleProcessDataLoaderIter requires timeout == 0")
        self._destination = destination_of(loader._device, self)
        progress = self._progress = loader._begin_pass(int(self._base_seed))
        self._sampler_iter = progress.indices(self._sampler_iter)
        if isinstance(self._dataset, IterDataPipe) and progress.seed is not None:
            shared = torch.Generator().manual_seed(progress.shared_seed(self._shared_seed or 0))
            self._dataset = apply_random_seed(self._dataset, shared)
        if isinstance(self._dataset, (IterDataPipe, MapDataPipe)):
            apply_sharding(self._dataset, self._world_size, self._rank)
        start = progress.starts().get(0, {})
        size = [None] * (loader.batch_size or 1) if self._auto_collation else None
        at = functools.partial(fetcher_at, self._new_fetcher, self._dataset, start, size)
        self._within: Callable[[], AbstractContextManager[None]] = contextlib.nullcontext
        self._ended: Callable[[], Any] = lambda: None
        self._accelerate(loader._accelerated())
        self._numbers = numbers_of(progress)
        self._dataset_fetcher = self._numbers.begin(at, start)
        self._state: ToldState | None = None
        if progress.is_stream:
            self._dataset_fetcher.ended = start.get("ended", False)
            owner = state_owner(self._dataset_fetcher)
            self._state = None if owner is None else LiveState(owner)

    def _accelerate(self, acceleration: Acceleration | None) -> None:
        """Has pictures made natively while a batch is."""
        accelerated = None if acceleration is None else acceleration.for_workers(1, here=True)
        if acceleration is not None and accelerated is not None:
            self._within = functools.partial(accelerated.sample, 0)
            ended = self._ended = weakref.finalize(self, acceleration.ended, accelerated)
            ended.atexit = False

    def _new_fetcher(self) -> Any:
        return _DatasetKind.create_fetcher(  # type: ignore[no-untyped-call]
            self._dataset_kind,
            self._dataset,
            self._auto_collation,
            self._collate_fn,
            self._drop_last,
        )

    def _next_data(self) -> Any:
        progress = self._progress
        try:
            index = next(self._sampler_iter)
            sampler_state = progress.drawn(ahead=False)
            data = self._fetched(index, sampler_state)
        except StopIteration:
            progress.over = True
            self._ended()
            raise
        if progress.is_stream:
            progress.advanced(0, self._state, self._dataset_fetcher.ended)
        return at_once(self._destination, data)

    def _fetched(self, index: Any, sampler_state: ToldState | None) -> Any:
        try:
            with self._within():
                data = self._numbers.fetch(self._dataset_fetcher, index)
        except StopIteration:
            raise
        except Exception:
            self._progress.yielded(index, sampler_state)  # the next call goes on behind it
            if self._progress.is_stream:
                self._progress.failed(0)
            raise
        self._progress.yielded(index, sampler_state)
        return data
