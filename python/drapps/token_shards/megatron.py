"""What Megatron-LM's ``.bin`` and ``.idx`` files are, for who writes them.

The layout stands in ``src/drapps/text/tokens/megatron_index.h``, which reads them.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

_HEAD = struct.Struct("<9sQBQQ")
_MAGIC = b"MMIDIDX\0\0"
_CODES = {"uint8": 1, "uint16": 8, "int32": 4}
_AT_ONCE = 1 << 18  # documents


def dtype_for(vocabulary: int) -> str:
    """The smallest dtype that holds all ids below `vocabulary`."""
    return "uint8" if vocabulary <= 2**8 else "uint16" if vocabulary <= 2**16 else "int32"


def index_bytes(lengths: Path, dtype: str) -> Iterator[bytes]:
    """The index of documents that follow one another, a piece at a time.

    Args:
        lengths: a file of int32 with the number of ids of each.
        dtype: of the ids.
    """
    import numpy as np

    count = lengths.stat().st_size // 4
    yield _HEAD.pack(_MAGIC, 1, _CODES[dtype], count, count + 1)
    with lengths.open("rb") as file:
        while piece := file.read(4 * _AT_ONCE):
            yield piece
    width, behind = np.dtype(dtype).itemsize, 0
    with lengths.open("rb") as file:
        while piece := file.read(4 * _AT_ONCE):
            ends = behind + np.cumsum(np.frombuffer(piece, "<i4"), dtype=np.int64) * width
            yield np.concatenate([[behind], ends[:-1]]).astype("<i8").tobytes()
            behind = int(ends[-1])
    for begin in range(0, count + 1, _AT_ONCE):
        yield np.arange(begin, min(begin + _AT_ONCE, count + 1), dtype="<i8").tobytes()
