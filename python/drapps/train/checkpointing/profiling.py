"""Measures a plain step block by block, and the peak of any step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from drapps.train.checkpointing.blocks import Block
from drapps.train.checkpointing.memory import LiveTensors, tensors_in
from drapps.train.checkpointing.steps import Step, now
from drapps.train.checkpointing.visits import Profile, hooked
from drapps.train.checkpointing.watching import Watch

TIMED = 2  # steps, of which the fastest counts


def profile(step: Step, blocks: Sequence[Block], device: torch.device) -> Profile:
    """Looks at plain steps: one to warm up, some for the seconds, one for the bytes."""
    changed = _changed(step, blocks)
    times = [_timed(step, blocks, device) for _ in range(TIMED)]
    watch = Watch(device)
    with watch.watching(blocks):
        step()
    return Profile(
        [visit for visit in watch.visits if not visit.idle],
        watch.live.sizes,
        watch.peak,
        {number: min(each[number] for _, each in times) for number in times[0][1]},
        min(whole for whole, _ in times),
        watch.called,
        changed,
    )


def measured_peak(step: Step, device: torch.device) -> int:
    """The most bytes of tensors that a step adds to what lived before it."""
    live = LiveTensors(device)
    live.mark()
    with live:
        step()
    return live.peak


def _changed(step: Step, blocks: Sequence[Block]) -> set[int]:
    """Blocks whose input is changed in place, after they have run, before the step is over."""
    given: list[tuple[int, torch.Tensor, int]] = []

    def leave(number: int, inputs: Any, made: Any) -> None:  # noqa: ARG001
        given.extend((number, tensor, tensor._version) for tensor in tensors_in(inputs))

    with hooked(blocks, lambda *_: None, leave):
        step()
    return {number for number, tensor, version in given if tensor._version != version}


def _timed(
    step: Step, blocks: Sequence[Block], device: torch.device
) -> tuple[float, dict[int, float]]:
    """Seconds of a step, and of each block's forward pass."""
    seconds: dict[int, float] = {}
    begun: dict[int, float] = {}

    def enter(number: int, *_: Any) -> None:
        begun[number] = now(device)

    def leave(number: int, *_: Any) -> None:
        seconds[number] = seconds.get(number, 0.0) + now(device) - begun[number]

    with hooked(blocks, enter, leave):
        start = now(device)
        step()
        return now(device) - start, seconds
