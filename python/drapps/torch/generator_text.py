"""The state of a generator of torch as text, for saved states."""

from __future__ import annotations

import base64
import zlib
from functools import lru_cache
from typing import Any

import numpy as np
import torch

from drapps.errors import StateError


def packed(state: torch.Tensor) -> str:
    """A generator's state as text. Every other word of it is zero: those go behind the rest."""
    return _packed(state.numpy().tobytes())


@lru_cache(maxsize=8)  # trainers ask for a state at every step
def _packed(state: bytes) -> str:
    words = np.frombuffer(state, "<u4").reshape(-1, 2).T
    return base64.b64encode(zlib.compress(words.tobytes(), 9)).decode()


def unpacked(name: str, text: Any) -> torch.Tensor:
    """The state that `packed` made a text of, or that an earlier release saved as it is.

    Raises:
        StateError: the text is no state of torch's generator on the CPU; `name` is the field's.
    """
    known = torch.default_generator.get_state()
    try:
        raw = base64.b64decode(text, validate=True)
        if len(raw) != len(known):
            words = np.frombuffer(zlib.decompressobj().decompress(raw, len(known) + 1), "<u4")
            raw = words.reshape(2, -1).T.tobytes()
        state = torch.frombuffer(bytearray(raw), dtype=torch.uint8)
        torch.Generator().set_state(state)
    except (TypeError, ValueError, RuntimeError, zlib.error):
        raise StateError(f"the state's {name} is no state of a generator: it was edited") from None
    return state
