"""Orders of ``DistributedSampler``, of which any other number of ranks can deal out what is left.

They need the sampler's seed and epoch, which it has itself; positions count over all ranks.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterator, Mapping
from typing import Any

from drapps.torch.orders.order import PassOrder, Sampling
from drapps.torch.permuted import permuted


class DistributedOrder(PassOrder):
    """That of the sampler, dealt out among its ranks."""

    name = "distributed"
    drawn_unseen = True

    def __init__(self, sampling: Sampling, saved: Mapping[str, Any] | None) -> None:
        super().__init__(sampling, saved)
        self._dealt = 0  # samples that all ranks together had yielded when the ranks changed
        self._start = 0  # this rank's position then

    @classmethod
    def positions(cls, sampling: Sampling) -> int | None:
        """The samples of all ranks."""
        return len(sampling.sampler.dataset)

    def _rest(self, position: int) -> Iterator[Any]:
        """What all ranks have left, of which each takes as many samples."""
        sampler = self.sampling.sampler
        ranks, size = sampler.num_replicas, len(sampler.dataset)
        self._dealt = position
        self.position = self._start = position // ranks
        left = size - position
        each = left // ranks if sampler.drop_last else -(-left // ranks)
        mine = self._mine(position + sampler.rank, ranks, each)
        return self._rebatched(mine, each)

    def _mine(self, first: int, ranks: int, count: int) -> Iterator[Any]:
        """So many samples of the whole order, `ranks` apart."""
        everything = copy.copy(self.sampling.sampler)
        everything.num_replicas, everything.rank, everything.drop_last = 1, 0, False
        everything.num_samples = everything.total_size = len(everything.dataset)
        padded = itertools.cycle(list(everything))  # as the sampler pads
        return itertools.islice(padded, first, first + count * ranks, ranks)

    @property
    def place(self) -> int:
        """Samples that were yielded, over all ranks."""
        sampler = self.sampling.sampler
        place: int = self._dealt + (self.position - self._start) * sampler.num_replicas
        return min(place, len(sampler.dataset))

    @property
    def gives_all_again(self) -> bool:
        """Whether the order can be gone through again: not where the ranks were others."""
        return self._dealt == 0


class DealtOrder(DistributedOrder):
    """Our own order of a large dataset, dealt out in the same way."""

    name = "dealt"

    def _fresh(self, fresh: Iterator[Any]) -> Iterator[Any]:  # noqa: ARG002
        yield from self._rest(0)

    def _mine(self, first: int, ranks: int, count: int) -> Iterator[Any]:
        sampler = self.sampling.sampler
        size = len(sampler.dataset)
        return permuted(size, sampler.seed, sampler.epoch, first, ranks, count)
