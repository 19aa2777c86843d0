"""What of a loader over Python code makes the order of its samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch.utils.data import BatchSampler, DistributedSampler, RandomSampler, SequentialSampler

from drapps.torch import permuted
from drapps.torch.map_job import gives_samples
from drapps.torch.native_order import is_permutation


@dataclass(frozen=True)
class PythonOrder:
    """What of a loader makes its order; not the loader, which holds the iterator that holds this.

    Attributes:
        sampler: of samples.
        batch_sampler: of batches; None without automatic batching.
        generator: the loader's, or None.
        stream: the dataset is iterable-style.
        size: of the dataset; -1 where it has none.
        batch_size: of a stream; None without automatic batching.
        workers: virtual ones.
        serial: each of them makes its batches one after the other, with its own random numbers.
        whole: the dataset makes whole batches, in workers.
        kind: how the order is made again, see `drapps.torch.progress`.
    """

    sampler: Any
    batch_sampler: Any
    generator: Any
    stream: bool
    size: int
    batch_size: int | None
    workers: int
    serial: bool
    whole: bool
    kind: str

    @classmethod
    def of(cls, loader: Any) -> PythonOrder:
        """The order of `loader`."""
        stream = loader._dataset_kind == torch.utils.data._DatasetKind.Iterable
        size = len(loader.dataset) if not stream and hasattr(loader.dataset, "__len__") else -1
        batches = loader._index_sampler if loader._auto_collation else None
        sampler = loader._index_sampler if batches is None else loader.sampler
        if type(batches) is BatchSampler:
            sampler = batches.sampler
        kind = _kind_of(sampler, batches, None if loader.torch_order else size)
        serial = loader.num_workers > 0 and (stream or loader.torch_order)
        return cls(
            sampler=sampler,
            batch_sampler=batches,
            generator=loader.generator,
            stream=stream,
            size=size,
            batch_size=loader.batch_size,
            workers=loader.num_workers,
            serial=serial,
            whole=loader.num_workers > 0 and not (stream or gives_samples(loader.dataset)),
            kind="stream" if stream else kind,
        )

    @property
    def indices(self) -> Any:
        """What gives an index per batch."""
        return self.sampler if self.batch_sampler is None else self.batch_sampler

    @property
    def stateful(self) -> Any:
        """The sampler that has a state of its own."""
        return self.batch_sampler if _has_state(self.batch_sampler) else self.sampler

    @property
    def drawn_unseen(self) -> bool:
        """Whether nobody can tell how far ahead the sampler has run.

        A generator of the user's, or a sampler of theirs, is in another state then, and the next
        pass has another order.
        """
        return self.kind in ("sequential", "random") or self.computed or self.over_ranks

    @property
    def computed(self) -> bool:
        """It is an order of ours in the place of torch's, which is a list of all samples."""
        return self.kind in ("permuted", "dealt")

    @property
    def over_ranks(self) -> bool:
        """Positions count over all ranks."""
        return self.kind in ("distributed", "dealt")

    @property
    def places(self) -> int | None:
        """Positions of a whole pass, where that is certain; over all ranks, if they count so."""
        if self.over_ranks:
            return len(self.sampler.dataset)
        return len(self.sampler) if self.kind in ("sequential", "random", "permuted") else None

    @property
    def identity(self) -> dict[str, Any]:
        """What a state must agree with."""
        if self.stream:
            return {"order": "stream", "workers": self.workers}
        return {"order": self.kind, "size": self.size}


def _has_state(sampler: Any) -> bool:
    return callable(getattr(sampler, "state_dict", None))


def _kind_of(sampler: Any, batches: Any, size: int | None) -> str:
    if _has_state(batches) or _has_state(sampler):
        return "stateful"
    if batches is not None and type(batches) is not BatchSampler:
        return "replayed"
    if type(sampler) is SequentialSampler:
        return "sequential"
    if size is not None and size >= permuted.LARGE:
        if is_permutation(sampler, size):
            return "permuted"
        if type(sampler) is DistributedSampler and sampler.shuffle:
            return "dealt"
    if type(sampler) is RandomSampler and sampler.generator is None:
        return "random"
    if type(sampler) is DistributedSampler:
        return "distributed"
    return "replayed"
