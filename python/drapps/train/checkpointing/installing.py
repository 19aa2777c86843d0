"""A placement put on the blocks of a model, and taken off again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from torch import nn

from drapps.train.checkpointing.blocks import Block
from drapps.train.checkpointing.forwards import Offloaded, Recomputed, RecomputedRuns

Placed = tuple[tuple[Block, ...], str]  # blocks of a segment, what is done with their activations


def install(placed: Iterable[Placed]) -> Callable[[], None]:
    """Puts a `forward` of its own on each block that is not kept.

    Returns:
        What takes it off again.
    """
    runs: dict[int, tuple[nn.Sequential, list[list[nn.Module]]]] = {}
    changed: list[tuple[nn.Module, Any]] = []
    for blocks, action in placed:
        first = blocks[0]
        if action == "offload":
            changed += [(each.module, Offloaded(each.module)) for each in blocks]
        elif action == "recompute" and first.parent is not None and len(blocks) > 1:
            _, groups = runs.setdefault(id(first.parent), (first.parent, []))
            groups.append([each.module for each in blocks])
        elif action == "recompute":
            changed.append((first.module, Recomputed(first.module)))
    changed += [(parent, RecomputedRuns(parent, groups)) for parent, groups in runs.values()]
    return put_on(changed)


def put_on(changed: Sequence[tuple[nn.Module, Any]]) -> Callable[[], None]:
    """Gives each module a `forward` of its own.

    Returns:
        What takes it off again.
    """
    for module, forward in changed:
        module.forward = forward

    def undo() -> None:
        for module, forward in changed:
            if module.__dict__.get("forward") is forward:
                del module.forward

    return undo
