"""The rows of one batch, column by column, before they are collated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Int64Array = NDArray[np.int64]


class Place(NamedTuple):
    """Where a batch stands: the coordinate of the random numbers of its first row.

    Attributes:
        seed: 64 bits, of the pass.
        epoch: stands beside it.
        position: of the first row, in the epoch.
    """

    seed: int
    epoch: int
    position: int


class Cells(NamedTuple):
    """What one column has in the rows of a batch.

    Attributes:
        values: int64, float64 or bool, the rows one behind the other.
        begins: int64, where each row begins, and the end of the last; None: each has one number.
        pairs: each value of a row is two numbers.
    """

    values: NDArray[Any]
    begins: Int64Array | None = None
    pairs: bool = False

    @property
    def whole(self) -> bool:
        """The values are whole numbers."""
        return self.values.dtype == np.int64

    @property
    def lengths(self) -> Int64Array:
        """How many values each row has."""
        assert self.begins is not None
        return np.diff(self.begins)

    def array(self) -> NDArray[Any] | None:
        """All rows as one array; None where their lengths differ, or are 0."""
        if self.begins is None:
            return self.values
        lengths = self.lengths
        width = int(lengths[0])
        if width == 0 or (lengths != width).any():
            return None
        shape = (len(lengths), width, 2) if self.pairs else (len(lengths), width)
        return self.values.reshape(shape)


@dataclass
class Rows:
    """The rows of a batch.

    Attributes:
        columns: by name, in the order in which samples have them.
        count: how many rows there are.
        tensors: samples hold tensors of torch, and not numbers and lists.
    """

    columns: dict[str, Cells]
    count: int
    tensors: bool = False


def as_given(array: NDArray[Any], kind: str) -> Any:
    """An array as collators give it: of Python's numbers NumPy makes float64, and torch float32."""
    if kind == "np":
        return array
    return torch.from_numpy(array.astype(np.float32) if array.dtype == np.float64 else array)
