"""What was drawn from the global random generators of Python, NumPy and torch.

To ask all three for their states takes 60 us, more than many a small batch: NumPy copies its own
number by number. Which of them have changed is seen in their memory, in 3 us.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch

from drapps.generator_memory import numpy_memory, python_memory

_PYTHON = struct.Struct("<?d")  # whether a Gaussian number is kept, and which; 625 uint32 follow
_NUMPY = struct.Struct("<I?d")  # a place in the 624 uint32 that follow; a kept Gaussian, or none
_KEEPS = 4  # the byte of _NUMPY that says whether a Gaussian number is kept


class Drawn:
    """Tells which generators were drawn from."""

    def __init__(self, known: Mapping[str, bytes] | None = None) -> None:
        """Compares with the packed states `known`; without them all count as changed."""
        self._packed = dict(known or {})
        self._seen: dict[str, bytes] = {}

    def since(self) -> dict[str, bytes]:
        """Of the packed states those that are others than when this was asked before."""
        changed = {}
        for name, (see, pack) in _LIBRARIES.items():
            known = self._packed.get(name, b"")
            seen = see(known)
            if seen and seen == self._seen.get(name):
                continue
            self._seen[name], packed = seen, pack()
            if packed != known:
                self._packed[name] = changed[name] = packed
        return changed


def packed_states() -> dict[str, bytes]:
    """The states by library; empty for a generator that is no Mersenne Twister."""
    return {name: pack() for name, (_, pack) in _LIBRARIES.items()}


def set_packed_states(packed: Mapping[str, bytes]) -> None:
    """Sets some of what `packed_states` gave."""
    if packed.get("python"):
        has_gauss, gauss = _PYTHON.unpack_from(packed["python"])
        words = np.frombuffer(packed["python"], "<u4", offset=_PYTHON.size).tolist()
        random.setstate((random.Random.VERSION, tuple(words), gauss if has_gauss else None))
    if packed.get("torch"):
        torch.set_rng_state(torch.frombuffer(bytearray(packed["torch"]), dtype=torch.uint8))
    if packed.get("numpy"):
        place, has_gauss, gauss = _NUMPY.unpack_from(packed["numpy"])
        keys = np.frombuffer(packed["numpy"], "<u4", offset=_NUMPY.size)
        np.random.set_state(("MT19937", keys, place, int(has_gauss), gauss))


def _pack_python() -> bytes:
    _, words, gauss = random.getstate()
    return _PYTHON.pack(gauss is not None, gauss or 0.0) + np.array(words, "<u4").tobytes()


def _pack_torch() -> bytes:
    return bytes(torch.default_generator.get_state().numpy())


def _pack_numpy() -> bytes:
    state: Any = np.random.get_state()
    if state[0] != "MT19937":
        return b""
    _, keys, place, has_gauss, gauss = state
    return _NUMPY.pack(place, bool(has_gauss), gauss) + bytes(keys)


def _see_python(_known: bytes) -> bytes:
    return python_memory()


def _see_torch(_known: bytes) -> bytes:
    return _pack_torch()


def _see_numpy(known: bytes) -> bytes:
    return b"" if known and known[_KEEPS] else numpy_memory()


# What shows a change of a state, or nothing where only the state itself does; and the state.
_LIBRARIES: dict[str, tuple[Callable[[bytes], bytes], Callable[[], bytes]]] = {
    "python": (_see_python, _pack_python),
    "torch": (_see_torch, _pack_torch),
    "numpy": (_see_numpy, _pack_numpy),
}
