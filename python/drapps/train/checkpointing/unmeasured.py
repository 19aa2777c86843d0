"""Segments of equally many blocks, where nothing was measured."""

from __future__ import annotations

import math
from collections.abc import Sequence

from drapps.train.checkpointing.blocks import Block
from drapps.train.checkpointing.installing import Placed


def alike_runs(blocks: Sequence[Block]) -> list[tuple[Block, ...]]:
    """Consecutive blocks that may share a segment."""
    runs: list[list[Block]] = []
    for block in blocks:
        if runs and block.run >= 0 and runs[-1][-1].run == block.run:
            runs[-1].append(block)
        else:
            runs.append([block])
    return [tuple(run) for run in runs]


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
