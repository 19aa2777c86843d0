"""Follows the bytes of one step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn
from torch.autograd.graph import saved_tensors_hooks

from drapps.train.checkpointing.blocks import Block
from drapps.train.checkpointing.memory import LiveTensors, tensors_in
from drapps.train.checkpointing.recompute import is_plain
from drapps.train.checkpointing.visits import Visit, hooked


class ForwardIsOver(Exception):  # noqa: N818
    """A watch has seen what it wanted of a step."""


class Watch:
    """Follows one step.

    Args:
        device: where the model is.
        forward_only: nothing is saved for the backward pass, which ends in `ForwardIsOver`.
    """

    def __init__(self, device: torch.device, forward_only: bool = False) -> None:
        self._forward_only = forward_only
        self.live = LiveTensors(device)
        self.visits: list[Visit] = []
        self.peak = 0
        self._backward = -1  # the visit whose backward pass it is
        self.called: set[int] = set()
        self._versions: list[int] = []

    @contextmanager
    def watching(self, blocks: Sequence[Block]) -> Iterator[None]:
        """Everything within is one step."""
        self.live.mark()
        self._begin(())
        parents = {id(each.parent): each.parent for each in blocks if each.parent is not None}
        handles = [each.register_forward_pre_hook(self._call) for each in parents.values()]
        try:
            with hooked(blocks, self._enter, self._leave), self.live:
                with saved_tensors_hooks(self._pack, self._unpack):
                    yield
                self._take_peak()
        finally:
            for handle in handles:
                handle.remove()

    @contextmanager
    def again(self, at: int) -> Iterator[None]:
        """Within, a visit's block runs again for its backward pass."""
        self._take_peak()
        self._backward = at
        before = self.live.live
        try:
            yield
        finally:
            visit = self.visits[at]
            self.peak = max(self.peak, self.live.peak)
            visit.forward = visit.again = self.live.peak - before
            visit.rerun = self.live.live - before
            self.live.mark()

    def _call(self, module: nn.Module, _: Any) -> None:
        self.called.add(id(module))

    def _begin(self, block: tuple[int, ...]) -> None:
        self._take_peak()
        self.visits.append(Visit(block, start=self.live.live))

    def _take_peak(self) -> None:
        """What the visit at work has reached since the last time."""
        reached = self.live.peak
        self.peak = max(self.peak, reached)
        if self._backward >= 0:
            visit = self.visits[self._backward]
            visit.backward = max(visit.backward, reached)
        elif self.visits:
            self.visits[-1].forward = max(self.visits[-1].forward, reached)
        self.live.mark()

    def _enter(self, number: int, given: Any) -> None:
        self._begin((number,))
        visit = self.visits[-1]
        visit.given = self.live.numbers(given)
        visit.plain = is_plain(given)
        self._versions = [tensor._version for tensor in tensors_in(given)]

    def _leave(self, number: int, given: Any, output: Any) -> None:  # noqa: ARG002
        visit = self.visits[-1]
        visit.gives = self.live.numbers(output)
        visit.changes_input = self._versions != [each._version for each in tensors_in(given)]
        self._begin(())

    def _pack(self, tensor: torch.Tensor) -> tuple[int, torch.Tensor | None]:
        number = self.live.number(tensor)
        if number is not None:
            self._take_peak()
            visit = self.visits[-1]
            visit.saved.add(number)
            if number in self.live.casts:
                visit.casts.add(number)
            visit.largest = max(visit.largest, self.live.sizes[number])
            visit.again = visit.forward
        return len(self.visits) - 1, None if self._forward_only else tensor

    def _unpack(self, packed: tuple[int, torch.Tensor | None]) -> torch.Tensor:
        visit, tensor = packed
        if tensor is None:
            raise ForwardIsOver
        if visit != self._backward:
            self._take_peak()
            self._backward = visit
        return tensor
