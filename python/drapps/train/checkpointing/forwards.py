"""What stands in the place of a block's ``forward``.

These are objects, not closures, so that models are pickled and copied with them: the copy of a
model recomputes by its own blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import nn
from torch.autograd.graph import saved_tensors_hooks
from torch.utils.checkpoint import checkpoint

from drapps.train.checkpointing.blocks import leaves
from drapps.train.checkpointing.recompute import is_plain, recomputed


class Recomputed:
    """The ``forward`` of a block whose activations are recomputed."""

    def __init__(self, block: nn.Module) -> None:
        self.block = block

    @property
    def __wrapped__(self) -> Any:
        return type(self.block).forward.__get__(self.block)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the block."""
        forward = self.__wrapped__
        if not torch.is_grad_enabled() or not is_plain((args, kwargs)):
            return forward(*args, **kwargs)
        if torch.compiler.is_compiling():  # what is compiled writes buffers once by itself
            return checkpoint(forward, *args, use_reentrant=False, **kwargs)
        return recomputed(forward, [self.block], args, kwargs)


class RecomputedRuns:
    """The ``forward`` of a ``Sequential``, some of whose children are recomputed together."""

    def __init__(self, sequence: nn.Sequential, runs: Sequence[Sequence[nn.Module]]) -> None:
        self.sequence = sequence
        self.runs = runs

    @property
    def __wrapped__(self) -> Any:
        return type(self.sequence).forward.__get__(self.sequence)

    def __call__(self, input: Any) -> Any:  # noqa: A002
        """Runs the sequence."""
        if not torch.is_grad_enabled():
            return self.__wrapped__(input)
        value = input
        at = {id(modules[0]): modules for modules in self.runs}
        inside = {id(each) for modules in self.runs for each in modules}
        for _, child in leaves(self.sequence):
            if id(child) in at:
                value = _together(at[id(child)], value)
            elif id(child) not in inside:
                value = child(value)
        return value


def _together(modules: Sequence[nn.Module], value: Any) -> Any:
    def run(given: Any) -> Any:
        for module in modules:
            given = module(given)
        return given

    if not is_plain(value):
        return run(value)
    if torch.compiler.is_compiling():
        return checkpoint(run, value, use_reentrant=False)
    return recomputed(run, modules, (value,), {})


class Offloaded:
    """The ``forward`` of a block whose activations wait in the memory of the host."""

    def __init__(self, block: nn.Module) -> None:
        self.block = block

    @property
    def __wrapped__(self) -> Any:
        return type(self.block).forward.__get__(self.block)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the block."""
        if not torch.is_grad_enabled() or torch.compiler.is_compiling():
            return self.__wrapped__(*args, **kwargs)
        stay = {
            each.untyped_storage()._cdata
            for each in (*self.block.parameters(), *self.block.buffers())
        }
        with saved_tensors_hooks(lambda tensor: to_host(tensor, stay), from_host):
            return self.__wrapped__(*args, **kwargs)


def to_host(tensor: torch.Tensor, stay: set[int]) -> Any:
    """A copy on the host, pinned where there is a GPU; what is to stay where it is, does."""
    if tensor.layout != torch.strided or tensor.untyped_storage()._cdata in stay:
        return tensor
    copy = torch.empty_like(tensor, device="cpu", pin_memory=tensor.is_cuda)
    return copy.copy_(tensor), tensor.device


def from_host(packed: Any) -> torch.Tensor:
    """What `to_host` was given."""
    if isinstance(packed, torch.Tensor):
        return packed
    copy, device = packed
    tensor: torch.Tensor = copy.to(device, non_blocking=True)
    return tensor


FORWARDS = (Recomputed, RecomputedRuns, Offloaded)
