"""The blocks of a model: what its lists and sequences hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeGuard

from torch import nn


@dataclass(frozen=True)
class Block:
    """A part of a model whose activations are kept or recomputed as one.

    Attributes:
        name: in the model.
        module: the block itself.
        parent: the outermost ``Sequential`` that runs it, or None.
        run: those of the same run follow one another in a ``Sequential``; -1 for none.
    """

    name: str
    module: nn.Module
    parent: nn.Sequential | None = None
    run: int = -1


def blocks_of(model: nn.Module) -> list[Block]:
    """The children of the outermost lists and sequences, in the order in which they are held.

    A plain ``Sequential`` within another counts by its own children. A module that is held twice
    is found once, and shares no segment.
    """
    places = list(_places(model, ""))
    times = Counter(id(module) for _, module, _ in places)
    blocks: list[Block] = []
    seen: set[int] = set()
    run = -1
    before: nn.Module | None = None
    for name, module, parent in places:
        alone = parent is None or times[id(module)] > 1
        if not alone:
            run += parent is not before
            blocks.append(Block(name, module, parent, run))
        elif id(module) not in seen:
            blocks.append(Block(name, module))
        before = None if alone else parent
        seen.add(id(module))
    return blocks


def leaves(sequence: nn.Sequential) -> Iterator[tuple[str, nn.Module]]:
    """What a sequence runs, where those within it that are plain count by what they run."""
    for name, child in sequence._modules.items():
        if child is not None and _is_plain_sequence(child):
            for inner, leaf in leaves(child):
                yield f"{name}.{inner}", leaf
        elif child is not None:
            yield name, child


def _places(module: nn.Module, name: str) -> Iterator[tuple[str, nn.Module, nn.Sequential | None]]:
    inside = f"{name}." if name else ""
    if _runs_its_children(module):
        for key, child in leaves(module):
            yield inside + key, child, module
    else:
        for key, held in module._modules.items():
            if held is None:
                continue
            if isinstance(module, nn.ModuleList) and not isinstance(held, nn.ModuleList):
                yield inside + key, held, None
            else:
                yield from _places(held, inside + key)


def _runs_its_children(module: nn.Module) -> TypeGuard[nn.Sequential]:
    """Whether a module runs its children one after the other, and does no more."""
    return (
        isinstance(module, nn.Sequential)
        and type(module).forward is nn.Sequential.forward
        and "forward" not in module.__dict__
    )


def _is_plain_sequence(module: nn.Module) -> TypeGuard[nn.Sequential]:
    hooks = (
        module._forward_hooks,
        module._forward_pre_hooks,
        module._backward_hooks,
        module._backward_pre_hooks,
    )
    plain = type(module) is nn.Sequential and _runs_its_children(module)
    return plain and len(module._modules) > 0 and not any(hooks)
