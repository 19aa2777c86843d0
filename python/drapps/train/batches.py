"""Batches as loaders give them: tensors and lists, however they are nested."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch.utils._pytree import tree_flatten, tree_map, tree_unflatten

from drapps.errors import PipelineError


def samples_of(batch: Any) -> int:
    """The length of the first tensor in a batch.

    Raises:
        PipelineError: there is none.
    """
    pending = [batch]
    while pending:
        part = pending.pop(0)
        if isinstance(part, torch.Tensor) and part.ndim > 0:
            return len(part)
        if isinstance(part, Mapping):
            pending.extend(part.values())
        elif isinstance(part, Sequence) and not isinstance(part, str):
            pending.extend(part)
    raise PipelineError("the batch holds no tensor, so nothing says how many samples it has")


def part_of(batch: Any, first: int, end: int) -> Any:
    """The samples of a batch from `first` up to `end`: of each tensor that has all of them."""
    count = samples_of(batch)

    def cut(value: Any) -> Any:
        whole = isinstance(value, torch.Tensor) and value.ndim > 0 and len(value) == count
        return value[first:end] if whole else value

    return tree_map(cut, batch)


def joined(batches: Sequence[Any]) -> Any:
    """One batch of all their samples; None where their tensors cannot be joined, as padded ones."""
    flat = [tree_flatten(each) for each in batches]
    leaves, shape = flat[0]
    counts = [samples_of(each) for each in batches]
    values: list[Any] = []
    for place, first in enumerate(leaves):
        if not (isinstance(first, torch.Tensor) and first.ndim > 0 and len(first) == counts[0]):
            values.append(first)
            continue
        tensors = [each[place] for each, _ in flat if place < len(each)]
        if len(tensors) < len(flat) or any(each.shape[1:] != first.shape[1:] for each in tensors):
            return None
        values.append(torch.cat(tensors))
    return tree_unflatten(values, shape)


def bytes_of(batch: Any) -> int:
    """Of the tensors in a batch."""
    leaves, _ = tree_flatten(batch)
    return sum(each.nbytes for each in leaves if isinstance(each, torch.Tensor))


def moved(batch: Any, device: torch.device) -> Any:
    """The batch with its tensors on a device."""
    return tree_map(lambda each: each.to(device) if isinstance(each, torch.Tensor) else each, batch)
