"""Documents in a column of Parquet files, read by pyarrow, row group by row group."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from drapps.errors import PipelineError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from drapps import _core

    Piece = tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]

_ROWS = 1024  # of a piece


class ParquetFiles:
    """One column of some files.

    Attributes:
        sizes: of the files, in bytes.
        groups: of each file, how many rows its row groups have.
    """

    def __init__(self, paths: Sequence[bytes], column: str) -> None:
        """Reads what stands at the files' ends.

        Raises:
            OSError: a file cannot be read.
            PipelineError: one is damaged, or has no such column of strings; or no pyarrow.
        """
        parquet = _pyarrow()
        self._column = column
        self._states: dict[bytes, tuple[int, int]] = {}
        self.sizes: list[int] = []
        self.groups: list[list[int]] = []
        for path in paths:
            self._states[path] = state_of(path)
            self.sizes.append(self._states[path][0])
            try:
                with parquet.ParquetFile(os.fsdecode(path)) as file:
                    check_column(file.schema_arrow, column)
                    metadata = file.metadata
            except (OSError, ValueError) as error:
                raise PipelineError(f"{os.fsdecode(path)}: {error}") from None
            groups = range(metadata.num_row_groups)
            self.groups.append([metadata.row_group(number).num_rows for number in groups])

    def corpus(self) -> _core.Corpus:
        """The files as the core takes them."""
        from drapps import _core

        return _core.Corpus.foreign(list(self._states), self.sizes, self.groups, self.read)

    def read(self, path: bytes, group: int) -> Iterator[Piece]:
        """The documents of a row group: bytes, and offsets that hold each apart."""
        import numpy as np
        import pyarrow

        if state_of(path) != self._states[path]:
            raise ValueError("the file has changed since it was opened; make the loader anew")
        with _pyarrow().ParquetFile(os.fsdecode(path)) as file:
            for batch in file.iter_batches(
                _ROWS, row_groups=[group], columns=[self._column], use_threads=False
            ):
                column = batch.column(0)
                if pyarrow.types.is_dictionary(column.type):
                    column = column.dictionary_decode()
                column = column.drop_null().cast(pyarrow.large_binary())
                _, offsets, content = column.buffers()
                ends = np.frombuffer(offsets, np.int64)[column.offset :][: len(column) + 1]
                whole = np.frombuffer(content or b"", np.uint8)
                if len(ends):
                    yield whole[ends[0] : ends[-1]], ends - ends[0]


def state_of(path: bytes) -> tuple[int, int]:
    """What changes with a file: its size and time."""
    status = Path(os.fsdecode(path)).stat()
    return status.st_size, status.st_mtime_ns


def check_column(schema: Any, column: str) -> None:
    """Raises ValueError where there is no such column of strings, or of dictionaries of them."""
    import pyarrow

    if column not in schema.names:
        raise ValueError(f"there is no column {column!r}, only {', '.join(schema.names)}")
    kind = schema.field(column).type
    kind = kind.value_type if pyarrow.types.is_dictionary(kind) else kind
    tests = ("is_string", "is_large_string", "is_binary", "is_large_binary")
    if not any(getattr(pyarrow.types, test)(kind) for test in tests):
        raise ValueError(f"column {column!r} is of {kind}, not of strings")


def _pyarrow() -> Any:
    try:
        from pyarrow import parquet
    except ImportError:
        raise PipelineError("Parquet files need pyarrow: pip install pyarrow") from None
    return parquet
