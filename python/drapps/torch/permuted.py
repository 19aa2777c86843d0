"""Shuffled orders of large datasets, computed position by position instead of held in memory."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from drapps import _core

# Samples from which on an order is computed: torch's shuffle keeps 48 bytes of each.
LARGE = 1 << 24
_AT_ONCE = 1024


def permuted(
    size: int, seed: int, epoch: int = 0, first: int = 0, step: int = 1, count: int | None = None
) -> Iterator[int]:
    """A keyed bijection of ``range(size)``, after Hoang, Morris and Rogaway (CRYPTO 2012).

    Args:
        size: of the order, at most 2^48.
        seed: 64 bits that make it, with `epoch`.
        epoch: 32 bits.
        first: the position to begin at.
        step: to the next position; behind the end the order begins again.
        count: how many samples, by default as many as reach the end.
    """
    count = -(-(size - first) // step) if count is None else count
    for done in range(0, count, _AT_ONCE):
        ahead = np.arange(done, min(done + _AT_ONCE, count), dtype=np.uint64)
        positions = (first + step * ahead) % size
        _core.permute(positions, size, seed % (1 << 64), epoch % (1 << 32))
        yield from positions.tolist()
