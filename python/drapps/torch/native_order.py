"""Where the order of the samples comes from: our own sampler, or the user's."""

from __future__ import annotations

import copy
import hashlib
import itertools
import operator
from collections.abc import Iterator, Sequence, Sized
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

import torch
import torch.utils.data
from torch.utils.data import (
    BatchSampler,
    DistributedSampler,
    RandomSampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)

from drapps.attributes import attribute_of
from drapps.torch.recognise import NotLifted, name_of, require_pristine

if TYPE_CHECKING:
    from drapps.source import Int64Array


_APART = 0x9E3779B97F4A7C15  # an odd multiple of it keeps the keys of different ranks apart
# Samplers that end, and the libraries whose changes of them end, too.
_FINITE = (
    DistributedSampler,
    RandomSampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)
_KNOWN = ("accelerate", "lightning", "pytorch_lightning", "timm", "torch", "transformers")


class Kind(Enum):
    """How the order is made."""

    SEQUENTIAL = "sequential"
    SHUFFLED = "shuffled"
    SAMPLER = "sampler"


@dataclass(frozen=True, eq=False)
class NativeOrder:
    """The order of one loader's samples.

    Attributes:
        kind: how it is made.
        sampler: the user's sampler, which `Kind.SAMPLER` iterates once per epoch.
        batch_size: samples per batch.
        drop_last: leave out a last batch that is smaller.
        size: samples of the dataset.
        draws: the user's generator, where torch's `RandomSampler` draws from it; the global one,
            where it takes a seed from there and shuffles natively. `StockDraws` draws in its place.
    """

    kind: Kind
    sampler: Any
    batch_size: int
    drop_last: bool
    size: int
    draws: torch.Generator | None = None

    def __str__(self) -> str:
        if self.kind is Kind.SEQUENTIAL:
            return "sequential"
        if self.kind is Kind.SHUFFLED:
            return "shuffled by DRAPPS' sampler from the seed that each iter() draws"
        if isinstance(self.sampler, Listed):
            return "given by the batches that the batch sampler lists"
        return f"given by {name_of(self.sampler)}"

    def indices(self) -> tuple[Int64Array, Exception | None]:
        """One epoch of the user's sampler, and what it raised behind them, if it did."""
        import numpy as np

        sampler, failures = self.sampler, []
        if self.draws is not None:
            sampler = copy.copy(sampler)
            sampler.generator = torch.Generator()
            sampler.generator.set_state(self.draws.get_state())

        def until_it_fails() -> Iterator[int]:
            try:
                yield from (int(index) for index in sampler)
            except Exception as error:
                failures.append(error)

        drawn = np.fromiter(until_it_fails(), np.int64)
        drawn[(-self.size <= drawn) & (drawn < 0)] += self.size
        return drawn, failures[0] if failures else None

    def own_seed(self, seed: int) -> int:
        """The seed of this rank, so that ranks with one seed draw apart.

        The core would fold a rank in just so, but it would also deal among the ranks of a world,
        and refuse those sizes that leave a rank without a row. A user's sampler has dealt already.
        """
        rank = rank_of(self.sampler) if self.kind is Kind.SAMPLER else 0
        return (seed + rank * _APART) % (1 << 64)


def rank_of(sampler: Any) -> int:
    """The rank that a sampler deals for: its own, else this process's."""
    rank = attribute_of(sampler, "rank")
    if isinstance(rank, int):
        return rank
    distributed = torch.distributed
    if distributed.is_available() and distributed.is_initialized():
        return int(distributed.get_rank())
    return 0


class Listed:
    """The indices of batches that stand in a list, one behind the other."""

    def __init__(self, batches: Sequence[Sequence[Any]]) -> None:
        self._batches = batches

    def __len__(self) -> int:
        return sum(map(len, self._batches))

    def __iter__(self) -> Iterator[int]:
        return map(operator.index, itertools.chain.from_iterable(self._batches))


