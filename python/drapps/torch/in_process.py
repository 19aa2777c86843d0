"""The iterator of a loader without workers: the stock one, which also knows its place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch.utils.data._utils.pin_memory import pin_memory
from torch.utils.data.dataloader import _DatasetKind, _SingleProcessDataLoaderIter

from drapps.torch.streams import fetcher_at, state_owner
from drapps.torch.told_state import LiveState, ToldState

if TYPE_CHECKING:
    from drapps.torch.base import IteratedLoader


class InProcessIterator(_SingleProcessDataLoaderIter):
    """One pass in the caller's process, exactly as stock; the global random state is the user's."""

    def __init__(self, loader: IteratedLoader[Any]) -> None:
        super().__init__(loader)
        self._progress = loader._begin_pass(int(self._base_seed))
        self._sampler_iter = self._progress.indices(self._sampler_iter)
        start = self._progress.starts().get(0)
        if start is not None:
            size = [None] * (loader.batch_size or 1) if self._auto_collation else None
            self._dataset_fetcher = fetcher_at(self._fetcher, self._dataset, start, size)
            self._dataset_fetcher.ended = start.get("ended", False)
        owner = state_owner(self._dataset_fetcher) if self._progress.is_stream else None
        self._state = None if owner is None else LiveState(owner)

    def _fetcher(self, anew: bool) -> Any:
        """The stock fetcher, or another one where the dataset was set to a place."""
        if not anew:
            return self._dataset_fetcher
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
            raise
        if progress.is_stream:
            progress.advanced(0, self._state, self._dataset_fetcher.ended)
        if self._pin_memory:
            return pin_memory(data, self._pin_memory_device)  # type: ignore[no-untyped-call]
        return data

    def _fetched(self, index: Any, sampler_state: ToldState | None) -> Any:
        try:
            data = self._dataset_fetcher.fetch(index)
        except StopIteration:
            raise
        except Exception:
            self._progress.yielded(index, sampler_state)  # the next call goes on behind it
            if self._progress.is_stream:
                self._progress.failed(0)
            raise
        self._progress.yielded(index, sampler_state)
        return data
