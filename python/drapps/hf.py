"""Hugging Face datasets, read where they are: pictures stay in Arrow's memory.

Nothing of ``datasets`` or ``pyarrow`` is imported here; a dataset brings its own.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from drapps.attributes import attribute_of
from drapps.errors import DataNotFoundError, PipelineError
from drapps.pipeline import Pipeline
from drapps.shards.source import check_label_names
from drapps.source import Source

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from drapps import _core
    from drapps.source import Int64Array

    Addresses = npt.NDArray[np.uint64]


def images(
    dataset: Any, *, image: str = "image", labels: str | Sequence[str] = "label"
) -> Pipeline:
    """The pictures of a ``datasets.Dataset``, as views into its Arrow memory.

    Nothing is copied or decoded: what the dataset has mapped from disk stays mapped, and is read
    where a sample is. A picture of which the dataset holds only the path is read from that file.
    Datasets that were selected, shuffled, filtered or sorted keep their order. Leave the files of
    the dataset alone while they are in use.

    Args:
        dataset: a ``datasets.Dataset``, without a transform (``with_format(None)``).
        image: a column of the feature ``Image``, or of bytes.
        labels: columns of whole numbers, or one; a batch has each under its name. ``()`` for none.

    Raises:
        PipelineError: not such a dataset, or no such columns.
        DataNotFoundError: the dataset has no rows.
    """
    table = _table(dataset)
    names = [labels] if isinstance(labels, str) else list(labels)
    check_label_names(names)
    for name in (image, *names):
        if name not in table.column_names:
            there = ", ".join(f"{field.name} ({field.type})" for field in table.schema)
            raise PipelineError(f"the dataset has no column {name!r}; there are {there}")
    chosen = _chosen(dataset)
    addresses, lengths, paths = _pictures(image, table.column(image))
    columns = {name: _integers(name, table.column(name)) for name in names}
    if chosen is not None:
        addresses, lengths = addresses[chosen], lengths[chosen]
        columns = {name: values[chosen] for name, values in columns.items()}
    if not len(addresses):
        raise DataNotFoundError("the dataset has no rows")
    elsewhere = (addresses == 0).nonzero()[0]
    rows = elsewhere if chosen is None else chosen[elsewhere]
    files = _files(paths, rows.tolist()) if len(elsewhere) else []
    return Pipeline(
        ArrowSource(table, addresses, lengths, files, columns, _class_names(dataset, names))
    )


class ArrowSource(Source):
    """Pictures in the buffers of an Arrow table, and some in files."""

    def __init__(
        self,
        table: Any,
        addresses: Addresses,
        lengths: Addresses,
        files: list[bytes],
        labels: Mapping[str, Int64Array],
        classes: tuple[str, ...],
    ) -> None:
        super().__init__(classes=classes)
        self._table = table
        self._addresses = addresses
        self._lengths = lengths
        self._files = files
        self._label_columns = dict(labels)

    def __len__(self) -> int:
        return len(self._addresses)

    def native(self) -> _core.Source:
        """The source as the core takes it; it keeps the table."""
        from drapps import _core

        if self._native is None:
            self._native = _core.Source.views(
                self._addresses, self._lengths, self._table, self._files, self._label_columns
            )
        return self._native

    def digest(self) -> str:
        """Sixteen hex digits over the pictures' sizes, the files' names and labels, in order."""
        if self._digest is None:
            digest = hashlib.blake2b(self._lengths.tobytes(), digest_size=8)
            digest.update(b"\0".join(path.rpartition(b"/")[2] for path in self._files))
            for values in self._label_columns.values():
                digest.update(values.tobytes())
            self._digest = digest.hexdigest()
        return self._digest


def _table(dataset: Any) -> Any:
    """The Arrow table of a dataset."""
    if isinstance(dataset, Mapping):
        raise PipelineError(
            f"this holds several datasets ({', '.join(map(str, dataset))}): choose one"
        )
    data = attribute_of(dataset, "data")
    table = attribute_of(data, "table", data)
    if attribute_of(dataset, "features") is None or attribute_of(table, "column_names") is None:
        raise PipelineError(
            f"{type(dataset).__name__} is no datasets.Dataset; a streamed one has no random access:"
            " load it without streaming=True"
        )
    if dataset.format["type"] == "custom":
        raise PipelineError(
            "the dataset has a transform, which is not applied here: describe it with the "
            "builder's methods, and give dataset.with_format(None)"
        )
    return table


def _chosen(dataset: Any) -> npt.NDArray[np.int64] | None:
    """The rows of the table that the dataset consists of, where these are not all in order."""
    import numpy as np

    indices = getattr(dataset, "_indices", None)
    if indices is None:
        return None
    return np.asarray(indices.column(0).to_numpy(), np.int64)


def _pictures(name: str, column: Any) -> tuple[Addresses, Addresses, list[Any]]:
    """Address and length of each row's bytes, 0 where it has none; and the columns of paths."""
    import numpy as np

    addresses, lengths, paths = [], [], []
    for chunk in column.chunks:
        data = chunk
        if str(chunk.type).startswith("struct"):
            fields = {chunk.type.field(i).name: i for i in range(chunk.type.num_fields)}
            if "bytes" not in fields:
                raise PipelineError(f"column {name!r} is {chunk.type}, which holds no bytes")
            parts = chunk.flatten()  # with the rows that are null themselves
            data = parts[fields["bytes"]]
            paths.append((parts[fields["path"]] if "path" in fields else None, len(chunk)))
        else:
            paths.append((None, len(chunk)))
        kind = str(data.type)
        if kind == "null":
            addresses.append(np.zeros(len(data), np.uint64))
            lengths.append(np.zeros(len(data), np.uint64))
            continue
        if kind not in ("binary", "large_binary"):
            raise PipelineError(
                f"column {name!r} is {chunk.type}: it must be of the feature Image, or bytes"
            )
        _, offsets, values = data.buffers()
        width = np.int32 if kind == "binary" else np.int64
        ends = np.frombuffer(offsets, width, len(data) + 1, data.offset * np.dtype(width).itemsize)
        base = 0 if values is None else values.address
        start = ends[:-1].astype(np.uint64) + np.uint64(base)
        size = np.diff(ends).astype(np.uint64)
        if data.null_count:
            null = data.is_null().to_numpy(zero_copy_only=False)
            start[null] = size[null] = 0
        addresses.append(start)
        lengths.append(size)
    if not addresses:
        return np.zeros(0, np.uint64), np.zeros(0, np.uint64), []
    return np.concatenate(addresses), np.concatenate(lengths), paths


def _files(chunks: list[Any], rows: list[int]) -> list[bytes]:
    """The paths in these rows of the table."""
    paths: list[Any] = []
    for chunk, count in chunks:
        paths += [None] * count if chunk is None else chunk.to_pylist()
    for row in rows:
        if not paths[row]:
            raise PipelineError(
                f"row {row} of the dataset's table has neither bytes nor a path: leave it out "
                "(dataset.filter)"
            )
    return [os.fsencode(paths[row]) for row in rows]


def _integers(name: str, column: Any) -> Int64Array:
    import numpy as np

    kind = str(column.type)
    if not (kind.startswith(("int", "uint")) or kind == "bool") or column.null_count:
        what = "holds nulls" if column.null_count else f"is {kind}"
        raise PipelineError(
            f"label column {name!r} {what}: labels are whole numbers; "
            f"dataset.class_encode_column({name!r}) makes them of texts"
        )
    return np.ascontiguousarray(column.to_numpy(), np.int64)


def _class_names(dataset: Any, labels: Sequence[str]) -> tuple[str, ...]:
    """The class names of the first label column."""
    names = getattr(dataset.features.get(labels[0]), "names", None) if labels else None
    return tuple(names) if isinstance(names, (list, tuple)) else ()
