"""What of a loader over Python code makes the order of its samples."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils.data import BatchSampler, DistributedSampler, RandomSampler, SequentialSampler

from drapps.attributes import length_of
from drapps.torch import permuted
from drapps.torch.map_job import gives_samples
from drapps.torch.native_order import is_permutation
from drapps.torch.orders.order import PassOrder, Sampling
from drapps.torch.orders.ranks import DealtOrder, DistributedOrder
from drapps.torch.orders.replayed import ReplayedOrder
from drapps.torch.orders.seeded import (
    LargeSeededOrder,
    PermutedOrder,
    RandomOrder,
    SeededOrder,
    SequentialOrder,
)
from drapps.torch.orders.stateful import StatefulOrder, has_state
from drapps.torch.orders.stream import StreamOrder
from drapps.torch.worker_places import StreamPlaces, WorkerPlaces


@dataclass(frozen=True)
class PythonOrder(Sampling):
    """What makes the order of a loader, and what its batches and random numbers depend on.

    Attributes:
        batch_size: of a stream; None without automatic batching.
        serial: each worker makes its batches one after the other, with its own random numbers, as
            does this process of a stream with a seed.
        whole: the dataset makes whole batches, in workers or by a seed.
        kind: how the order of a pass is made, and made again.
    """

    batch_size: int | None
    serial: bool
    whole: bool
    kind: type[PassOrder]

    @classmethod
    def of(cls, loader: Any, saved: Mapping[str, Any] | None = None, epoch: int = 0) -> PythonOrder:
        """The order of `loader`.

        Args:
            loader: whose order it is.
            saved: the state of a pass, which says whether a seed makes its order, and which.
            epoch: of a new pass, beside that seed.
        """
        stream = loader._dataset_kind == torch.utils.data._DatasetKind.Iterable
        size = None if stream else length_of(loader.dataset)
        batches = loader._index_sampler if loader._auto_collation else None
        sampler = loader._index_sampler if batches is None else loader.sampler
        if type(batches) is BatchSampler:
            sampler = batches.sampler
        kind = _kind_of(sampler, batches, None if loader.torch_order else size)
        seed = _given_seed(loader, saved)
        by_seed = seed is not None
        if saved is not None and ("order_seed" in saved or "given_seed" not in saved):
            by_seed = saved.get("order") == SeededOrder.name
        if by_seed and size is not None and _is_loaders_shuffle(sampler, size, loader.generator):
            kind = LargeSeededOrder if size >= permuted.LARGE else SeededOrder
        workers = loader.num_workers > 0
        return cls(
            sampler=sampler,
            batch_sampler=batches,
            generator=loader.generator,
            size=-1 if size is None else size,
            workers=loader.num_workers,
            seed=seed,
            epoch=epoch,
            batch_size=loader.batch_size,
            serial=(workers and loader.torch_order) or (stream and (workers or seed is not None)),
            whole=(workers or seed is not None) and not (stream or gives_samples(loader.dataset)),
            kind=StreamOrder if stream else kind,
        )

    @property
    def stream(self) -> bool:
        """The dataset is iterable-style."""
        return self.kind is StreamOrder

    @property
    def positions(self) -> int | None:
        """Positions of a whole pass, where that is certain; over all ranks, if they count so."""
        return self.kind.positions(self)

    @property
    def identity(self) -> dict[str, Any]:
        """What a state must agree with."""
        return self.kind.identity(self)

    @property
    def places(self) -> type[WorkerPlaces]:
        """What a state holds of where workers are."""
        return StreamPlaces if self.stream else WorkerPlaces


def _given_seed(loader: Any, saved: Mapping[str, Any] | None) -> int | None:
    """The seed that the user gave; of a pass that was saved, the seed given then."""
    own = None if loader.torch_order or loader.seed is None else loader.seed % (1 << 64)
    return own if saved is None else saved.get("given_seed", own)


def _is_loaders_shuffle(sampler: Any, size: int, generator: Any) -> bool:
    """With a generator of its own an order is reproducible without the loader's seed."""
    return is_permutation(sampler, size) and sampler.generator in (None, generator)


def _kind_of(sampler: Any, batches: Any, size: int | None) -> type[PassOrder]:
    if has_state(batches) or has_state(sampler):
        return StatefulOrder
    if batches is not None and type(batches) is not BatchSampler:
        return ReplayedOrder
    if type(sampler) is SequentialSampler:
        return SequentialOrder
    if size is not None and size >= permuted.LARGE:
        if is_permutation(sampler, size):
            return PermutedOrder
        if type(sampler) is DistributedSampler and sampler.shuffle:
            return DealtOrder
    if type(sampler) is RandomSampler and sampler.generator is None:
        return RandomOrder
    if type(sampler) is DistributedSampler:
        return DistributedOrder
    return ReplayedOrder
