"""Precisions in which a model can train, and whether they come to what fp32 comes to."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch

from drapps.train import ranks
from drapps.train.checkpointing.steps import undisturbed
from drapps.train.planning.probing import Loss, Probe, loss_of
from drapps.train.precision import Kind, Precision

_CHECKED = 3  # batches
_OFF = 0.02  # of the loss in fp32


def available(device: torch.device) -> tuple[Kind, ...]:
    """What a device computes in, fp32 first."""
    if device.type == "cuda":
        bf16 = torch.cuda.is_bf16_supported(including_emulation=False)
        return ("fp32", "bf16") if bf16 else ("fp32", "fp16")
    return ("fp32", "bf16") if device.type == "cpu" else ("fp32",)


def disagreement(probe: Probe, kind: Kind) -> str:
    """What is wrong with a precision, within `undisturbed`; empty where nothing is."""
    if kind == "fp32":
        return ""
    off = 0.0
    for batch in probe.batches[:_CHECKED]:
        plain, _ = _tried(probe, batch, "fp32")
        mixed, finite = _tried(probe, batch, kind)
        if not finite:
            off = math.inf
        off = max(off, abs(mixed - plain) / max(abs(plain), 1e-12))
    off = ranks.most(off if math.isfinite(off) else 1e9, probe.device)
    if off >= 1e9:
        return f"{kind} is left out: a loss or a gradient in it is not finite"
    return f"{kind} is left out: a loss in it is {off:.1%} off" if off > _OFF else ""


def checked_precision(
    model: torch.nn.Module,
    batches: Sequence[Any],
    loss: Loss = loss_of,
    kinds: Sequence[Kind] | None = None,
) -> Precision:
    """The fastest precision in which the loss of some steps is within 2 % of that in fp32.

    Parameters, gradients, buffers and random states are afterwards what they were.

    Args:
        model: that is trained.
        batches: to try it with, one or more, on any device.
        loss: gives the mean loss of a batch, a tensor of one number.
        kinds: to choose from; those of the model's device where absent.

    Raises:
        PipelineError: the loss is no single number.
    """
    probe = Probe(model, loss, batches)
    with undisturbed(model):
        tried = kinds or available(probe.device)
        usable = [kind for kind in tried if not disagreement(probe, kind)] or ["fp32"]
        batch = probe.batch(probe.samples)
        seconds = {kind: probe.measure(batch, kind).seconds for kind in usable}
    best = min(usable, key=lambda kind: seconds[kind])
    precision = Precision(best, probe.device)
    times = ", ".join(f"{kind} {took * 1e3:.1f} ms" for kind, took in seconds.items())
    precision.why = f"the fastest of a few steps ({times})"
    return precision


def _tried(probe: Probe, batch: Any, kind: Kind) -> tuple[float, bool]:
    """The loss of a batch, and whether it and its gradients are finite."""
    gpus = [probe.device] if probe.device.type == "cuda" else []
    with torch.random.fork_rng(devices=gpus):
        for each in probe.model.parameters():
            if each.grad is not None:
                each.grad.zero_()
        loss = probe.step(probe.moved(batch), Precision(kind, probe.device))
    gradients = [each.grad for each in probe.model.parameters() if each.grad is not None]
    finite = all(bool(torch.isfinite(each).all()) for each in gradients)
    return loss, finite and math.isfinite(loss)
