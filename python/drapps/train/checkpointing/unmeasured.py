"""Segments of equally many blocks, where nothing was measured."""

from __future__ import annotations

import math
from collections.abc import Sequence

from drapps.train.checkpointing.blocks import Block
from drapps.train.checkpointing.installing import Placed


def alike_runs(blocks: Sequence[Block]) -> list[tuple[Block, ...]]:
    """Consecutive blocks that may share a segment."""
    found: list[list[Block]] = []
    for block in blocks:
        if found and block.run >= 0 and found[-1][-1].run == block.run:
            found[-1].append(block)
        else:
            found.append([block])
    return [tuple(run) for run in found]


def square_root(blocks: Sequence[Block]) -> int:
    """About the square root of the number of blocks, where they may share segments; else all."""
    together = any(len(run) > 1 for run in alike_runs(blocks))
    return math.ceil(math.sqrt(len(blocks))) if together else len(blocks)


def equal_segments(blocks: Sequence[Block], count: int) -> list[Placed]:
    """At most `count` recomputed segments of about equally many blocks.

    The last segment is kept, as by ``torch.utils.checkpoint.checkpoint_sequential``: its backward
    pass comes at once.
    """
    most = math.ceil(len(blocks) / count)
    pieces = [
        run[first : first + most]
        for run in alike_runs(blocks)
        for first in range(0, len(run), most)
    ]
    recomputed = pieces[: min(count, len(pieces) - 1)]
    placed: list[Placed] = [(piece, "recompute") for piece in recomputed]
    return placed + [((block,), "keep") for piece in pieces[len(recomputed) :] for block in piece]
