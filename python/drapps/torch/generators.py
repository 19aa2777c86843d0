"""The states of generators that the user gave, as a saved state of a loader holds them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from drapps.attributes import attribute_of
from drapps.torch.generator_text import packed, unpacked
from drapps.torch.python_order import PythonOrder

LOADERS, SAMPLERS = "generator_state", "sampler_generator_state"
States = dict[str, torch.Tensor]  # by the name of the field


def own_generators(loader: Any) -> dict[str, torch.Generator]:
    """Generators by the field of a state: that of `loader`, and another that its sampler has."""
    generators: dict[str, torch.Generator] = {}
    for name, holder in zip(
        (LOADERS, SAMPLERS), (loader, PythonOrder.of(loader).sampler), strict=True
    ):
        generator = attribute_of(holder, "generator")
        if isinstance(generator, torch.Generator) and generator not in generators.values():
            generators[name] = generator
    return generators


def states_of(loader: Any) -> States:
    """The states of the generators of `loader` now."""
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
    """What a state of a loader holds of its generators' states."""
    return {name: packed(state) for name, state in states.items()}
