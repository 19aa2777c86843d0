"""`checkpoint`: which activations of a model are kept, and which are recomputed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import torch
from torch import nn

from drapps.arguments import Bytes, byte_count, whole
from drapps.errors import PipelineError
from drapps.train.checkpointing.blocks import Block, blocks_of
from drapps.train.checkpointing.compiled import compiled_in, is_budgeted, within_budget
from drapps.train.checkpointing.forwards import FORWARDS
from drapps.train.checkpointing.installing import install
from drapps.train.checkpointing.report import BlockReport, CheckpointReport
from drapps.train.checkpointing.search import Search
from drapps.train.checkpointing.steps import device_of, step_of, undisturbed
from drapps.train.checkpointing.unmeasured import equal_segments, square_root

Segments = int | Literal["sqrt"]


def checkpoint(
    model: nn.Module,
    example: Any = None,
    *,
    memory: Bytes | None = None,
    segments: Segments | None = None,
) -> CheckpointReport:
    """Recomputes activations of a model in the backward pass, so that a step takes less memory.

    The model's blocks are the children of its outermost ``Sequential``s and ``ModuleList``s. A
    block's activations are kept, or recomputed from its input; on a GPU they may wait in the
    host's memory. Consecutive children of a ``Sequential`` may share one recomputed segment.
    Gradients stay equal bit for bit, random numbers and autocast included, and buffers such as
    those of batch norm are written once.

    With `memory`, the placement minimises the seconds of the forward passes that run again, under
    the constraint that the predicted peak stays within the limit: dynamic programming over the
    measured bytes and seconds of each block. Where the peak that is then measured is not within
    it, or is far below, other placements are tried. With `segments`, the peak is minimised with at
    most so many recomputed segments: where blocks are alike, ``"sqrt"`` is the scheme of Chen et
    al., Training Deep Nets with Sublinear Memory Cost (2016), of about the square root of the
    number of blocks. Blocks that no ``Sequential`` runs cannot share a segment; there ``"sqrt"``
    stands for as many segments as blocks.

    A model that is compiled already recomputes what torch's compiler chooses: `memory` is then kept
    by the largest ``activation_memory_budget`` whose measured peak is within it.

    Args:
        model: to change. Only the attribute ``forward`` of some modules is set; names of
            parameters, modules and ``state_dict()`` stay.
        example: what a step is measured with: what the model is given (a tensor, a tuple of
            arguments, or a dictionary of arguments by name), or a callable without arguments that
            gives the loss or makes a forward and a backward pass itself, without the optimizer's
            step. It runs several times; gradients, buffers and random states are restored. Without
            it nothing is measured.
        memory: the most bytes that a step may add to what lives before it: a number, or a text
            such as ``"2GiB"``. Parameters, gradients and the optimizer's state are no part of it.
        segments: how many segments may be recomputed, or ``"sqrt"``, which is the default without
            `memory`.

    Returns:
        What was placed, predicted and measured; `undo()` of it takes it back.

    Raises:
        PipelineError: `memory` and `segments` together, `memory` without an example, or a step
            that changes parameters.
        MemoryLimitError: no placement stays within `memory`; it has the smallest peak that can be
            reached, and the model is as it was.
    """
    if memory is not None and segments is not None:
        raise PipelineError("checkpoint() takes memory= or segments=, not both")
    if memory is not None and example is None:
        raise PipelineError(
            "checkpoint(memory=...) measures a step: give it an example input, or a callable that "
            "gives the loss"
        )
    limit = None if memory is None else byte_count("memory", memory)
    if segments is not None and segments != "sqrt":
        segments = whole("segments", segments, 1)
    compiled = compiled_in(model)
    if compiled and limit is not None and not _is_checkpointed(model):
        with undisturbed(model):
            return within_budget(compiled, step_of(model, example), device_of(model), limit)
    blocks = blocks_of(model)
    reason = _reason(model, blocks)
    if reason:
        return CheckpointReport(_kept(blocks), reason)
    if example is None:
        return _unmeasured(blocks, segments)
    with undisturbed(model):
        search = Search(blocks, step_of(model, example), device_of(model))
        return search.within(limit) if limit is not None else search.in_segments(segments)


def _is_checkpointed(model: nn.Module) -> bool:
    """Whether it is changed already."""
    placed = any(isinstance(each.__dict__.get("forward"), FORWARDS) for each in model.modules())
    return placed or is_budgeted(model)


def _reason(model: nn.Module, blocks: Sequence[Block]) -> str:
    """Why nothing can be done with a model; empty where something can."""
    if _is_checkpointed(model):
        return "it is checkpointed already: undo() that first"
    if compiled_in(model):
        return (
            "the model is compiled already: give memory=, or checkpoint it first, and compile it "
            "then"
        )
    if any(isinstance(each, torch.jit.ScriptModule) for each in model.modules()):
        return "the model is a TorchScript one, whose blocks cannot be given another forward"
    if len(blocks) < 2:
        return "the model has no Sequential or ModuleList of two blocks or more"
    return ""


def _kept(blocks: Sequence[Block]) -> tuple[BlockReport, ...]:
    return tuple(BlockReport(each.name, "keep") for each in blocks)


def _unmeasured(blocks: Sequence[Block], segments: Segments | None) -> CheckpointReport:
    count = segments if isinstance(segments, int) else square_root(blocks)
    placed = equal_segments(blocks, count)
    undo = install(placed)
    reports: list[BlockReport] = []
    for number, (segment, action) in enumerate(placed, 1):
        at = number if action == "recompute" else None
        reports += [BlockReport(each.name, action, at) for each in segment]
    return CheckpointReport(tuple(reports)).undoing(undo)
