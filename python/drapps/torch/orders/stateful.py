"""Orders of samplers that have a ``state_dict()``."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from drapps.errors import StateError
from drapps.torch.orders.order import PassOrder, Sampling


class StatefulOrder(PassOrder):
    """The sampler's own state is saved as it was when the batch yielded last was drawn."""

    name = "stateful"
    within: ClassVar[Mapping[str, type]] = {"sampler": object}

    def __init__(self, sampling: Sampling, saved: Mapping[str, Any] | None) -> None:
        super().__init__(sampling, saved)
        batches = sampling.batch_sampler
        self._sampler = batches if has_state(batches) else sampling.sampler
        self._state: Any = None

    def _rest(self, position: int) -> Iterator[Any]:
        self.position = position
        saved = self._saved["sampler"]
        try:
            self._sampler.load_state_dict(saved)
        except Exception as error:
            name = f"{type(self._sampler).__qualname__}.load_state_dict"
            raise StateError(f"the state's sampler is refused by {name}: {error!r}") from error
        self._state = saved
        return iter(self.sampling.indices)

    def drawn(self) -> Any:
        """The sampler's own state after it gave an index."""
        return copy.deepcopy(self._sampler.state_dict())

    def yielded(self, index: Any, sampler_state: Any) -> None:
        """The batch of `index` was given to the user."""
        super().yielded(index, sampler_state)
        self._state = sampler_state

    def state(self) -> dict[str, Any]:
        """The sampler's, once a batch was yielded."""
        return {} if self._state is None else {"sampler": self._state}

    @property
    def gives_all_again(self) -> bool:
        """Whether the order can be gone through again: it goes on from where the sampler is."""
        return False


def has_state(sampler: Any) -> bool:
    """Whether a sampler has a state of its own."""
    return callable(getattr(sampler, "state_dict", None))
