"""No order of samples: an iterable-style dataset gives what it gives."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from drapps.torch.orders.order import PassOrder, Sampling
from drapps.torch.told_state import ToldState


class StreamOrder(PassOrder):
    """Each virtual worker has a stream, and a state the place of each."""

    name = "stream"

    @classmethod
    def identity(cls, sampling: Sampling) -> dict[str, Any]:
        """What a state must agree with."""
        return {"order": cls.name, "workers": sampling.workers}

    def indices(self, fresh: Iterator[Any]) -> Iterator[Any]:
        """As many as are asked for."""
        return fresh

    @property
    def length(self) -> int:
        """Not known: -1."""
        return -1

    def yielded(self, index: Any, sampler_state: ToldState | None) -> None:
        """The batch was given to the user."""
