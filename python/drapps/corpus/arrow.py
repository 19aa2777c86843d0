"""Documents in a column of Arrow files: pyarrow lists where they lie, and the core reads them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from drapps.corpus.parquet import check_column, state_of
from drapps.errors import PipelineError
from drapps.token_shards.columns import arrow_or_error, record_batches

if TYPE_CHECKING:
    from drapps import _core

    Run = tuple[int, int, int, int, int, int, int]


def arrow_corpus(
    paths: Sequence[bytes], column: str, max_document: int, by_number: bool
) -> _core.Corpus:
    """The strings of one column of some files that are not compressed.

    Raises:
        OSError: a file cannot be read.
        PipelineError: one is damaged, compressed, or has no such column; or no pyarrow.
        ValueError: there are no strings.
    """
    import numpy as np

    from drapps import _core

    before = [state_of(path) for path in paths]
    runs = [run for number, path in enumerate(paths) for run in _listed(number, path, column)]
    numbers = np.array(runs, np.uint64).ravel()
    corpus = _core.Corpus.arrow(paths, numbers, max_document, by_number)
    for path, state in zip(paths, before, strict=True):
        if state_of(path) != state:
            raise PipelineError(
                f"{os.fsdecode(path)}: the file has changed while it was listed; make the loader "
                "anew"
            )
    return corpus


def _listed(number: int, path: bytes, column: str) -> list[Run]:
    name = os.fsdecode(path)
    pyarrow = arrow_or_error()
    try:
        with pyarrow.memory_map(name) as mapped:
            return list(_runs(pyarrow, mapped.read_buffer(), number, column))
    except (OSError, ValueError) as error:
        raise type(error)(f"{name}: {error}") from None


def _runs(pyarrow: Any, whole: Any, number: int, column: str) -> Iterator[Run]:
    """As the core's ArrowRun has them: of each record batch with rows, where its strings lie."""
    import numpy as np

    def place(buffer: Any, size: int) -> int:
        """Byte of the file."""
        at: int = buffer.address - whole.address
        if not 0 <= at <= len(whole) - size:
            raise ValueError("the file is compressed; write it without compression")
        return at

    for batch in record_batches(pyarrow, whole):
        check_column(batch.schema, column)
        strings = batch.column(column)
        kind = strings.type
        if pyarrow.types.is_dictionary(kind):
            raise ValueError(f"column {column!r} is of {kind}; write it as plain strings")
        rows = len(strings)
        if rows == 0 or strings.null_count == rows:
            continue
        large = pyarrow.types.is_large_string(kind) or pyarrow.types.is_large_binary(kind)
        values, offsets, content = strings.buffers()
        ends = np.frombuffer(offsets, np.int64 if large else np.int32)
        begins = place(offsets, (rows + 1) * ends.itemsize)
        size = int(ends[rows])
        has_values = place(values, (rows + 7) // 8) if strings.null_count else 0
        at = place(content, size) if size else 0
        yield number, rows, begins, ends.itemsize, at, size, has_values
