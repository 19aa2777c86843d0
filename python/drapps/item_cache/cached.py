"""``drapps.cached``: from a dataset to one whose items are kept."""

from __future__ import annotations

import logging
import sys
from typing import Any

from drapps import _core
from drapps.arguments import Bytes, byte_count, flag
from drapps.errors import PipelineError
from drapps.item_cache.dataset import CachedDataset
from drapps.item_cache.fingerprint import fingerprint
from drapps.item_cache.keeper import Keeper, SharedCache
from drapps.item_cache.reach import Reached

_SLOT = 24  # bytes per item
_SMALL_TABLE = 1 << 20  # bytes
_MOST = 1 << 46  # bytes that a budget may have at all
_FOR_LOADERS = 8  # of the RAM budget, one in so many bytes stays for what loaders do
_log = logging.getLogger("drapps")


def cached(
    dataset: Any,
    version: str | int | None = None,
    *,
    budget: Bytes | None = None,
    frozen: bool = False,
) -> CachedDataset:
    """Keeps what ``dataset[i]`` returns in memory that all worker processes share.

    Each item is made once while the dataset that this returns lives, by whichever process is asked
    for it first, and copied for everybody from then on. What draws random numbers is made anew each
    time, and so is what the budget has no room for: the data are the same with and without. Give it
    what comes before the random transforms.

    Args:
        dataset: map-style: with ``len()`` and ``dataset[i]``. Its samples depend on nothing but
            their index. Kept are samples of None, numbers, strings, bytes, NumPy arrays, tensors,
            Pillow pictures, and tuples, named tuples, lists and dicts of those.
        version: a text or a whole number of your own in the place of the dataset's contents, which
            are hashed otherwise; needed where it does not pickle, or has more than 256 MiB.
        budget: bytes that all items may have together, a number or a size such as ``"2GiB"``; half
            of what this process's RAM budget has free where absent. More than that has free, but
            for an eighth of it, they cannot have: a line of the logger ``drapps`` says so. All of
            it counts as used from now on.
        frozen: keep samples although they were drawn: each stays as it was drawn first.

    Returns:
        A dataset in the place of `dataset`, for any loader.

    Raises:
        PipelineError: the dataset is iterable-style or has no length, there is no `version` where
            one is needed, or the system has no such memory.
    """
    _require_map_style(dataset)
    frozen = flag("frozen", frozen)
    room = _free_memory() // 2 if budget is None else _allowed(byte_count("budget", budget, 0))
    items = _length(dataset)
    reached = Reached(dataset)
    key = fingerprint(dataset, version, reached)
    if _SLOT * items > max(room, _SMALL_TABLE):
        raise PipelineError(
            f"a table of {items} items takes {_SLOT * items} bytes, more than the budget of {room} "
            "for the items themselves: give a larger budget=, or cache a part of the dataset"
        )
    try:
        cache = _core.ItemCache.make(max(items, 1), room, key.key)
    except (OSError, ValueError) as error:
        raise PipelineError(f"cached: {error}") from None
    return CachedDataset(dataset, Keeper(dataset, SharedCache(cache), frozen, reached), key, items)


def _require_map_style(dataset: Any) -> None:
    data: Any = sys.modules.get("torch.utils.data")
    kinds = [getattr(data, name, None) for name in ("IterableDataset", "MapDataPipe")]
    if isinstance(dataset, tuple(filter(None, kinds))):
        raise PipelineError(
            f"{type(dataset).__qualname__} is an iterable-style dataset or a DataPipe, whose "
            "samples have no index to keep them by: give drapps.cached a map-style dataset"
        )
    if not hasattr(type(dataset), "__getitem__"):
        raise PipelineError(
            f"{type(dataset).__qualname__} has no __getitem__, so its samples have no index to "
            "keep them by: give drapps.cached a map-style dataset"
        )


def _length(dataset: Any) -> int:
    try:
        return len(dataset)
    except (TypeError, NotImplementedError) as error:
        raise PipelineError(
            f"{type(dataset).__qualname__} has no length ({error}), so there is no knowing what "
            "its items are: give its class a __len__"
        ) from None


def _allowed(budget: int) -> int:
    """As much of a budget as leaves something to loaders, which would get no memory otherwise."""
    memory = _core.memory()
    limit = int(memory["limit"])
    left = max(0, limit - limit // _FOR_LOADERS - int(memory["used"]))
    if not left < budget <= _MOST:
        return budget
    _log.warning(
        "drapps.cached: budget=%d is more than this process's RAM budget of %d bytes has left for "
        "items, so they may have %d bytes together: give a smaller one, or make a loader with a "
        "larger ram_budget= before, if the machine has that memory",
        budget,
        limit,
        left,
    )
    return left


def _free_memory() -> int:
    memory = _core.memory()
    left = int(memory["limit"]) - int(memory["used"])
    return max(0, min(left, _core.available_memory()))
