"""Orders of samplers that have a ``state_dict()``."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from typing import Any

from drapps.attributes import has_method
from drapps.errors import StateError
from drapps.torch.orders.order import Sampling
from drapps.torch.orders.replayed import ReplayedOrder
from drapps.torch.told_state import KeptState, LiveState, NoStateError, ToldState, kept_state

_log = logging.getLogger("drapps")


class StatefulOrder(ReplayedOrder):
    """The sampler's own state is saved as it was when the batch yielded last was drawn.

    One that tells no state after all is run again.
    """

    name = "stateful"

    def __init__(self, sampling: Sampling, saved: Mapping[str, Any] | None) -> None:
        super().__init__(sampling, saved)
        batches = sampling.batch_sampler
        self._sampler = batches if has_state(batches) else sampling.sampler
        self._latest_state: ToldState | None = None
        self._warned = False

    @classmethod
    def needs(cls, saved: Mapping[str, Any]) -> Mapping[str, type]:
        """What a state that lies within a pass holds besides."""
        return cls.within if "consumed" in saved else {"sampler": object}

    def _rest(self, position: int) -> Iterator[Any]:
        if "sampler" not in self._saved:
            return super()._rest(position)
        self.position = position
        saved = self._saved["sampler"]
        try:
            self._sampler.load_state_dict(saved)
        except Exception as error:
            name = f"{type(self._sampler).__qualname__}.load_state_dict"
            raise StateError(f"the state's sampler is refused by {name}: {error!r}") from error
        self._latest_state = KeptState(saved)
        return self._sendable(iter(self.sampling.indices))

    def drawn(self, ahead: bool) -> ToldState:
        """The sampler's own state after it gave an index."""
        return kept_state(self._sampler) if ahead else LiveState(self._sampler)

    def yielded(self, index: Any, sampler_state: ToldState | None) -> None:
        """The batch of `index` was given to the user."""
        super().yielded(index, sampler_state)
        if sampler_state is not None:  # not where it was made for nobody
            self._latest_state = sampler_state

    def state(self) -> dict[str, Any]:
        """The sampler's, once a batch was yielded."""
        if self._latest_state is None:
            return {}
        try:
            return {"sampler": self._latest_state.value()}
        except NoStateError as none:
            if not self._warned:
                _log.warning("%s. The sampler will be run again up to the place instead.", none)
            self._warned = True
            return super().state()

    @property
    def gives_all_again(self) -> bool:
        """Whether the order can be gone through again: it goes on from where the sampler is."""
        return False


def has_state(sampler: Any) -> bool:
    """Whether a sampler has a state of its own."""
    return has_method(sampler, "state_dict")
