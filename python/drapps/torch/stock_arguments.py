"""Arguments that the stock class takes without a look, and fails at later, or in other words.

What the stock class can work with passes, and so does what it refuses in words of its own.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable
from typing import Any

from torch.utils.data import DataLoader

from drapps.arguments import called, number_in
from drapps.errors import PipelineError

_VIRTUAL_WORKERS = 8  # of num_workers="auto": never the number of cores, which the data would show


def workers_of(num_workers: Any) -> tuple[int, bool]:
    """The number of virtual workers, and whether it was left to the loader.

    Raises:
        PipelineError: it is no whole number, and not ``"auto"``.
    """
    if isinstance(num_workers, str) and num_workers == "auto":
        return _VIRTUAL_WORKERS, True
    return _whole("num_workers", num_workers, 'a whole number of workers or "auto"'), False


def _whole(name: str, value: Any, what: str) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise PipelineError(f"{name}={value!r} must be {what}") from None


def check_stock_arguments(
    *,
    workers: int,
    prefetch_factor: Any,
    timeout: Any,
    sampler: Any,
    batch_sampler: Any,
    collate_fn: Any,
    worker_init_fn: Any,
) -> None:
    """Looks at what the stock class would fail at in its loop, or where it compares numbers.

    Raises:
        PipelineError: an argument of a kind that cannot work; it is named.
    """
    if prefetch_factor is not None:
        _whole("prefetch_factor", prefetch_factor, "a whole number of batches")
    seconds = float(timeout) if isinstance(timeout, bool) else number_in(timeout)
    if seconds is None or math.isnan(seconds):
        raise PipelineError(f"timeout={timeout!r} must be a number of seconds from 0")
    for name, given in (("sampler", sampler), ("batch_sampler", batch_sampler)):
        if given is not None and not _iterated(given):
            raise PipelineError(f"{name}={given!r} must be something to iterate over")
    if collate_fn is not None:
        called("collate_fn", collate_fn)
    if worker_init_fn is not None and workers > 0:
        called("worker_init_fn", worker_init_fn)


def _iterated(given: Any) -> bool:
    return isinstance(given, Iterable) or hasattr(type(given), "__getitem__")


def check_can_iterate(loader: DataLoader[Any]) -> None:
    """Refuses what the stock iterators assert, whoever makes the batches.

    Raises:
        AssertionError: as the stock iterators raise it, but it says why.
    """
    if loader.num_workers == 0 and loader.timeout != 0:
        raise AssertionError(
            "a loader without workers requires timeout == 0, and not "
            f"timeout={loader.timeout}: it is about workers, so give num_workers > 0"
        )
    if loader.num_workers > 0 and loader.prefetch_factor == 0:
        raise AssertionError("prefetch_factor must be greater than 0 with workers")


def check_can_set_batch_size(loader: DataLoader[Any]) -> None:
    """Raises where another batch size would change nothing.

    Raises:
        PipelineError: the loader has none, or its persistent workers have begun.
    """
    if loader.batch_size is None:
        raise PipelineError(
            "this loader has no batch size: its batch_sampler, or the dataset, makes batches"
        )
    if loader._iterator is not None:
        raise PipelineError(
            "persistent workers go on with the batches that they began with: set the size before "
            "the first iter(), or leave persistent_workers out"
        )
