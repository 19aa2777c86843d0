"""Contestant: nanoGPT's `get_batch` (github.com/karpathy/nanoGPT, train.py).

Its argument is as that of `token_rows`. The function makes the memmap anew for each batch, as the
original does so that memory does not leak; on a CPU the original's batches go nowhere else.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from benchmarks import feed
from benchmarks.text import token_data


def taken(data: Any, ix: Any, block_size: int) -> tuple[Any, Any]:
    """Ids and labels of the rows that begin at `ix`."""
    x = torch.stack([torch.from_numpy((data[i : i + block_size]).astype(np.int64)) for i in ix])
    y = torch.stack(
        [torch.from_numpy((data[i + 1 : i + 1 + block_size]).astype(np.int64)) for i in ix]
    )
    return x, y


def get_batch(file: str, block_size: int, batch_size: int) -> tuple[Any, Any]:
    """Rows that begin anywhere, and may come again."""
    data = np.memmap(file, dtype=np.uint16, mode="r")
    ix = torch.randint(len(data) - block_size, (batch_size,))
    return taken(data, ix, block_size)


def batches(spec: dict[str, Any]) -> Iterator[Any]:
    """Without an end."""
    while True:
        yield get_batch(f"{spec['folder']}/train.bin", spec["length"], spec["batch"])


if __name__ == "__main__":
    feed.converse(lambda spec: token_data.answering(batches(spec)))
