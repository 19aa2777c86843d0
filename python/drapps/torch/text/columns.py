"""Columns of Arrow tables, whose rows are read where they lie."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from drapps import _core
from drapps.errors import PipelineError
from drapps.torch.recognise import NotLifted
from drapps.torch.text.cells import Cells

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from drapps.torch.text.cells import Int64Array

    # Values, offsets or nothing, the number of rows, and their width where there are no offsets.
    Chunk = tuple[NDArray[Any], NDArray[Any] | None, int, int]

_NUMBERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "float", "double")


class Column(NamedTuple):
    """A column that can be read.

    Attributes:
        core: reads its rows.
        kind: ``text``, ``whole``, ``real`` or ``bool``.
        lists: each row is a list of numbers.
        missing: which rows are null or hold a null; None: none of them.
    """

    core: Any
    kind: str
    lists: bool
    missing: NDArray[np.bool_] | None

    def has_all(self, rows: Int64Array) -> bool:
        """Whether none of these rows is null, or holds a null."""
        return self.missing is None or not self.missing[rows].any()

    def read(self, rows: Int64Array, name: str) -> Cells:
        """What rows hold, which have no nulls.

        Raises:
            PipelineError: the table is damaged.
        """
        try:
            take = self.core.doubles if self.kind == "real" else self.core.integers
            values, begins = take(rows)
        except ValueError as error:
            raise PipelineError(f"column {name!r}: {error}; make the data set anew") from None
        if self.kind == "bool":
            values = values.astype(np.bool_)
        return Cells(values, begins if self.lists else None)


def column_of(column: Any, name: str) -> Column:
    """How a chunked array of pyarrow is read; `name` is for messages.

    Raises:
        NotLifted: it holds something else than texts, numbers and lists of numbers.
    """
    import pyarrow as arrow

    kind, types = column.type, arrow.types
    lists = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
    inner = kind.value_type if lists else kind
    text = types.is_string(inner) or types.is_large_string(inner)
    if (text and lists) or not (text or types.is_boolean(inner) or str(inner) in _NUMBERS):
        raise NotLifted(f"column {name!r} holds {kind}")
    chunks = [chunk for chunk in column.chunks if len(chunk)]
    make = _text_chunk if text else _list_chunk if lists else _number_chunk
    try:
        core = _core.TextColumn.make([make(chunk) for chunk in chunks], text)
    except ValueError as error:
        raise NotLifted(f"column {name!r} is damaged: {error}") from None
    whole = "bool" if types.is_boolean(inner) else "whole"
    whole = "real" if types.is_floating(inner) else whole
    return Column(core, "text" if text else whole, lists, _missing(chunks, lists))


def _values(array: Any) -> NDArray[Any]:
    """The numbers of an array, without a copy but for booleans; anything where it is null."""
    import pyarrow as arrow

    if arrow.types.is_boolean(array.type):
        return np.asarray(array.fill_null(False)).astype(np.uint8)
    return _buffer(array.buffers()[1], array.type.to_pandas_dtype(), array.offset, len(array))


def _buffer(buffer: Any, dtype: Any, first: int, count: int) -> NDArray[Any]:
    if buffer is None or count == 0:
        return np.zeros(0, dtype)
    size = np.dtype(dtype).itemsize
    array = np.frombuffer(buffer, dtype, count, first * size)
    return array if array.flags.aligned else array.copy()


def _number_chunk(chunk: Any) -> Chunk:
    return _values(chunk), None, len(chunk), 1


def _offsets(chunk: Any) -> NDArray[Any]:
    import pyarrow as arrow

    kind, types = chunk.type, arrow.types
    wide = types.is_large_list(kind) or types.is_large_string(kind)
    dtype = np.int64 if wide else np.int32
    return _buffer(chunk.buffers()[1], dtype, chunk.offset, len(chunk) + 1)


def _list_chunk(chunk: Any) -> Chunk:
    import pyarrow as arrow

    if arrow.types.is_fixed_size_list(chunk.type):
        width = chunk.type.list_size
        values = chunk.values.slice(chunk.offset * width, len(chunk) * width)
        return _values(values), None, len(chunk), width
    return _values(chunk.values), _offsets(chunk), len(chunk), 1


def _text_chunk(chunk: Any) -> Chunk:
    data = chunk.buffers()[2]
    size = 0 if data is None else data.size
    return _buffer(data, np.uint8, 0, size), _offsets(chunk), len(chunk), 1


def _missing(chunks: list[Any], lists: bool) -> NDArray[np.bool_] | None:
    marks, some = [], False
    for chunk in chunks:
        mark = np.zeros(len(chunk), np.bool_)
        if chunk.null_count:
            mark = np.asarray(chunk.is_null())
        if lists and chunk.values.null_count:
            mark = mark | _holds_null(chunk)
        some = some or bool(mark.any())
        marks.append(mark)
    return np.concatenate(marks) if some else None


def _holds_null(chunk: Any) -> NDArray[np.bool_]:
    """Of the rows of a list array, those among whose values there is a null."""
    _, offsets, rows, width = _list_chunk(chunk)
    if offsets is None:
        first = chunk.offset * width
        ends = np.arange(first, first + (rows + 1) * width, width) if width else np.zeros(rows + 1)
        offsets = ends.astype(np.int64)
    before = np.concatenate([[0], np.cumsum(np.asarray(chunk.values.is_null()))])
    holds: NDArray[np.bool_] = np.diff(before[offsets]) > 0
    return holds
