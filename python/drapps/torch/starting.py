"""What a loader's options come to for its workers: where they run, what they run, how many."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from torch.utils.data import IterDataPipe, MapDataPipe, _DatasetKind
from torch.utils.data.dataloader import _BaseDataLoaderIter, _sharding_worker_init_fn

from drapps import _core
from drapps.attributes import attribute_of
from drapps.torch.map_job import MapJob
from drapps.torch.seeding import SampleSeeds, StockNumbers
from drapps.torch.stream_job import StreamJob
from drapps.torch.thread_job import ThreadJob, ThreadSeeds
from drapps.worker.assignment import AnyProcess, Assignment, OwnProcess, SerialProcess, Undecided
from drapps.worker.autoscaler import Autoscaler, MigrationAutoscaler, ProcessAutoscaler
from drapps.worker.launch import SlimServerContext
from drapps.worker.process_knob import ProcessKnob
from drapps.worker.threads import ThreadContext

if TYPE_CHECKING:
    from drapps.torch.base import IteratedLoader


def in_threads(loader: IteratedLoader[Any]) -> bool:
    """The dataset says ``thread_safe = True``, or is lifted text; nothing else needs a process."""
    if loader._text is not None:
        return True
    safe = attribute_of(loader.dataset, "thread_safe") is True
    streams = loader._dataset_kind == _DatasetKind.Iterable
    own = loader.torch_order or loader.worker_init_fn or loader.multiprocessing_context
    return safe and not streams and not own


def context_of(loader: IteratedLoader[Any]) -> tuple[Any, bool]:
    """How processes start, and whether objects of ``__main__`` travel by value."""
    if in_threads(loader):
        return ThreadContext(), False
    if loader.multiprocessing_context is not None:
        return loader.multiprocessing_context, False
    # A CUDA context does not survive a fork; that of the batches' device comes with the first
    # batch.
    used = torch.cuda.is_initialized()  # type: ignore[no-untyped-call]
    if used or (loader._device is not None and loader._device.type == "cuda"):
        return SlimServerContext(), True
    return torch.multiprocessing.get_context(), False


def first_processes(loader: IteratedLoader[Any]) -> Callable[[], int]:
    """What gives how many processes are enough at the start, where any makes any sample."""
    if loader.cpu_budget is None and not loader._auto_workers:
        workers = loader.num_workers
        return lambda: workers
    return lambda: math.ceil(_core.cpu_budget())


def map_assignments(loader: IteratedLoader[Any]) -> Callable[[ProcessKnob], Assignment]:
    """What gives which process makes what of a map-style dataset, whenever processes start.

    What ``worker_init_fn`` did to a process stays there.
    """
    threaded, serial = in_threads(loader), serial_assignments(loader)
    bound = isinstance(loader.dataset, MapDataPipe) or loader.worker_init_fn is not None

    def assignment(knob: ProcessKnob) -> Assignment:
        if knob.own_state:
            return serial(knob)
        if threaded:
            return AnyProcess(knob)
        stateless = OwnProcess(knob) if bound else AnyProcess(knob, ProcessAutoscaler)
        return Undecided(stateless, serial(knob))

    return assignment


def serial_assignments(loader: IteratedLoader[Any]) -> Callable[[ProcessKnob], Assignment]:
    """As `map_assignments`, where what a worker makes depends on what it made before.

    What ``worker_init_fn`` did to a process stays there, and a restart repeats what one was asked.
    """
    stay = loader.on_worker_death == "restart" or loader.worker_init_fn is not None
    return functools.partial(SerialProcess, autoscaler=Autoscaler if stay else MigrationAutoscaler)


def map_job(iterator: _BaseDataLoaderIter, loader: IteratedLoader[Any], key: int) -> MapJob:
    """What the workers of a map-style dataset run; `key` is the seed of the samples' numbers."""
    if in_threads(loader):
        return ThreadJob(**threaded(iterator, loader, key))
    numbers = SampleSeeds(key, int(iterator._base_seed))
    return MapJob(numbers=numbers, **_common(iterator, loader))


def threaded(
    iterator: _BaseDataLoaderIter, loader: IteratedLoader[Any], key: int
) -> dict[str, Any]:
    """What a job of worker threads is made of."""
    numbers = ThreadSeeds(key, int(iterator._base_seed))
    return {"numbers": numbers, **_common(iterator, loader)}


def serial_job(iterator: _BaseDataLoaderIter, loader: IteratedLoader[Any]) -> MapJob:
    """As `map_job`, where each worker draws its stock stream of numbers."""
    return MapJob(numbers=StockNumbers(), **_common(iterator, loader))


def stream_job(
    iterator: _BaseDataLoaderIter, loader: IteratedLoader[Any], resumed: frozenset[int]
) -> StreamJob:
    """What the workers of an iterable-style dataset run; those `resumed` are told their places."""
    size = loader.batch_size or 1
    own = _common(iterator, loader)
    return StreamJob(numbers=StockNumbers(), batch_size=size, resumed=resumed, **own)


def _common(iterator: _BaseDataLoaderIter, loader: IteratedLoader[Any]) -> dict[str, Any]:
    return {
        "dataset": iterator._dataset,
        "auto_collation": iterator._auto_collation,
        "collate_fn": iterator._collate_fn,
        "drop_last": iterator._drop_last,
        "base_seed": int(iterator._base_seed),
        "worker_init_fn": _init_fn_of(iterator, loader),
        "workers": iterator._num_workers,
        "shared_seed": iterator._shared_seed,
        "keeps_random": loader.on_worker_death == "restart",
    }


def _init_fn_of(iterator: _BaseDataLoaderIter, loader: IteratedLoader[Any]) -> Any:
    """The user's ``worker_init_fn``; for a DataPipe it shards, too."""
    if not isinstance(iterator._dataset, (IterDataPipe, MapDataPipe)):
        return loader.worker_init_fn
    shard = (loader.worker_init_fn, iterator._world_size, iterator._rank)
    return functools.partial(_sharding_worker_init_fn, *shard)
