"""Matrices of cases of which `make test` runs some, and `make test-full` all."""

import itertools
from collections.abc import Iterable
from typing import Any

import pytest


def cells(*axes: Iterable[Any]) -> list[Any]:
    """All combinations of some values as parameters of a test.

    Those that are not marked `full` have each value of each axis at least once.

    Args:
        axes: the values that each argument of the test takes.
    """
    values = [list(axis) for axis in axes]
    longest = max(map(len, values))
    quick = {tuple(row % len(axis) for axis in values) for row in range(longest)}
    return [
        pytest.param(
            *(axis[i] for axis, i in zip(values, place, strict=True)),
            marks=() if place in quick else pytest.mark.full,
        )
        for place in itertools.product(*(range(len(axis)) for axis in values))
    ]


def some_full(cases: Iterable[Any], *quick: Any) -> list[Any]:
    """All of them, of which `make test` runs the quick; a case of several values is a tuple."""
    return [case if case in quick else full(case) for case in cases]


def full(case: Any) -> Any:
    """A case that a full run alone has."""
    values = case if isinstance(case, tuple) else (case,)
    return pytest.param(*values, marks=pytest.mark.full)
