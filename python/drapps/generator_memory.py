"""The memory of the global random generators of Python and NumPy, where a draw shows at once.

Asking for their states takes tens of microseconds: each is made number by number.
"""

from __future__ import annotations

import ctypes
import random
from typing import Any

import numpy as np

_Words = ctypes.c_uint32 * 625


def python_memory() -> bytes:
    """What is another after each draw from Python's generator; empty where it cannot be seen."""
    if _python_words is None:
        return b""
    generator: Any = random._inst
    return _python_words.tobytes() + b"%r" % generator.gauss_next


def numpy_memory() -> bytes:
    """As `python_memory`, of NumPy's generator; a Gaussian number that it keeps leaves no trace."""
    generator: Any = np.random.mtrand._rand._bit_generator
    if type(generator) is not np.random.MT19937:
        return b""
    return bytes(_Words.from_address(generator.ctypes.state_address))


def plain_state(state: Any) -> Any:
    """A state of NumPy's, such that equal ones are equal."""
    if isinstance(state, dict):
        return {name: plain_state(value) for name, value in state.items()}
    return state.tobytes() if isinstance(state, np.ndarray) else state


def _python_memory() -> memoryview | None:
    """The words of Python's generator, if they lie where CPython has had them so far."""
    generator: Any = random._inst
    if type(generator).__basicsize__ < object.__basicsize__ + ctypes.sizeof(_Words):
        return None
    words = _Words.from_address(id(generator) + object.__basicsize__)
    *state, place = random.getstate()[1]
    return memoryview(words).cast("B") if list(words) == [place, *state] else None


_python_words = _python_memory()
