"""Whether making a sample drew random numbers.

Looked at are the global generators of Python, NumPy and torch, and all those that the dataset
holds. Code that asks for the seed of its worker counts as drawing: it seeds a generator with that.
What is random by other means is not seen: the system's entropy, the time, a generator that a sample
makes for itself, one of a library's own.
"""

from __future__ import annotations

import random
import sys
from typing import Any

import numpy as np

from drapps.generator_memory import numpy_memory, python_memory
from drapps.item_cache.reach import Reached

_Marks = tuple[Any, Any, Any, list[Any]]


class Draws:
    """Tells for one dataset."""

    def __init__(self, dataset: Any) -> None:
        """Looks at `dataset` when it is asked first."""
        self._dataset = dataset
        self._reached: Reached | None = None
        self._without_gauss = b""  # NumPy's memory, when it was known to keep no Gaussian number

    def before(self) -> _Marks:
        """How all generators stand now, for `since`."""
        if self._reached is None or not self._reached.holds():
            self._reached = Reached(self._dataset)
        held = [_state(generator) for generator in self._reached.generators]
        return _python(), self._numpy(), _torch(), held

    def since(self, before: _Marks) -> bool:
        """Whether anything was drawn, or may have been, since `before` gave this."""
        python, numpy, torch, held = before
        seen = numpy_memory() if isinstance(numpy, bytes) else _state(np.random.mtrand._rand)
        if python != _python() or numpy != seen or torch != _torch():
            return True
        reached = self._reached
        assert reached is not None  # before() has made it
        if reached.asks_for_seed or held != [_state(generator) for generator in reached.generators]:
            return True
        if reached.holds():
            return False
        self._reached = Reached(self._dataset)
        known = {id(generator) for generator in reached.generators}
        return any(id(generator) not in known for generator in self._reached.generators)

    def _numpy(self) -> Any:
        """Its memory where that says all, else its state."""
        memory = numpy_memory()
        if memory and memory == self._without_gauss:
            return memory
        state = np.random.get_state(legacy=False)
        if memory and isinstance(state, dict) and not state["has_gauss"]:
            self._without_gauss = memory
            return memory
        return _plain(state)


def _python() -> Any:
    return python_memory() or random.getstate()


def _torch() -> bytes:
    torch: Any = sys.modules.get("torch")
    return b"" if torch is None else bytes(torch.default_generator.get_state().numpy())


def _state(generator: Any) -> Any:
    """What is equal as long as nothing is drawn."""
    try:
        return _state_of(generator)
    except Exception:  # it has none, as the system's generator, and so counts as drawn from
        return object()


def _state_of(generator: Any) -> Any:
    if isinstance(generator, random.Random):
        return generator.getstate()
    if isinstance(generator, (np.random.RandomState, np.random.Generator)):
        if isinstance(generator, np.random.RandomState):
            return _plain(generator.get_state(legacy=False))
        return _plain(generator.bit_generator.state)
    if isinstance(generator, np.random.BitGenerator):
        return _plain(generator.state)
    return bytes(generator.get_state().cpu().numpy())


def _plain(state: Any) -> Any:
    if isinstance(state, dict):
        return {name: _plain(value) for name, value in state.items()}
    return state.tobytes() if isinstance(state, np.ndarray) else state
