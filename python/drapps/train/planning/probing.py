"""Steps that are measured: seconds and memory of a micro-batch, and what comes once a step."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import nn

from drapps.errors import PipelineError
from drapps.train import ranks
from drapps.train.batches import joined, moved, part_of, samples_of
from drapps.train.checkpointing.profiling import measured_peak
from drapps.train.checkpointing.steps import device_of, now
from drapps.train.noise import NoiseEstimate, NoiseScale
from drapps.train.precision import Kind, Precision

Loss = Callable[[torch.nn.Module, Any], torch.Tensor]

_TIMED = 3  # steps, of which the fastest counts
_LONG = 1.0  # seconds of a step, of which one is enough
_BATCH_NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d, nn.SyncBatchNorm)
_PARTS = 4  # micro-batches that a batch is cut into for the noise


@dataclass(frozen=True)
class Measured:
    """Of one micro-batch, forward and backward; the slowest of all ranks.

    Attributes:
        seconds: infinite where it does not fit into memory.
        peak: bytes that it adds to what lives before it.
    """

    seconds: float
    peak: float


class Probe:
    """Makes steps with a model that stays as it is; within `undisturbed`.

    Args:
        model: that is trained.
        loss: gives the mean loss of a batch.
        batches: to measure with, of one number of samples each.

    Attributes:
        normalises: it has batch norm.
        least: samples of a micro-batch that the model takes.
    """

    def __init__(self, model: torch.nn.Module, loss: Loss, batches: Sequence[Any]) -> None:
        self.model, self.loss, self.batches = model, loss, batches
        self.device = device_of(model)
        self.samples = samples_of(batches[0])
        self.normalises = any(isinstance(each, _BATCH_NORMS) for each in model.modules())
        self.least = 2 if self.normalises else 1  # of a single sample there is no variance

    def moved(self, batch: Any) -> Any:
        """A batch where the model is."""
        return moved(batch, self.device)

    def batch(self, samples: int) -> Any:
        """One of so many samples; None where those at hand cannot be joined to it."""
        count = math.ceil(samples / self.samples)
        many = [self.batches[at % len(self.batches)] for at in range(count)]
        whole = many[0] if count == 1 else joined(many)
        return None if whole is None else self.moved(part_of(whole, 0, samples))

    def step(self, batch: Any, precision: Precision, last: bool = False) -> float:
        """A micro-batch; gives its loss. Ranks exchange gradients where it is the last one."""
        exchanges = last or not hasattr(self.model, "no_sync")
        model: Any = self.model
        with contextlib.nullcontext() if exchanges else model.no_sync():
            with precision.autocast():
                loss = self.loss(self.model, batch)
            if not isinstance(loss, torch.Tensor) or loss.numel() != 1:
                raise PipelineError(f"the loss must be a tensor of one number, and is {loss!r}")
            precision.backward(loss)
        return float(loss.detach())

    def measure(self, batch: Any, kind: Kind) -> Measured:
        """A micro-batch, after one that warms up."""
        precision = Precision(kind, self.device)
        try:
            self.step(batch, precision)
            times = self._times(batch, precision)
            peak = measured_peak(partial(self.step, batch, precision), self.device)
            local = Measured(min(times), float(peak))
        except torch.OutOfMemoryError:
            local = Measured(math.inf, math.inf)
        return Measured(ranks.most(local.seconds, self.device), ranks.most(local.peak, self.device))

    def _times(self, batch: Any, precision: Precision, last: bool = False) -> list[float]:
        """Of some steps; of one where it takes long."""
        times = [self._timed(batch, precision, last)]
        long = ranks.most(times[0], self.device) > _LONG
        more = 0 if long else _TIMED - 1
        return times + [self._timed(batch, precision, last) for _ in range(more)]

    def exchange_seconds(self) -> float:
        """What a micro-batch takes longer where ranks exchange gradients."""
        if ranks.count() == 1 or not hasattr(self.model, "no_sync"):
            return 0.0
        batch, precision = self.batch(self.samples), Precision("fp32", self.device)
        self.step(batch, precision, last=True)
        alone = min(self._times(batch, precision))
        shared = min(self._times(batch, precision, last=True))
        return ranks.most(max(0.0, shared - alone), self.device)

    def noise(self) -> NoiseEstimate:
        """Of the gradient at the model's parameters as they are."""
        noise = NoiseScale(self.model, average=0.99)
        precision = Precision("fp32", self.device)
        try:
            for batch in self.batches:
                for each in self.model.parameters():
                    if each.grad is not None:
                        each.grad.zero_()
                size = samples_of(batch)
                count = max(1, min(_PARTS, size // self.least))
                for at in range(count):
                    part = part_of(batch, at * size // count, (at + 1) * size // count)
                    samples = samples_of(part)
                    noise.begin(samples / size)
                    self._weighted(self.moved(part), samples / size, precision)
                    noise.end(samples)
                noise.step()
        finally:
            noise.close()
        return noise.estimate

    def _weighted(self, batch: Any, weight: float, precision: Precision) -> None:
        whole = self.loss
        self.loss = lambda model, given: whole(model, given) * weight
        try:
            self.step(batch, precision, last=True)
        finally:
            self.loss = whole

    def _timed(self, batch: Any, precision: Precision, last: bool = False) -> float:
        begun = now(self.device)
        self.step(batch, precision, last)
        return now(self.device) - begun


def loss_of(model: torch.nn.Module, batch: Any) -> torch.Tensor:
    """The loss that a model gives by itself, as those of Hugging Face do.

    Raises:
        PipelineError: it gives none.
    """
    batch = moved(batch, device_of(model))
    given = model(**batch) if isinstance(batch, Mapping) else model(batch)
    loss = given.get("loss") if isinstance(given, Mapping) else given
    if not isinstance(loss, torch.Tensor) or loss.numel() != 1:
        raise PipelineError(
            "the model gives no loss by itself: give plan() loss=, a function of model and batch "
            "that gives the mean loss of the batch"
        )
    return loss
