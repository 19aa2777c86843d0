"""The states of generators that the user gave, as a saved state of a loader holds them."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
import torch

from drapps.errors import StateError
from drapps.torch.python_order import PythonOrder

LOADERS, SAMPLERS = "generator_state", "sampler_generator_state"
States = dict[str, torch.Tensor]  # by the name of the field


def own_generators(loader: Any) -> dict[str, torch.Generator]:
    """By the field of a state: that of `loader`, and another one that its sampler has."""
    found: dict[str, torch.Generator] = {}
    for name, holder in zip(
        (LOADERS, SAMPLERS), (loader, PythonOrder.of(loader).sampler), strict=True
    ):
        generator = getattr(holder, "generator", None)
        if isinstance(generator, torch.Generator) and generator not in found.values():
            found[name] = generator
    return found


def states_of(loader: Any) -> States:
    """The states of its generators now."""
    return {name: generator.get_state() for name, generator in own_generators(loader).items()}


def restore(loader: Any, saved: Mapping[str, Any]) -> None:
    """Sets the generators of `loader` as `fields` of their states says.

    Raises:
        StateError: a field is no state of a generator.
    """
    states = {name: unpacked(name, saved[name]) for name in (LOADERS, SAMPLERS) if name in saved}
    for name, generator in own_generators(loader).items():
        if name in states:
            generator.set_state(states[name])


def check(saved: Mapping[str, Any]) -> None:
    """Looks at the fields without setting anything.

    Raises:
        StateError: one of them is no state of a generator.
    """
    for name in (LOADERS, SAMPLERS):
        if name in saved:
            unpacked(name, saved[name])


def fields(states: States) -> dict[str, str]:
    """What a state of a loader holds of them."""
    return {name: packed(state) for name, state in states.items()}


def packed(state: torch.Tensor) -> str:
    """A generator's state as text. Every other word of it is zero, so they go behind the rest."""
    return _packed(state.numpy().tobytes())


@lru_cache(maxsize=8)  # trainers ask for a state at every step
def _packed(state: bytes) -> str:
    words = np.frombuffer(state, "<u4").reshape(-1, 2).T
    return base64.b64encode(zlib.compress(words.tobytes(), 9)).decode()


def unpacked(name: str, text: Any) -> torch.Tensor:
    """The state that `packed` made a text of, or that an earlier release saved as it is.

    Raises:
        StateError: it is none of torch's generator on the CPU; `name` is the field's.
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
