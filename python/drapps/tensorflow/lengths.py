"""Sizes that a graph computes from a picture's size, for every size that there is.

1. A JPEG's side is 1 … 65,535. So a size computed from one side is an array of 65,535 numbers, and
   whatever arithmetic led to it, two such computations are the same if the arrays are.
2. A tensor of sizes is an object array whose elements are plain numbers or such arrays. Arithmetic
   on it is NumPy's in the graph's own dtype, which wraps and rounds as TensorFlow's does.
3. Height and width stay apart: what is computed from both together is not followed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from drapps.tensorflow.report import NotLifted

SIDES = np.arange(1, 65_536, dtype=np.int32)


@dataclass(frozen=True, eq=False)
class Length:
    """A number for each length of one side of the picture.

    Attributes:
        axis: 0 for the height, 1 for the width.
        values: one per element of `SIDES`.
    """

    axis: int
    values: np.ndarray[Any, Any]


def side(axis: int) -> Length:
    """The side itself."""
    return Length(axis, SIDES)


def apply(function: Callable[..., Any], *arguments: Any) -> Any:
    """`function` of NumPy on numbers and lengths; a plain number where the side does not matter.

    Raises:
        NotLifted: height and width are both among the arguments.
    """
    axes = {argument.axis for argument in arguments if isinstance(argument, Length)}
    if len(axes) > 1:
        raise NotLifted("a size is computed from height and width together")
    plain = [a.values if isinstance(a, Length) else a for a in arguments]
    with np.errstate(all="ignore"):
        values = function(*plain)
    if not axes:
        return values
    return values[0] if (values == values[0]).all() else Length(axes.pop(), values)


def holds_length(tensor: np.ndarray[Any, Any]) -> bool:
    """Whether a tensor of sizes depends on the picture's."""
    return tensor.dtype == object and any(isinstance(e, Length) for e in tensor.reshape(-1))


def elementwise(function: Callable[..., Any], *tensors: np.ndarray[Any, Any]) -> Any:
    """`apply` on broadcast tensors of sizes."""
    together = np.broadcast_arrays(*tensors)
    results = [
        apply(function, *row) for row in zip(*(t.reshape(-1) for t in together), strict=True)
    ]
    return reshaped(results, together[0].shape)


def reshaped(elements: list[Any], shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """Elements as a tensor of sizes."""
    if any(isinstance(element, Length) for element in elements):
        array = np.empty(len(elements), object)
        for place, element in enumerate(elements):
            array[place] = element
        return array.reshape(shape)
    return np.array(elements).reshape(shape)


def of_all_sides(number: Any) -> np.ndarray[Any, Any]:
    """The number for each side."""
    values = number.values if isinstance(number, Length) else number
    return np.broadcast_to(values, SIDES.shape)
