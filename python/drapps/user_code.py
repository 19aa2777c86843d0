"""Code objects and closures of functions, as all go through them who look at a user's code."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from types import CodeType, FunctionType
from typing import Any


def codes_in(code: CodeType) -> Iterator[CodeType]:
    """The code itself, then all that is defined within it, in their order."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes_in(constant)


def names_of(code: CodeType) -> Iterator[str]:
    """Names of globals, attributes and imports, in code and all that is defined within it."""
    for each in codes_in(code):
        yield from each.co_names


def closure_of(function: FunctionType) -> Iterator[tuple[str, Any]]:
    """What is in the closure of a function, by name; not what is still to be put there."""
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        with contextlib.suppress(ValueError):  # it is not filled yet
            yield name, cell.cell_contents
