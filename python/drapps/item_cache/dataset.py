"""A dataset whose items are made once, for all worker processes."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from drapps import _core
from drapps.attributes import attribute_of
from drapps.errors import PipelineError
from drapps.item_cache.facts import code_of, same_code
from drapps.item_cache.fingerprint import Fingerprint
from drapps.item_cache.keeper import Keeper, SharedCache, cache_here

if TYPE_CHECKING:
    from torch.utils.data import Dataset as _Base
else:  # whoever has datasets of torch has imported it by now
    _Base = getattr(sys.modules.get("torch.utils.data"), "Dataset", object)

_INTEGERS = (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64)
_MARKS: dict[type, int] = {kind: mark for mark, kind in enumerate((int, *_INTEGERS))}
_UNSET = object()
_OWN = ("dataset", "_keeper", "_fingerprint", "_items")
_log = logging.getLogger("drapps")


class CachedDataset(_Base):  # type: ignore[type-arg]
    """What `drapps.cached` returns: a map-style dataset in the place of another.

    Attributes of the other dataset can be read here; they are set there, before it is cached.

    Attributes:
        dataset: the other one.
        thread_safe: False: it is for worker processes, whatever the other one says.
    """

    thread_safe = False

    def __init__(
        self, dataset: Any, keeper: Keeper | None, fingerprint: Fingerprint, items: int
    ) -> None:
        """For `drapps.cached`, and for a process that receives it.

        Args:
            dataset: the other dataset.
            keeper: of its items; None where they are made each time.
            fingerprint: by which processes know that they mean the same items.
            items: how many can be kept.
        """
        self.dataset = dataset
        self._keeper = keeper
        self._fingerprint = fingerprint
        self._items = items

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, index: Any) -> Any:
        mark = _MARKS.get(type(index))
        if mark is None or self._keeper is None or not 0 <= index < self._items:
            return self.dataset[index]
        return self._keeper.item(int(index), mark, lambda: self.dataset[index])

    @property
    def __getitems__(self) -> Any:
        """Several items at once, where the other dataset gives them so."""
        if attribute_of(self.dataset, "__getitems__") is None:
            raise AttributeError("__getitems__")
        return self._several

    def _several(self, indices: Sequence[Any]) -> Any:
        make = self.dataset.__getitems__
        marks = [_MARKS.get(type(index), -1) for index in indices]
        known = type(indices) is list and -1 not in marks
        known = known and all(0 <= index < self._items for index in indices)
        if self._keeper is None or not known:
            return make(indices)
        return self._keeper.items(list(indices), marks, make, lambda index: self.dataset[index])

    def __getattr__(self, name: str) -> Any:
        if name in _OWN or name.startswith("__"):  # not yet there, or of the class
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self.dataset, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in _OWN and attribute_of(self.dataset, name, _UNSET) is not _UNSET:
            raise AttributeError(
                f"{name} is the other dataset's, of which items may be kept already: set it there, "
                "and call drapps.cached again"
            )
        super().__setattr__(name, value)

    def __repr__(self) -> str:
        return f"drapps.cached({self.dataset!r})"

    def __reduce__(self) -> Any:
        if self._keeper is None:
            return _received, (self.dataset, None, self._fingerprint, self._items)
        shared = self._keeper.shared
        handle = (shared.cache.token, shared.places, self._keeper.frozen)
        return _received, (self.dataset, handle, self._fingerprint, self._items)

    def stats(self) -> dict[str, int]:
        """What the cache holds and has been asked for, by all processes together.

        Returns:
            items: kept, of all there are.
            bytes: of them; at most ``budget``.
            budget: bytes.
            table_bytes: that it takes besides.
            hits: requests for an item that was there.
            misses: requests for one that was not.
            refused: items for which there was no room.
            abandoned: items that were made and may not be kept.
        """
        if self._keeper is None:
            return {}
        return self._keeper.cache.stats()


def uncached(dataset: Any) -> Any:
    """The dataset behind any number of caches."""
    while type(dataset) is CachedDataset:
        dataset = dataset.dataset
    return dataset


def _received(dataset: Any, handle: Any, key: Fingerprint, items: int) -> CachedDataset:
    """What a pickle holds; in the process that made it, and its children, over the same items."""
    if handle is None:
        return CachedDataset(dataset, None, key, items)
    token, places, frozen = handle
    shared = cache_here(token)
    if shared is None and not same_code(code_of(dataset), key.code):
        _log.warning(
            "process %d has other code for %s than the process that made its cache, so it makes "
            "every sample itself: start again after a change of code",
            os.getpid(),
            type(dataset).__qualname__,
        )
        return CachedDataset(dataset, None, key, items)
    if shared is None:
        shared = SharedCache(_attached(token, places, key), places[-1])
    return CachedDataset(dataset, Keeper(dataset, shared, frozen), key, items)


def _attached(token: bytes, places: Sequence[tuple[int, int]], key: Fingerprint) -> _core.ItemCache:
    refusals = []
    for pid, fd in dict.fromkeys(places):
        try:
            cache = _core.ItemCache.attach(pid, fd, token)
        except (OSError, ValueError) as error:
            refusals.append(str(error))
            continue
        if cache.key != key.key:
            raise PipelineError("the cache has items of another dataset; call drapps.cached again")
        return cache
    raise PipelineError("; ".join(refusals))
