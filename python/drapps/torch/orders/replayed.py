"""Orders of any other sampler: it is run again up to the place."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, MappingView, Sized
from typing import Any, ClassVar

from torch.utils.data import BatchSampler

from drapps.attributes import length_of
from drapps.errors import StateError
from drapps.torch.generator_text import packed, unpacked
from drapps.torch.orders.digest import BatchDigest, Digest, SampleDigest
from drapps.torch.orders.order import OTHER_ORDER, PassOrder, Sampling
from drapps.torch.told_state import ToldState


class ReplayedOrder(PassOrder):
    """The state of the generator that the sampler draws from is saved, and a digest.

    Batches of torch's batch sampler may be cut anew; those of another one are given again.
    """

    name = "replayed"
    within: ClassVar[Mapping[str, type]] = {"generator": str, "consumed": str}

    def __init__(self, sampling: Sampling, saved: Mapping[str, Any] | None) -> None:
        super().__init__(sampling, saved)
        batches = sampling.batch_sampler
        self._own_batches = batches is not None and type(batches) is not BatchSampler
        cut = str(self._saved.get("consumed", SampleDigest.prefix))
        by_sample = not self._own_batches and cut.startswith(SampleDigest.prefix)
        self._digest: Digest = SampleDigest() if by_sample else BatchDigest()

    def _fresh(self, fresh: Iterator[Any]) -> Iterator[Any]:
        self.before = self.sampling.draws_from.get_state()  # as it is when the sampler draws
        yield from self._sendable(fresh)

    def _sendable(self, indices: Iterator[Any]) -> Iterator[Any]:
        """Batches as a worker process can be told them: no generators, and no views of dicts."""
        return map(_listed, indices) if self._own_batches and self.sampling.workers else indices

    def _rest(self, position: int) -> Iterator[Any]:
        saved, generator = self._saved, self.sampling.draws_from
        by_sample = isinstance(self._digest, SampleDigest)
        kept = generator.get_state()
        self.before = unpacked("generator", saved["generator"])
        generator.set_state(self.before)
        if by_sample:
            order = iter(self.sampling.sampler)
        else:
            order = self._sendable(iter(self.sampling.indices))
        for index in itertools.islice(order, position if by_sample else saved["batches"]):
            if by_sample:
                self.position += 1
                self._digest.add(index, sized=False)
            else:
                self.yielded(index, None)
        ahead = list(itertools.islice(order, 1))  # it draws at the first one, at the latest
        if self.sampling.own_generator is None:  # the global random state belongs to the user
            generator.set_state(kept)
        if (self._digest.text, self.position) != (saved["consumed"], position):
            raise StateError(OTHER_ORDER)
        rest = itertools.chain(ahead, order)
        return self._rebatched(rest, self._left()) if by_sample else rest

    def _left(self) -> int | None:
        """Samples of the sampler that are to come; None where it does not say how many it has."""
        length = length_of(self.sampling.sampler)
        return None if length is None else max(0, length - self.position)

    def yielded(self, index: Any, sampler_state: ToldState | None) -> None:
        """The batch of `index` was given to the user."""
        super().yielded(index, sampler_state)
        self._digest.add(index, self._grouped and isinstance(index, Sized))

    def state(self) -> dict[str, Any]:
        """The generator's state, once the sampler has begun, and the digest."""
        if self.before is None:
            return {}
        return {**self.consumed(), "generator": packed(self.before)}

    def consumed(self) -> dict[str, Any]:
        """The digest."""
        return {"consumed": self._digest.text}


def _listed(index: Any) -> Any:
    sendable = isinstance(index, Sized) and not isinstance(index, MappingView)
    return index if sendable or not isinstance(index, Iterable) else list(index)
