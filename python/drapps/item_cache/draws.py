"""Whether making a sample drew random numbers.

Looked at are the global generators of Python, NumPy and torch, and all those that the dataset
holds. Code that asks for the seed of its worker, or for the state of a generator, counts as
drawing: it may draw from another one that begins with that. So does a dataset of which something
could not be looked at. What is random by other means is not seen: the system's entropy, the time, a
generator that a sample makes for itself, one that the code of a library hides.
"""

from __future__ import annotations

import _random
import contextlib
import random
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from drapps.generator_memory import numpy_memory, plain_state, python_memory
from drapps.item_cache.reach import Reached

_DRAWING = {name: getattr(random.Random, name) for name in ("random", "getrandbits", "getstate")}
_Marks = tuple[Any, Any, Any, list[Any], list[Any]]


class Draws:
    """Tells for one dataset whether random numbers were drawn."""

    def __init__(self, dataset: Any, reached: Reached | None = None) -> None:
        """Looks at `dataset` when it is asked first, unless what it has `reached` is known."""
        self._dataset = dataset
        self._known = reached
        self._without_gauss = b""  # NumPy's memory, when it was known to keep no Gaussian number

    def unknown(self) -> str:
        """Why something may draw that was not found, as far as was looked; empty where all was."""
        return (self._known or self._reached()).missing

    def before(self) -> _Marks:
        """How all generators stand now, for `since`."""
        held = list((self._known or self._reached()).generators)  # since() sees what has changed
        return _python(), self._numpy(), _torch(), held, list(map(_state, held))

    def since(self, before: _Marks) -> bool:
        """Whether anything was drawn, or may have been, since `before` gave this."""
        python, numpy, torch, held, states = before
        seen = numpy_memory() if isinstance(numpy, bytes) else _state(np.random.mtrand._rand)
        if python != _python() or numpy != seen or torch != _torch():
            return True
        if states != list(map(_state, held)):
            return True
        known = set(map(id, held))
        reached = self._reached()
        new = any(id(generator) not in known for generator in reached.generators)
        return new or reached.reads_states or bool(reached.missing)

    def _reached(self) -> Reached:
        """What the dataset reaches now."""
        if self._known is None:
            self._known = Reached(self._dataset)
        else:
            self._known.refresh()
        return self._known

    def _numpy(self) -> Any:
        """The memory of NumPy's generator where that says all, else its state."""
        memory = numpy_memory()
        if memory and memory == self._without_gauss:
            return memory
        state = np.random.get_state(legacy=False)
        if memory and isinstance(state, dict) and not state["has_gauss"]:
            self._without_gauss = memory
            return memory
        return plain_state(state)


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """The global generators stand afterwards as they stood before."""
    torch: Any = sys.modules.get("torch")
    python, numpys = random.getstate(), np.random.get_state(legacy=False)
    torchs = None if torch is None else torch.default_generator.get_state()
    try:
        yield
    finally:
        random.setstate(python)
        np.random.set_state(numpys)
        if torch is not None:
            torch.default_generator.set_state(torchs)


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
    if isinstance(generator, _random.Random):
        if any(getattr(type(generator), name) is not own for name, own in _DRAWING.items()):
            return object()  # it may have a state of its own
        return generator.getstate()
    if isinstance(generator, np.random.SeedSequence):
        return generator.n_children_spawned
    if isinstance(generator, np.random.RandomState):
        return plain_state(generator.get_state(legacy=False))
    if isinstance(generator, np.random.Generator):
        return _bits(generator.bit_generator)
    if isinstance(generator, np.random.BitGenerator):
        return _bits(generator)
    return bytes(generator.get_state().cpu().numpy())


def _bits(generator: Any) -> Any:
    """States of what Generators draw from, and of what others are spawned from."""
    seed = getattr(generator, "seed_seq", None)
    return plain_state(generator.state), getattr(seed, "n_children_spawned", None)
