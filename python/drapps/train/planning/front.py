"""`plan`: batch, precision and checkpoints of a training, decided together with its loader."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence
from typing import Any

import torch

from drapps.arguments import Bytes, one_of, positive, whole
from drapps.train import ranks
from drapps.train.checkpointing.steps import device_of, undisturbed
from drapps.train.noise import NoiseEstimate, NoiseScale
from drapps.train.planning import choice, measuring
from drapps.train.planning.carrying_out import Work, planned
from drapps.train.planning.drawing import drawn_from
from drapps.train.planning.model import StepModel
from drapps.train.planning.optimizer_cost import optimizer_cost
from drapps.train.planning.probing import Loss, Probe, loss_of
from drapps.train.planning.report import TrainingPlan
from drapps.train.precision import Kind

_MORE = 16  # times the reference, that a step has samples at most


def plan(
    model: torch.nn.Module,
    loader: Iterable[Any],
    optimizer: torch.optim.Optimizer,
    *,
    loss: Loss = loss_of,
    memory: Bytes | None = None,
    target: choice.Target = "goodput",
    noise: NoiseScale | NoiseEstimate | float | None = None,
    rate: float | None = None,
    reference: int | None = None,
    least: int | None = None,
    most: int | None = None,
    precision: Kind | Sequence[Kind] | None = None,
    seconds: float = 60.0,
) -> TrainingPlan:
    """Measures some steps, and says which batch, precision and checkpoints train fastest.

    Goodput is throughput times statistical efficiency: (φ + reference) ÷ (φ + samples of a step)
    with the noise scale φ. A step takes (T_step^p + T_loader^p)^(1 ÷ p), where T_step is measured
    by number of samples, precision and recomputation, T_loader is how long its samples take the
    loader alone, and p is how well the two overlap. Source: Qiao et al., "Pollux", OSDI 2021.

    Nothing changes before `step` of the plan is called: parameters, gradients, buffers, the
    optimizer, random states and the loader are afterwards what they were. On several ranks all call
    it, and come to the same.

    Args:
        model: that is trained, on its device, in its ``DistributedDataParallel`` where it has one.
        loader: whose batches it is trained with; its batch is the micro-batch of today.
        optimizer: whose steps are made.
        loss: gives the mean loss of a batch, a tensor of one number; where absent, the model gives
            it by itself.
        memory: the most bytes that parameters, gradients, the optimizer's state and a step may take
            on each rank. Where absent, what the GPU has; on a CPU nothing is limited.
        target: ``goodput``; ``throughput``, which is blind to what samples are worth; or
            ``memory``: the least of it in at most 1.35 times the time of the best.
        noise: the noise scale, in samples, or what has measured it. Where absent it is measured at
            the parameters as they are; where it cannot be, steps keep their samples.
        rate: samples a second that the loader makes for a rank, as a simulation says; measured
            where absent.
        reference: samples of a step, over all ranks, that the learning rate was tuned for; the
            loader's batch of each rank where absent.
        least: samples of a step, over all ranks, that are considered; the reference where absent.
        most: samples of a step, over all ranks, that are considered; 16 times the reference where
            absent.
        precision: to choose from; fp32 and what the device is made for where absent. One whose
            losses are more than 2 % off those of fp32 is left out.
        seconds: after which no further size is measured.

    Raises:
        PipelineError: an argument is none, the loader gives no batch, or no step fits into memory.
    """
    begun = time.perf_counter()
    one_of("target", target, choice.TARGETS)
    seconds = positive("seconds", seconds)
    limit = measuring.memory_limit(device_of(model), memory)
    given = measuring.given_kinds(device_of(model), precision)
    known = measuring.given_noise(noise)
    loader_rate = None if rate is None else positive("rate", rate)
    drawn = drawn_from(loader)
    probe = Probe(model, loss, drawn.batches)
    count = ranks.count()
    today = drawn.samples * count
    reference = today if reference is None else whole("reference", reference, 1)
    least = reference if least is None else whole("least", least, 1, reference)
    most = _MORE * reference if most is None else whole("most", most, reference)
    notes: list[str] = []

    def spent() -> bool:
        return ranks.most(time.perf_counter() - begun, probe.device) > seconds

    with undisturbed(model):
        kinds = measuring.usable_kinds(probe, given, notes)
        measured = {kind: measuring.by_size(probe, kind, most // count, spent) for kind in kinds}
        scale = measuring.measured_noise(probe) if known is None else known
        cost = optimizer_cost(model, optimizer)
        exchange = probe.exchange_seconds()
        overlap = measuring.measured_overlap(probe, loader, drawn, measured, notes)
    limited = math.isfinite(limit) or target == "memory"
    recomputing = measuring.measured_recomputing(probe, notes) if limited else None
    if cost is None:
        notes.append("the optimizer's cost is not known: another of its kind cannot be made")
    if probe.normalises:
        notes.append("batch norm sees micro-batches: other ones change its statistics")
    if math.isnan(scale):
        notes.append("the noise scale is not known, so steps keep their samples")
    stages = StepModel(
        measured,
        recomputing,
        exchange + (cost.seconds if cost else 0.0),
        measuring.fixed_bytes(model) + (cost.state if cost else 0.0),
        -ranks.most(-(drawn.rate if loader_rate is None else loader_rate), probe.device),
        ranks.most(overlap, probe.device),
        count,
    )
    micros = measuring.sizes_to_choose_from(stages, probe.least)
    wanted = choice.Wanted(target, limit, scale, reference, least, most, micros)
    return planned(stages, wanted, Work(model, loader, optimizer, loss, drawn.samples), notes)
