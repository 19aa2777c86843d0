"""What all orders have in common: which indices a pass takes, and which are left of it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sized
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch.utils.data import BatchSampler

from drapps.attributes import attribute_of, length_of
from drapps.torch.told_state import ToldState

OTHER_ORDER = (
    "the sampler gives another order than when the state was saved: seed it, and set its epoch, as "
    "they were then"
)


@dataclass(frozen=True)
class Sampling:
    """What of a loader makes its order; not the loader, which holds the iterator that holds this.

    Attributes:
        sampler: of samples.
        batch_sampler: of batches; None without automatic batching.
        generator: the loader's, or None.
        size: of the dataset; -1 where it has none.
        workers: virtual ones.
        seed: that the user gave, and that makes the order where torch would draw one; or None.
        epoch: that stands beside it in the key.
    """

    sampler: Any
    batch_sampler: Any
    generator: Any
    size: int
    workers: int
    seed: int | None
    epoch: int

    @property
    def indices(self) -> Any:
        """What gives an index per batch."""
        return self.sampler if self.batch_sampler is None else self.batch_sampler

    @property
    def own_generator(self) -> torch.Generator | None:
        """That of the user's which the sampler draws from, if there is one."""
        generator = attribute_of(self.sampler, "generator")
        return generator if isinstance(generator, torch.Generator) else None

    @property
    def draws_from(self) -> torch.Generator:
        """The generator that the sampler draws from."""
        return self.own_generator or torch.default_generator


class PassOrder:
    """The order of one pass, from its beginning or from where a state was saved.

    The sampler runs ahead of the batches that were yielded, so its place is no place to save. What
    is saved is the number of samples yielded, and what makes the same order again.

    Attributes:
        name: as saved states have it.
        within: what a state that lies within a pass holds besides.
        drawn_unseen: nobody can tell how far ahead the sampler has run. A generator of the user's,
            or a sampler of theirs, is in another state then, and the next pass has another order.
        position: samples that the yielded batches held; of this rank.
        before: the state of the sampler's generator before it drew; None where that is not known.
    """

    name: ClassVar[str]
    within: ClassVar[Mapping[str, type]] = {}
    drawn_unseen: ClassVar[bool] = False

    def __init__(self, sampling: Sampling, saved: Mapping[str, Any] | None) -> None:
        """Nothing is drawn yet.

        Args:
            sampling: what makes the order.
            saved: the state to go on from, if any.
        """
        self.sampling = sampling
        self.position = 0
        self.before: torch.Tensor | None = None
        self._saved: Mapping[str, Any] = {"batches": 0} if saved is None else saved
        self._grouped = sampling.batch_sampler is not None
        self._length = -1  # batches of the whole pass, once that is known

    @classmethod
    def needs(cls, saved: Mapping[str, Any]) -> Mapping[str, type]:  # noqa: ARG003
        """What such a state that lies within a pass holds besides."""
        return cls.within

    @classmethod
    def begun_in(cls, saved: Mapping[str, Any]) -> bool:
        """Whether a state holds what such an order needs to go on from."""
        return any(name in saved for name in cls.needs(saved))

    @classmethod
    def identity(cls, sampling: Sampling) -> dict[str, Any]:
        """What a state must agree with."""
        return {"order": cls.name, "size": sampling.size}

    @classmethod
    def positions(cls, sampling: Sampling) -> int | None:  # noqa: ARG003
        """Those of a whole pass, where their number is certain."""
        return None

    def indices(self, fresh: Iterator[Any]) -> Iterator[Any]:
        """The indices that are to come; `fresh` is the sampler's iterator, not begun yet.

        Raises:
            StateError: the sampler does not give the order of the state any more.
        """
        if self._saved["batches"] or self.begun_in(self._saved):
            return self._rest(self._saved["position"])
        return self._fresh(fresh)

    def _fresh(self, fresh: Iterator[Any]) -> Iterator[Any]:
        yield from fresh

    @abstractmethod
    def _rest(self, position: int) -> Iterator[Any]:
        """The indices from `position` on."""

    def _rebatched(self, indices: Iterator[Any], count: int | None) -> Iterator[Any]:
        """Batches of the `count` indices that are left, if that is known."""
        batches, done = self.sampling.batch_sampler, self._saved["batches"]
        if batches is None:
            self._length = -1 if count is None else done + count
            return indices
        size = batches.batch_size
        if count is not None:
            self._length = done + (count // size if batches.drop_last else -(-count // size))
        return iter(BatchSampler(indices, batches.batch_size, batches.drop_last))

    @property
    def length(self) -> int:
        """Batches of the whole pass; -1 where that is not known."""
        if self._length < 0:
            length = length_of(self.sampling.indices)
            self._length = -1 if length is None else length
        return self._length

    def drawn(self, ahead: bool) -> ToldState | None:  # noqa: ARG002
        """The sampler's own state after it gave an index; None for most samplers.

        Args:
            ahead: it gives others before this one is yielded.
        """
        return None

    def yielded(self, index: Any, sampler_state: ToldState | None) -> None:  # noqa: ARG002
        """The batch of `index`, behind which the sampler had this state, was given to the user."""
        self.position += len(index) if self._grouped and isinstance(index, Sized) else 1

    @property
    def place(self) -> int:
        """The position that is saved."""
        return self.position

    def state(self) -> dict[str, Any]:
        """What a state needs besides to give the same order again."""
        return {}

    def consumed(self) -> dict[str, Any]:
        """What tells the indices that were yielded from others."""
        return {}

    @property
    def gives_all_again(self) -> bool:
        """Whether the order can be gone through again from its beginning."""
        return True


def drawn_seed(generator: torch.Generator) -> int:
    """What ``RandomSampler`` draws from the global generator when it begins."""
    return int(torch.empty((), dtype=torch.int64).random_(generator=generator).item())
