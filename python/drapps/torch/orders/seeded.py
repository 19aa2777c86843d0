"""Orders of torch's samplers that a seed makes again, or that need none."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import torch

from drapps.torch.orders.order import PassOrder, Sampling, drawn_seed
from drapps.torch.permuted import permuted


class SequentialOrder(PassOrder):
    """One after the other: nothing needs to be saved."""

    name = "sequential"
    drawn_unseen = True

    @classmethod
    def positions(cls, sampling: Sampling) -> int | None:
        """The samples that the sampler gives."""
        return len(sampling.sampler)

    def _rest(self, position: int) -> Iterator[Any]:
        self.position = position
        sampler = self._sampler()
        rest = itertools.islice(iter(sampler), position, None)
        return self._rebatched(rest, len(sampler) - position)

    def _sampler(self) -> Any:
        """A sampler that gives the order of the state."""
        return self.sampling.sampler


class RandomOrder(SequentialOrder):
    """That of torch's ``RandomSampler``: the seed that it drew from the global generator."""

    name = "random"
    within: ClassVar[Mapping[str, type]] = {"sampler_seed": int}

    def _fresh(self, fresh: Iterator[Any]) -> Iterator[Any]:
        self.before = self.sampling.draws_from.get_state()  # as it is when the sampler draws
        yield from fresh

    def _sampler(self) -> Any:
        sampler = copy.copy(self.sampling.sampler)
        sampler.generator = torch.Generator().manual_seed(self._saved["sampler_seed"])
        return sampler

    def state(self) -> dict[str, Any]:
        """The seed, once it was drawn."""
        if self.before is not None:
            generator = torch.Generator()
            generator.set_state(self.before)
            return {"sampler_seed": drawn_seed(generator)}
        if "sampler_seed" in self._saved:
            return {"sampler_seed": int(self._saved["sampler_seed"])}
        return {}


class SeededOrder(SequentialOrder):
    """Our own order of the seed that the user gave, in the place of torch's."""

    name = "seeded"
    within: ClassVar[Mapping[str, type]] = {"order_seed": int}

    def __init__(self, sampling: Sampling, saved: Mapping[str, Any] | None) -> None:
        super().__init__(sampling, saved)
        self._seed, self._epoch = sampling.seed or 0, sampling.epoch
        self._begun = saved is not None and "order_seed" in saved
        if self._begun:
            self._seed = self._saved["order_seed"]
            self._epoch = self._saved.get("key_epoch", self._saved["epoch"])

    @classmethod
    def positions(cls, sampling: Sampling) -> int | None:
        """The samples of the dataset."""
        return sampling.size

    def _fresh(self, fresh: Iterator[Any]) -> Iterator[Any]:
        self._begun = True
        ours = self._batches(0)
        for _ in fresh:  # draws from the generators what stock draws
            yield next(ours)

    def _rest(self, position: int) -> Iterator[Any]:
        self.position = position
        return self._batches(position)

    def _batches(self, position: int) -> Iterator[Any]:
        size = self.sampling.size
        indices = permuted(size, self._seed, self._epoch, position)
        return self._rebatched(indices, size - position)

    def state(self) -> dict[str, Any]:
        """The seed, once the pass has begun."""
        return {"order_seed": self._seed} if self._begun else {}


class LargeSeededOrder(SeededOrder):
    """The same of a large dataset, of which torch's order is not made even to be dropped."""

    def _fresh(self, fresh: Iterator[Any]) -> Iterator[Any]:  # noqa: ARG002
        self._begun = True
        drawn_seed(self.sampling.draws_from)
        yield from self._batches(0)


class PermutedOrder(RandomOrder):
    """Our own order of a large dataset in the place of torch's, which is a list of all samples."""

    name = "permuted"

    def _fresh(self, fresh: Iterator[Any]) -> Iterator[Any]:  # noqa: ARG002
        generator, size = self.sampling.draws_from, self.sampling.size
        self.before = generator.get_state()
        yield from self._rebatched(permuted(size, drawn_seed(generator)), size)

    def _rest(self, position: int) -> Iterator[Any]:
        self.position = position
        size = self.sampling.size
        rest = permuted(size, self._saved["sampler_seed"], first=position)
        return self._rebatched(rest, size - position)
