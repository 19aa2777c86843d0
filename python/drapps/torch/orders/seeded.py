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
