"""Every block recomputed, for steps of which a plain run does not fit into memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from torch import nn

from drapps.train.checkpointing.blocks import Block
from drapps.train.checkpointing.forwards import Recomputed
from drapps.train.checkpointing.installing import put_on
from drapps.train.checkpointing.recompute import is_plain, recomputed
from drapps.train.checkpointing.watching import Watch


@contextmanager
def all_recomputed(
    blocks: Sequence[Block], apart: set[int], watch: Watch | None = None
) -> Iterator[None]:
    """Within, every block is recomputed by itself.

    Args:
        blocks: of the model.
        apart: numbers of blocks that are not.
        watch: is told of it.
    """
    undo = put_on(
        [
            (block.module, _Observed(block.module, watch))
            for number, block in enumerate(blocks)
            if number not in apart and "forward" not in block.module.__dict__
        ]
    )
    try:
        yield
    finally:
        undo()


class _Observed(Recomputed):
    """Tells a watch when its block runs again."""

    def __init__(self, block: nn.Module, watch: Watch | None) -> None:
        super().__init__(block)
        self._watch = watch

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._watch is None or not torch.is_grad_enabled() or not is_plain((args, kwargs)):
            return super().__call__(*args, **kwargs)
        around: Callable[[], Any] = partial(self._watch.again, len(self._watch.visits) - 1)
        return recomputed(self.__wrapped__, [self.block], args, kwargs, around)
