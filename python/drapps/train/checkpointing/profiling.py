"""Measures a plain step block by block, and the peak of any step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

import torch

from drapps.errors import PipelineError
from drapps.train.checkpointing.blocks import Block
from drapps.train.checkpointing.frugal import all_recomputed
from drapps.train.checkpointing.memory import LiveTensors, tensors_in
from drapps.train.checkpointing.steps import Step, now
from drapps.train.checkpointing.visits import Profile, hooked
from drapps.train.checkpointing.watching import ForwardIsOver, Watch

TIMED = 2  # steps, of which the fastest counts


def profile(step: Step, blocks: Sequence[Block], device: torch.device) -> Profile:
    """Looks at some steps: to warm up, for the seconds, and for the bytes.

    They are plain ones. Where these do not fit into the memory of a GPU, one forward pass says what
    is saved, and the steps are such in which every block is recomputed.

    Raises:
        PipelineError: these do not fit either.
    """
    try:
        return _plain_profile(step, blocks, device)
    except torch.OutOfMemoryError:
        pass  # and lets go of what the step has made
    try:
        return _frugal_profile(step, blocks, device)
    except torch.OutOfMemoryError:
        pass
    raise PipelineError(
        "the step does not fit into the memory of the GPU with every block recomputed by itself: "
        "give checkpoint() a smaller example"
    )


def _plain_profile(step: Step, blocks: Sequence[Block], device: torch.device) -> Profile:
    with _input_changes(blocks) as changed:
        step()
    whole, seconds = _fastest(step, blocks, device)
    watch = Watch(device)
    with watch.watching(blocks):
        step()
    visits = [visit for visit in watch.visits if not visit.idle]
    return Profile(visits, watch.live.sizes, seconds, whole, watch.peak, watch.called, changed)


def _frugal_profile(step: Step, blocks: Sequence[Block], device: torch.device) -> Profile:
    if device.type == "cuda":
        torch.cuda.empty_cache()
    saving = Watch(device, forward_only=True)
    with suppress(ForwardIsOver), _input_changes(blocks) as changed, saving.watching(blocks):
        step()
    own = {number for each in saving.visits if each.changes_input for number in each.blocks}
    apart = changed | own | {number - 1 for number in own}
    with all_recomputed(blocks, apart):
        whole, seconds = _fastest(step, blocks, device)
    watch = Watch(device)
    with all_recomputed(blocks, apart, watch), watch.watching(blocks):
        step()
    visits = [
        replace(
            visit,
            given=seen.given,
            gives=seen.gives,
            saved=seen.saved,
            casts=seen.casts,
            largest=seen.largest,
        )
        for visit, seen in zip(watch.visits, saving.visits, strict=True)
    ]
    again = [number for each in visits if each.rerun is not None for number in each.blocks]
    return Profile(
        [visit for visit in visits if not visit.idle],
        saving.live.sizes,
        seconds,
        max(whole - sum(seconds[number] for number in again), 0.0),
        None,
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


@contextmanager
def _input_changes(blocks: Sequence[Block]) -> Iterator[set[int]]:
    """Afterwards, has the blocks whose input was changed in place when they had run."""
    given: list[tuple[int, torch.Tensor, int]] = []
    numbers: set[int] = set()

    def leave(number: int, inputs: Any, output: Any) -> None:  # noqa: ARG001
        given.extend((number, tensor, tensor._version) for tensor in tensors_in(inputs))

    try:
        with hooked(blocks, lambda *_: None, leave):
            yield numbers
    finally:
        numbers |= {number for number, tensor, version in given if tensor._version != version}


def _fastest(
    step: Step, blocks: Sequence[Block], device: torch.device
) -> tuple[float, dict[int, float]]:
    """Seconds of a step, and of each block's forward pass, where these were shortest."""
    times = [_timed(step, blocks, device) for _ in range(TIMED)]
    seconds = {number: min(each[number] for _, each in times) for number in times[0][1]}
    return min(whole for whole, _ in times), seconds


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
