"""Where the user's code runs: in processes, and how those start, or on threads."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import torch
from torch.utils.data import IterDataPipe, MapDataPipe, _DatasetKind
from torch.utils.data.dataloader import _BaseDataLoaderIter, _sharding_worker_init_fn

from drapps.torch.job import TorchJob
from drapps.torch.seeding import SampleSeeds
from drapps.torch.thread_job import ThreadJob, ThreadSeeds
from drapps.worker.launch import SlimServerContext
from drapps.worker.threads import ThreadContext

if TYPE_CHECKING:
    from drapps.torch.base import IteratedLoader


def in_threads(loader: IteratedLoader[Any]) -> bool:
    """The dataset says ``thread_safe = True``, and nothing else needs a process."""
    safe = getattr(loader.dataset, "thread_safe", False) is True
    streams = loader._dataset_kind == _DatasetKind.Iterable
    own = loader.torch_order or loader.worker_init_fn or loader.multiprocessing_context
    return safe and not streams and not own


def context_of(loader: IteratedLoader[Any]) -> tuple[Any, bool]:
    """How processes start, and whether objects of ``__main__`` travel by value."""
    if in_threads(loader):
        return ThreadContext(), False
    if loader.multiprocessing_context is not None:
        return loader.multiprocessing_context, False
    # A CUDA context does not survive a fork.
    if torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        return SlimServerContext(), True
    return torch.multiprocessing.get_context(), False


def job_of(iterator: _BaseDataLoaderIter, loader: IteratedLoader[Any], key: int) -> TorchJob:
    """What the workers of an iterator run; `key` is the seed of the samples' random numbers."""
    init = loader.worker_init_fn
    if isinstance(iterator._dataset, (IterDataPipe, MapDataPipe)):
        init = functools.partial(
            _sharding_worker_init_fn, init, iterator._world_size, iterator._rank
        )
    streams = iterator._dataset_kind == _DatasetKind.Iterable
    base = int(iterator._base_seed)
    reseeds = not (streams or loader.torch_order)
    threaded = in_threads(loader)
    seeds = ThreadSeeds if threaded else SampleSeeds
    return (ThreadJob if threaded else TorchJob)(
        dataset=iterator._dataset,
        kind=iterator._dataset_kind,
        auto_collation=iterator._auto_collation,
        collate_fn=iterator._collate_fn,
        drop_last=iterator._drop_last,
        batch_size=loader.batch_size or 1,
        base_seed=base,
        worker_init_fn=init,
        workers=iterator._num_workers,
        shared_seed=iterator._shared_seed,
        seeds=seeds(key, base) if reseeds else None,
        keeps_random=loader.on_worker_death == "restart",
        watches=not (streams or threaded),
    )
