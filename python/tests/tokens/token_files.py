"""Files of token ids, as others write them, and rows of them as NumPy cuts them."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Ids = npt.NDArray[Any]
MEGATRON_CODES = {"uint8": 1, "int8": 2, "int16": 3, "int32": 4, "int64": 5, "uint16": 8}


def documents(count: int, below: int = 50_000, longest: int = 40, seed: int = 0) -> list[Ids]:
    """Ids of documents, none of which is empty."""
    draw = np.random.default_rng(seed)
    return [draw.integers(0, below, draw.integers(1, longest)) for _ in range(count)]


def megatron_index(
    lengths: list[int], dtype: str = "uint16", ends: list[int] | None = None, modes: bool = False
) -> bytes:
    """The ``.idx`` of sequences; each is a document unless `ends` says otherwise."""
    width = np.dtype(dtype).itemsize
    offsets = (np.cumsum([0, *lengths])[:-1] * width).astype("<i8")
    listed = np.arange(len(lengths) + 1) if ends is None else np.array(ends)
    head = b"MMIDIDX\0\0" + struct.pack(
        "<QBQQ", 1, MEGATRON_CODES[dtype], len(lengths), len(listed)
    )
    columns = [np.array(lengths, "<i4"), offsets, listed.astype("<i8")]
    columns += [np.zeros(len(lengths), "i1")] if modes else []
    return head + b"".join(column.tobytes() for column in columns)


def write_megatron(prefix: Path, texts: list[Ids], dtype: str = "uint16") -> Path:
    """``prefix.bin`` and ``prefix.idx``."""
    np.concatenate(texts).astype(dtype).tofile(prefix.with_name(prefix.name + ".bin"))
    index = megatron_index([len(text) for text in texts], dtype)
    prefix.with_name(prefix.name + ".idx").write_bytes(index)
    return prefix.with_name(prefix.name + ".bin")


def write_plain(path: Path, ids: Ids, dtype: str = "uint16", header: bytes = b"") -> Path:
    """Ids alone, behind a header."""
    path.write_bytes(header + ids.astype(dtype).tobytes())
    return path


def expected(
    texts: list[Ids], length: int, labels: str = "same", mask_starts: bool = False
) -> dict[str, Ids]:
    """All columns of all rows in their order."""
    ids = np.concatenate(texts).astype(np.int64)
    starts = np.zeros(len(ids), bool)
    starts[np.cumsum([0, *(len(text) for text in texts)])[:-1]] = True
    ahead = int(labels == "shifted")
    rows = (len(ids) - ahead) // length
    targets = ids.copy()
    if mask_starts:
        targets[starts] = -100
    grid = starts[: rows * length].reshape(rows, length).copy()
    grid[:, 0] = True
    places = np.arange(length)
    return {
        "input_ids": ids[: rows * length].reshape(rows, length),
        "labels": targets[ahead:][: rows * length].reshape(rows, length),
        "position_ids": places - np.maximum.accumulate(np.where(grid, places, 0), axis=1),
        "document_ids": np.cumsum(grid, axis=1).astype(np.int32) - 1,
    }


def rows_of(loader: Any) -> dict[str, Ids]:
    """All rows of the next epoch, in the order in which they come."""
    batches = [{name: column.copy() for name, column in each.items()} for each in loader.numpy()]
    return {name: np.concatenate([each[name] for each in batches]) for name in batches[0]}
