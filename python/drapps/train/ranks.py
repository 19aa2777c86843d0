"""What ranks of a training agree on."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.distributed


def count() -> int:
    """How many there are; 1 where nothing is distributed."""
    there = torch.distributed.is_available() and torch.distributed.is_initialized()
    return torch.distributed.get_world_size() if there else 1


def total(values: Sequence[float], device: torch.device) -> list[float]:
    """The sum over all ranks, of each value."""
    return _reduced(values, device, "SUM")


def most(value: float, device: torch.device) -> float:
    """The largest of all ranks."""
    return _reduced([value], device, "MAX")[0]


def _reduced(values: Sequence[float], device: torch.device, how: str) -> list[float]:
    if count() == 1:
        return [float(each) for each in values]
    shared = torch.tensor(list(values), dtype=torch.float64, device=device)
    torch.distributed.all_reduce(shared, getattr(torch.distributed.ReduceOp, how))
    return [float(each) for each in shared]
