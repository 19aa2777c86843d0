"""Samples that are rows of arrays in memory, read where they lie when their batch is made."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from drapps import arguments
from drapps.errors import PipelineError
from drapps.source import Source

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from drapps import _core
    from drapps.source import Int64Array

    AnyArray = npt.NDArray[Any]

DTYPES = frozenset(
    f"{kind}{bits}" for kind in ("uint", "int", "float") for bits in (8, 16, 32, 64)
) - {"float8"} | {"bool", "bfloat16"}
LAYOUTS = ("nhwc", "nchw")


@dataclass(frozen=True)
class Column:
    """One array as the core takes it.

    Attributes:
        name: of its column in a batch.
        dtype: one of `DTYPES`.
        address: of its first row.
        shape: rows first.
        strides: in bytes.
    """

    name: str
    dtype: str
    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    def native(self) -> tuple[str, str, int, list[int], list[int]]:
        """The column as the core takes it."""
        return self.name, self.dtype, self.address, list(self.shape), list(self.strides)

    @property
    def gapless(self) -> bool:
        """Whether the elements of each row follow one another."""
        expected = item_size(self.dtype)
        for side, stride in zip(reversed(self.shape[1:]), reversed(self.strides[1:]), strict=True):
            if side > 1 and stride != expected:
                return False
            expected *= side
        return True


def item_size(dtype: str) -> int:
    """Bytes of one element."""
    bits = dtype.lstrip("abdefghijklmnopqrstuvwxyz")
    return int(bits) // 8 if bits else 1


class ArraySource(Source):
    """Rows of arrays. Whoever makes it says what keeps their memory alive."""

    def __init__(
        self,
        columns: tuple[Column, ...],
        picture: Column | None,
        owner: Any,
        subset: Int64Array | None = None,
        classes: tuple[str, ...] = (),
    ) -> None:
        """Describes the arrays; nothing of them is read.

        Args:
            columns: in the order of a batch.
            picture: (rows, channels, height, width) of uint8; its column comes first.
            owner: kept as long as the source is used.
            subset: sample i is row subset[i]; without it, row i.
            classes: class names, for `Source.classes`.
        """
        super().__init__(classes=classes)
        self._columns = columns
        self._picture = picture
        self._owner = owner
        self._subset = subset

    def __len__(self) -> int:
        if self._subset is not None:
            return len(self._subset)
        return (self._picture or self._columns[0]).shape[0]

    def native(self) -> _core.Source:
        """The source as the core takes it."""
        from drapps import _core

        if self._native is None:
            self._native = _core.Source.arrays(
                [column.native() for column in self._columns],
                None if self._picture is None else self._picture.native(),
                self._subset,
                self._owner,
            )
        return self._native

    def digest(self) -> str:
        """Sixteen hex digits over names, dtypes and shapes, and the subset; not over the values."""
        if self._digest is None:
            digest = hashlib.blake2b(digest_size=8)
            for column in (*([self._picture] if self._picture else []), *self._columns):
                digest.update(repr((column.name, column.dtype, column.shape)).encode())
            if self._subset is not None:
                digest.update(self._subset.tobytes())
            self._digest = digest.hexdigest()
        return self._digest


def column_of(name: str, array: AnyArray) -> Column:
    """A NumPy array as a column.

    Raises:
        PipelineError: its elements are no plain numbers.
    """
    if array.dtype.name not in DTYPES or not array.dtype.isnative:
        raise PipelineError(
            f"array {name!r} is of dtype {array.dtype}: give numbers or bools in native byte order"
        )
    if array.ndim == 0:
        raise PipelineError(f"array {name!r} has no rows: its shape is ()")
    address = array.__array_interface__["data"][0]
    return Column(name, array.dtype.name, address, array.shape, array.strides)


def picture_of(name: str, array: AnyArray, layout: str = "nhwc") -> Column:
    """Pictures of (N, height, width), or with channels where `layout` says.

    Raises:
        PipelineError: it holds no pictures of uint8.
    """
    shape = array.shape
    if array.dtype.name != "uint8" or array.ndim not in (3, 4):
        raise PipelineError(
            f"array {name!r} is {array.dtype.name} of shape {shape}: pictures are uint8, of "
            "(N, height, width) or with channels"
        )
    if array.ndim == 3:
        array = array[:, None]
    elif layout == "nhwc":
        array = array.transpose(0, 3, 1, 2)
    if array.shape[1] not in (1, 3):
        raise PipelineError(
            f"array {name!r} of shape {shape} has {array.shape[1]} channels as {layout}, "
            "and pictures have 1 or 3: name the layout"
        )
    return column_of(name, array)


def array_source(
    arrays: Mapping[str, Any], pictures: str | None = None, layout: str = "nhwc"
) -> ArraySource:
    """Arrays of equal lengths; see `drapps.arrays`."""
    import numpy as np

    layout = arguments.one_of("layout", layout, LAYOUTS)
    if not isinstance(arrays, Mapping):
        raise PipelineError(
            f"columns is {type(arrays).__name__}, and must be a mapping from names to arrays, such "
            "as {'image': images, 'label': labels}"
        )
    if pictures is not None:
        pictures = arguments.text("pictures", pictures)
    held: dict[str, np.ndarray[Any, Any]] = {}
    for name, values in arrays.items():
        held[str(name)] = array = np.asarray(values)
        if isinstance(values, (list, tuple)):
            raise PipelineError(f"array {name!r} is a {type(values).__name__}: give an array")
        if len(array.shape) and array.shape[0] == 0:
            raise PipelineError(f"array {name!r} is empty: a source needs at least one sample")
    if not held:
        raise PipelineError("there is no array: give at least one")
    if pictures is not None and pictures not in held:
        raise PipelineError(f"pictures={pictures!r} is none of the arrays {', '.join(held)}")
    columns = {name: column_of(name, array) for name, array in held.items() if name != pictures}
    picture = None if pictures is None else picture_of(pictures, held[pictures], layout)
    for column in columns.values():
        if not column.gapless:
            raise PipelineError(
                f"the rows of array {column.name!r} have gaps, with strides {column.strides}: "
                "give numpy.ascontiguousarray of it"
            )
    source = ArraySource(tuple(columns.values()), picture, held)
    try:
        source.native()
    except ValueError as error:
        raise PipelineError(str(error)) from None
    return source