def recognise_order(loader: torch.utils.data.DataLoader[Any], size: int) -> NativeOrder:
    """How `loader` orders `size` samples.

    Raises:
        NotLifted: it batches by a class of its own, by lists that differ in length, or by a sampler
            that may never end.
    """
    batches: Any = loader.batch_sampler
    if type(batches) in (list, tuple):
        return _listed(batches, size)
    if type(batches) is not BatchSampler:
        raise NotLifted(f"the batch sampler is {name_of(batches)}")
    require_pristine(batches, ("__iter__", "__len__"))
    sampler: Any = batches.sampler
    kind = Kind.SAMPLER
    draws = sampler.generator if type(sampler) is RandomSampler else None
    if type(sampler) in (SequentialSampler, RandomSampler):
        require_pristine(sampler, ("__iter__", "__len__"))
    if type(sampler) is SequentialSampler and len(sampler.data_source) == size:
        kind = Kind.SEQUENTIAL
    elif is_permutation(sampler, size) and sampler.generator in (None, loader.generator):
        # With a generator of its own the order is reproducible without the loader's seed: keep it.
        kind, draws = Kind.SHUFFLED, draws or torch.default_generator
    elif not isinstance(sampler, Sized):
        raise NotLifted(f"the sampler {name_of(sampler)} has no length, so it may never end")
    elif not _ends(sampler):
        raise NotLifted(f"the sampler {name_of(sampler)} may give more than its length says")
    return NativeOrder(kind, sampler, batches.batch_size, batches.drop_last, size, draws)


def _listed(batches: Sequence[Any], size: int) -> NativeOrder:
    """The order that a list of batches gives, where only the last may be smaller than the others.

    Raises:
        NotLifted: what it lists are no such batches.
    """
    if not all(type(batch) in (list, tuple) for batch in batches):
        raise NotLifted("the batch sampler lists something else than lists of indices")
    sizes = [len(batch) for batch in batches]
    if not sizes or not 0 < sizes[-1] <= sizes[0] or set(sizes[:-1]) - {sizes[0]}:
        raise NotLifted("the batch sampler lists batches of several sizes, or none")
    return NativeOrder(Kind.SAMPLER, Listed(batches), sizes[0], False, size)


def _ends(sampler: Any) -> bool:
    """Whether it can be read whole: a sequence, or a sampler of a library that is known to end.

    A length says nothing: samplers that never end have one too, for progress bars.
    """
    if isinstance(sampler, (Sequence, torch.Tensor)) or name_of(sampler) == "numpy.ndarray":
        return True
    maker = next((each for each in type(sampler).__mro__ if "__iter__" in vars(each)), object)
    return isinstance(sampler, _FINITE) and maker.__module__.split(".")[0] in _KNOWN


def is_permutation(sampler: Any, size: int) -> bool:
    """Whether it is torch's own shuffle of `size` samples."""
    if type(sampler) is not RandomSampler or sampler.replacement:
        return False
    return len(sampler.data_source) == size == sampler.num_samples


class StockDraws:
    """Draws what torch's `RandomSampler` does when it is asked for batches: no more, no earlier.

    From a generator of the user's it draws a permutation, or 32 indices with replacement, where it
    is asked for the first of them, and once more where it is asked for one behind the last. From
    the global generator it draws a seed when it begins.
    """

    def __init__(self, order: NativeOrder) -> None:
        self._order = order
        self._done = 0

    def asked(self, batches: int) -> None:
        """So many batches have been asked for."""
        order, sampler, generator = self._order, self._order.sampler, self._order.draws
        if generator is None:
            return
        if sampler.generator is None:
            if not self._done and batches:
                torch.empty((), dtype=torch.int64).random_()
                self._done = 1
            return
        size, given = len(sampler.data_source), len(sampler)
        many = 32 if sampler.replacement else size
        wanted = min(-(-batches * order.batch_size // many), given // many + 1)
        for begun in range(self._done * many, wanted * many, many):
            if sampler.replacement:
                torch.randint(size, (min(many, given - begun),), generator=generator)
            else:
                torch.randperm(size, generator=generator)
        self._done = max(self._done, wanted)


class Consumed:
    """Digests of the beginnings of one order, by which a resumed sampler is recognised."""

    def __init__(self, indices: Int64Array) -> None:
        self._indices = indices
        self._hash = hashlib.blake2b(digest_size=8)
        self._done = 0

    def upto(self, position: int) -> str:
        """Sixteen hex digits of the first indices; `position` never goes back."""
        self._hash.update(self._indices[self._done : position].tobytes())
        self._done = max(self._done, position)
        return self._hash.hexdigest()
