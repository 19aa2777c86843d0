"""Lists of ids in a column of Arrow or Parquet files, as pyarrow lists or reads them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from drapps.errors import PipelineError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Numbers = npt.NDArray[np.uint64]

_FILE_MAGIC = b"ARROW1"


@dataclass(frozen=True)
class Ranges:
    """Where the ids of an Arrow file lie.

    Attributes:
        dtype: of all ids.
        offsets: of the ranges, in bytes of the file.
        ids: how many each has.
        documents: the first ids of the lists that have some, counted over all ranges.
    """

    dtype: str
    offsets: Numbers
    ids: Numbers
    documents: Numbers


@dataclass(frozen=True)
class Values:
    """The ids of a Parquet file, in the smallest of uint16, uint32 and int64 that holds them."""

    ids: npt.NDArray[Any]
    documents: Numbers


def arrow_ranges(path: str, column: str) -> Ranges:
    """Where the ids of an uncompressed Arrow file lie; only what tells that is read.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is damaged, compressed, or has no such column of lists of integers.
    """
    import numpy as np

    pyarrow = arrow_or_error()
    with pyarrow.memory_map(path) as mapped:
        whole = mapped.read_buffer()
        base = whole.address
        dtype = ""
        offsets, counts = [], []
        for values, _ in (lists := _Lists(column)).of(record_batches(pyarrow, whole)):
            dtype = str(values.type)
            buffer = values.buffers()[1]
            if not len(values) or buffer is None:
                continue
            width = values.type.bit_width // 8
            at = buffer.address - base + values.offset * width
            if not 0 <= at <= len(whole) - len(values) * width:
                raise ValueError("the file is compressed; write it without compression")
            offsets.append(at)
            counts.append(len(values))
        return Ranges(
            dtype, np.array(offsets, np.uint64), np.array(counts, np.uint64), lists.documents()
        )


def parquet_values(path: str, column: str) -> Values:
    """The ids of a Parquet file.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is damaged, has no such column of lists of integers, or negative ids.
    """
    import numpy as np

    pyarrow = arrow_or_error()
    from pyarrow import parquet

    with parquet.ParquetFile(path) as file:
        _check(pyarrow, file.schema_arrow, column)
        pieces, most = [np.empty(0, np.uint16)], 0
        for values, first in (lists := _Lists(column)).of(file.iter_batches(columns=[column])):
            ids = values.to_numpy(zero_copy_only=False)
            if not len(ids):
                continue
            if int(ids.min()) < 0:
                place = first + int(np.flatnonzero(ids < 0)[0])
                raise ValueError(f"id {ids.min()} is negative, as number {place} of {column!r}")
            most = max(most, int(ids.max()))
            pieces.append(ids.astype(_smallest(int(ids.max()))))
        return Values(np.concatenate(pieces).astype(_smallest(most)), lists.documents())


class _Lists:
    """The lists of a column, batch by batch."""

    def __init__(self, column: str) -> None:
        self._column = column
        self._documents: list[Any] = []
        self._ids = 0
        self._rows = 0

    def of(self, batches: Any) -> Iterator[tuple[Any, int]]:
        """The values of each batch, and how many there are before them."""
        import numpy as np

        pyarrow = arrow_or_error()
        for batch in batches:
            _check(pyarrow, batch.schema, self._column)
            lists = batch.column(self._column)
            if lists.null_count or lists.flatten().null_count:
                raise ValueError(
                    f"column {self._column!r} has no ids in some of the {len(lists)} rows from "
                    f"row {self._rows} on: every row must be a list, without nulls"
                )
            lengths = lists.value_lengths().to_numpy(zero_copy_only=False).astype(np.int64)
            begins = self._ids + np.cumsum(lengths) - lengths
            self._documents.append(begins[lengths > 0].astype(np.uint64))
            values = lists.flatten()
            yield values, self._ids
            self._ids += len(values)
            self._rows += len(lists)

    def documents(self) -> Numbers:
        import numpy as np

        return np.concatenate([np.empty(0, np.uint64), *self._documents])


def record_batches(pyarrow: Any, whole: Any) -> Iterator[Any]:
    """The record batches of an Arrow file, or of a stream in one, that is mapped as a whole."""
    if bytes(whole[: len(_FILE_MAGIC)]) == _FILE_MAGIC:
        reader = pyarrow.ipc.open_file(whole)
        for number in range(reader.num_record_batches):
            yield reader.get_batch(number)
    else:
        yield from pyarrow.ipc.open_stream(whole)


def _check(pyarrow: Any, schema: Any, column: str) -> None:
    if column not in schema.names:
        raise ValueError(f"there is no column {column!r}, only {', '.join(schema.names)}")
    kind, types = schema.field(column).type, pyarrow.types
    lists = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
    if not lists or not types.is_integer(kind.value_type):
        raise ValueError(f"column {column!r} is of {kind}, not of lists of integers")


def _smallest(most: int) -> str:
    return "uint16" if most < 2**16 else "uint32" if most < 2**32 else "int64"


def arrow_or_error() -> Any:
    """The package pyarrow; PipelineError where it is not installed."""
    try:
        import pyarrow
        import pyarrow.ipc
    except ImportError:
        raise PipelineError("Arrow and Parquet files need pyarrow: pip install pyarrow") from None
    return pyarrow
