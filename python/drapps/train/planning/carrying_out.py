"""A plan from its measurements, and what it does to loader and model when it is carried out."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch

from drapps.errors import PipelineError
from drapps.report.base import mib
from drapps.train.checkpointing import CheckpointReport, checkpoint
from drapps.train.planning import choice
from drapps.train.planning.drawing import passing
from drapps.train.planning.model import StepModel
from drapps.train.planning.probing import Loss, Probe
from drapps.train.planning.report import PlannedStep, TrainingPlan
from drapps.train.precision import Precision
from drapps.train.step import Step


@dataclass(frozen=True)
class Work:
    """What is planned for.

    Attributes:
        model: that is trained.
        loader: of its batches.
        optimizer: of its steps.
        loss: of a batch.
        batch: samples of the loader's batches today.
    """

    model: torch.nn.Module
    loader: Iterable[Any]
    optimizer: torch.optim.Optimizer
    loss: Loss
    batch: int


def planned(
    stages: StepModel, wanted: choice.Wanted, work: Work, notes: Sequence[str]
) -> TrainingPlan:
    """The best step, and what else there is.

    Raises:
        PipelineError: none fits into memory.
    """
    steps = choice.steps(stages, wanted)
    if not steps:
        raise PipelineError(_none_fits(stages, wanted))
    gained = choice.gains(stages, wanted)
    today = [
        each
        for each in steps
        if (each.micro_batch, each.accumulation) == (work.batch, 1)
        and each.precision == "fp32"
        and not each.recomputed
    ]
    plan = TrainingPlan(
        chosen=steps[0],
        today=today[0] if today else None,
        alternatives=tuple(steps[1:]),
        binds=choice.binding(gained),
        gains=gained,
        noise=wanted.noise,
        loader_rate=stages.rate,
        notes=tuple(notes),
    )

    def again(noise: float | None, rate: float | None) -> TrainingPlan:
        scale = wanted.noise if noise is None or math.isnan(noise) else noise
        return planned(
            stages if rate is None else replace(stages, rate=rate),
            replace(wanted, noise=scale),
            work,
            notes,
        )

    room = wanted.memory - stages.fixed
    return plan.doing(partial(_carried_out, work, steps[0], room), again)


def _none_fits(stages: StepModel, wanted: choice.Wanted) -> str:
    unlimited = choice.steps(stages, replace(wanted, memory=math.inf))
    if not unlimited:
        return (
            f"no step of {wanted.least} to {wanted.most} samples can be made of micro-batches of "
            f"{', '.join(map(str, wanted.micros)) or 'any size'} on {stages.ranks} ranks that fit "
            "into memory: give another reference=, most= or a smaller batch of the loader"
        )
    least = min(each.peak_bytes for each in unlimited)
    share = stages.recomputing.peak if stages.recomputing else 1.0
    reached = stages.fixed + (least - stages.fixed) * share
    return (
        f"no step fits into memory={wanted.memory:.0f} bytes: the smallest takes "
        f"{mib(reached)}, {mib(stages.fixed)} of it parameters, gradients and the optimizer's state"
    )


def _carried_out(work: Work, step: PlannedStep, room: float, options: dict[str, Any]) -> Step:
    """Sets loader and model, and makes the `Step`; where that fails both are as they were."""
    loader: Any = work.loader
    other = step.micro_batch != work.batch
    if other and not hasattr(loader, "set_batch_size"):
        raise PipelineError(
            f"the batch of {type(loader).__name__} cannot be set: make it with "
            f"batch_size={step.micro_batch}, and plan again"
        )
    placed = _checkpoint(work, step, room) if step.recomputed else None
    try:
        training_step = Step(
            work.model,
            work.optimizer,
            **{"batch": step.accumulation, "precision": step.precision, **options},
        )
        if other:
            loader.set_batch_size(step.micro_batch)
    except BaseException:
        if placed is not None:
            placed.undo()
        raise
    return training_step


def _checkpoint(work: Work, step: PlannedStep, room: float) -> CheckpointReport:
    batches: list[Any] = []
    with passing(work.loader) as given:
        for batch in given:
            batches.append(batch)
            probe = Probe(work.model, work.loss, batches)
            if probe.samples * len(batches) >= step.micro_batch:
                break
    example = probe.batch(step.micro_batch)
    once = partial(probe.step, example, Precision(step.precision, probe.device))
    return checkpoint(work.model, once, memory=int(room) if step.recomputed < 1 else None)
