"""What a plan stands on: everything that is measured before it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import torch

from drapps.arguments import Bytes, byte_count, one_of, positive
from drapps.errors import PipelineError
from drapps.train import ranks
from drapps.train.checkpointing import checkpoint
from drapps.train.checkpointing.steps import now
from drapps.train.noise import NoiseEstimate, NoiseScale
from drapps.train.planning import precisions
from drapps.train.planning.drawing import Drawn, passing
from drapps.train.planning.model import Recomputing, StepModel, overlap_of
from drapps.train.planning.probing import Measured, Probe
from drapps.train.precision import KINDS, Kind, Precision

DOUBLINGS = 3  # of the loader's batch, up and down, that are measured
_LEAST_TOGETHER, _MOST_TOGETHER = 8, 48  # steps beside the loader
_TOGETHER_SECONDS = 4.0


def memory_limit(device: torch.device, memory: Bytes | None) -> float:
    """Bytes that everything may take on each rank."""
    if memory is not None:
        return float(byte_count("memory", memory))
    if device.type != "cuda":
        return math.inf
    free, _ = torch.cuda.mem_get_info(device)
    held = torch.cuda.memory_reserved(device)
    return -ranks.most(-0.95 * float(free + held), device)


def given_kinds(device: torch.device, precision: Kind | Sequence[Kind] | None) -> Sequence[Kind]:
    """The precisions to choose from."""
    if precision is None or precision == "auto":
        return precisions.available(device)
    kinds = (precision,) if isinstance(precision, str) else tuple(precision)
    for each in kinds:
        one_of("precision", each, KINDS[1:])
    return kinds


def usable_kinds(probe: Probe, given: Sequence[Kind], notes: list[str]) -> list[Kind]:
    """Those in which the model comes to what it does in fp32; fp32 where there is none."""
    reasons = {kind: precisions.disagreement(probe, kind) for kind in given}
    notes += [reason for reason in reasons.values() if reason]
    return [kind for kind in given if not reasons[kind]] or ["fp32"]


def by_size(probe: Probe, kind: Kind, most: int, spent: Callable[[], bool]) -> dict[int, Measured]:
    """Micro-batches by samples: the loader's, larger ones while they fit, and smaller ones."""
    sizes: dict[int, Measured] = {}
    size = probe.samples
    for _ in range(DOUBLINGS + 1):
        batch = probe.batch(size) if size <= max(most, probe.samples) else None
        if batch is None or (sizes and spent()):
            break
        sizes[size] = probe.measure(batch, kind)
        if not math.isfinite(sizes[size].seconds):
            break
        size *= 2
    fits = any(math.isfinite(each.seconds) for each in sizes.values())
    size = probe.samples // 2
    while size >= probe.least and not (fits and (len(sizes) > DOUBLINGS or spent())):
        sizes[size] = probe.measure(probe.batch(size), kind)
        fits = fits or math.isfinite(sizes[size].seconds)
        size //= 2
    return sizes


def given_noise(noise: NoiseScale | NoiseEstimate | float | None) -> float | None:
    """The noise scale in samples as it was given; NaN where nobody knows it, None for nothing."""
    if isinstance(noise, NoiseScale):
        noise = noise.estimate
    if isinstance(noise, NoiseEstimate):
        return noise.scale
    return None if noise is None else positive("noise", noise)


def measured_noise(probe: Probe) -> float:
    """The noise scale in samples; NaN where its 90 % interval is open."""
    estimate = probe.noise()
    sure = estimate.steps > 1 and estimate.low > 0 and math.isfinite(estimate.high)
    return ranks.most(estimate.scale, probe.device) if sure else math.nan


def measured_overlap(
    probe: Probe,
    loader: Iterable[Any],
    drawn: Drawn,
    measured: dict[Kind, dict[int, Measured]],
    notes: list[str],
) -> float:
    """The exponent p of the overlap, by some steps beside the loader."""
    kind = next(iter(measured))
    alone = measured[kind].get(drawn.samples)
    if alone is None or not math.isfinite(alone.seconds) or not math.isfinite(drawn.rate):
        notes.append("steps and loading are taken to overlap: they were not seen together")
        return 10.0
    precision = Precision(kind, probe.device)
    times = [now(probe.device)]
    with passing(loader) as batches:
        for batch in batches:
            probe.step(probe.moved(batch), precision)
            times.append(now(probe.device))
            long = times[-1] - times[0] > _TOGETHER_SECONDS
            if len(times) > _MOST_TOGETHER or (long and len(times) > _LEAST_TOGETHER):
                break
    half = len(times) // 2  # what was made ahead is used up by then
    if half < 2:
        return 10.0
    together = (times[-1] - times[half]) / (len(times) - 1 - half)
    return overlap_of(together, alone.seconds, drawn.samples / drawn.rate)


def measured_recomputing(probe: Probe, notes: list[str]) -> Recomputing | None:
    """By the least peak that checkpoints reach, at the loader's batch or below."""
    size = probe.samples
    while size >= probe.least:
        batch = probe.batch(size)
        precision = Precision("fp32", probe.device)
        try:
            report = checkpoint(probe.model, partial(probe.step, batch, precision))
        except (PipelineError, torch.OutOfMemoryError):
            size //= 2
            continue
        report.undo()
        if report.reason or not report.peak_bytes or not report.step_seconds:
            notes.append(f"nothing is recomputed: {report.reason}")
            return None
        share = (report.measured_peak_bytes or report.peak_bytes) / report.peak_bytes
        slower = (report.predicted_step_seconds or report.step_seconds) / report.step_seconds
        return Recomputing(share, max(1.0, slower))
    notes.append("nothing is recomputed: no step fits into memory even then")
    return None


def fixed_bytes(model: torch.nn.Module) -> float:
    """Bytes of parameters, buffers and gradients."""
    parameters = sum(each.nbytes * (2 if each.requires_grad else 1) for each in model.parameters())
    return float(parameters + sum(each.nbytes for each in model.buffers()))


def sizes_to_choose_from(stages: StepModel, fewest: int) -> tuple[int, ...]:
    """Micro-batches that were measured, and halves of the smallest, of `fewest` samples or more."""
    sizes = {size for kind in stages.kinds for size in stages.measured[kind]}
    least = min(sizes, default=0)
    halves = {least >> times for times in range(DOUBLINGS + 1)}
    return tuple(sorted(sizes | {size for size in halves if size >= fewest}))
