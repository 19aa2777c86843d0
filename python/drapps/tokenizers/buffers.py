"""Texts that stand in memory already: columns of Arrow, and files."""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from drapps.errors import DataNotFoundError, PipelineError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    # Bytes, and where in them texts begin and end.
    Chunk = tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64]]


def chunks_of(texts: Any) -> list[Chunk] | None:
    """The buffers of a column of Arrow; nothing for what is none.

    Raises:
        PipelineError: for a column that is not of text, or has nulls.
    """
    if not (hasattr(texts, "__arrow_c_array__") or hasattr(texts, "__arrow_c_stream__")):
        return None
    try:
        import pyarrow as arrow
    except ImportError as error:
        raise PipelineError("a column of Arrow needs pyarrow: pip install pyarrow") from error
    if not isinstance(texts, (arrow.Array, arrow.ChunkedArray)):
        texts = arrow.chunked_array(texts)
    kind, types = texts.type, arrow.types
    if types.is_dictionary(kind) or types.is_string_view(kind) or types.is_binary_view(kind):
        texts = texts.cast(arrow.large_binary())
        kind = texts.type
    wide = types.is_large_string(kind) or types.is_large_binary(kind)
    if not (wide or types.is_string(kind) or types.is_binary(kind)):
        raise PipelineError(f"a column of texts must be strings or binary, and not {kind}")
    if texts.null_count:
        raise PipelineError(f"{texts.null_count} of {len(texts)} texts are null: fill or drop them")
    pieces = texts.chunks if isinstance(texts, arrow.ChunkedArray) else [texts]
    return [_chunk(piece, np.int64 if wide else np.int32) for piece in pieces if len(piece)]


def texts_in(chunks: Iterable[Chunk]) -> Iterator[bytes]:
    """The texts of buffers, one by one."""
    for data, begins, ends in chunks:
        for begin, end in zip(begins.tolist(), ends.tolist(), strict=True):
            yield data[begin:end].tobytes()


def file_chunk(path: str | os.PathLike[str], separator: str | bytes) -> Chunk:
    """A file in memory, and where its documents begin and end.

    Raises:
        DataNotFoundError: there is none.
        PipelineError: it cannot be read, or nothing holds documents apart.
    """
    from drapps import _core

    between = separator.encode() if isinstance(separator, str) else separator
    if not between:
        raise PipelineError("separator must have a character: it holds documents apart")
    try:
        with Path(path).open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if size else b""
    except FileNotFoundError:
        raise DataNotFoundError(f"{path}: there is no such file") from None
    except OSError as error:
        raise PipelineError(f"{path}: {error.strerror}") from error
    data = np.frombuffer(mapped, np.uint8)
    begins, ends = _core.text_documents(data, between)
    return data, begins, ends


def _chunk(piece: Any, kind: type[np.signedinteger[Any]]) -> Chunk:
    _, offsets, data = piece.buffers()
    place = piece.offset
    ends = np.frombuffer(offsets, kind)[place : place + len(piece) + 1].astype(np.int64)
    bytes_of = np.frombuffer(data if data is not None and data.size else b"", np.uint8)
    return bytes_of, ends[:-1], ends[1:]
