"""The noise of the gradient, and the batch that follows it, under PyTorch Lightning."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from lightning.pytorch import Callback, LightningModule, Trainer

from drapps.errors import PipelineError
from drapps.train.batch_schedule import BatchSchedule
from drapps.train.micro_batches import samples_of
from drapps.train.noise import NoiseEstimate, NoiseScale


class NoiseCallback(Callback):
    """Measures the gradient noise scale, and accumulates by a schedule from epoch to epoch.

    Lightning groups batches by their number in the epoch, so a change waits for the next one. It is
    set as ``trainer.accumulate_grad_batches``, with which Lightning divides losses. Steps whose
    micro-batches differ in size, as the last one of an epoch may, are not measured.

    Attributes:
        schedule: how many batches make a step; None where only the noise is measured.
    """

    def __init__(self, schedule: BatchSchedule | None = None, *, average: float = 0.99) -> None:
        """Makes it.

        Args:
            schedule: of two micro-batches at least where there is one rank, of which one alone says
                nothing. Without one the trainer's own ``accumulate_grad_batches`` stays.
            average: as of `NoiseScale`.
        """
        self.schedule = schedule
        self._average = average
        self._noise: NoiseScale | None = None
        self._saved: Mapping[str, Any] | None = None
        self._samples: list[int] = []

    @property
    def estimate(self) -> NoiseEstimate | None:
        """What is known of the noise; None before ``fit``."""
        return None if self._noise is None else self._noise.estimate

    def on_fit_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Looks at the gradients from here on.

        Raises:
            PipelineError: the module steps its optimizers itself, or the schedule begins with a
                single micro-batch on a single rank.
        """
        if not pl_module.automatic_optimization:
            raise PipelineError(
                "the module has automatic_optimization=False: use drapps.train.Step in its step"
            )
        if self.schedule is not None and self.schedule.least * trainer.world_size < 2:
            raise PipelineError(
                "one micro-batch on one rank says nothing of the noise: give the schedule least=2"
            )
        self._noise = NoiseScale(pl_module, average=self._average)
        if self._saved is not None:
            self._noise.load_state_dict(self._saved)

    def on_fit_end(self, _trainer: Trainer, _module: LightningModule) -> None:
        """Looks no more; what was measured stays."""
        if self._noise is not None:
            self._noise.close()

    def on_train_epoch_start(self, trainer: Trainer, _module: LightningModule) -> None:
        """The schedule's number holds for this epoch."""
        if self.schedule is not None:
            trainer.accumulate_grad_batches = self.schedule.accumulation

    def on_train_batch_start(
        self, _trainer: Trainer, _module: LightningModule, batch: Any, _number: int
    ) -> None:
        """A micro-batch begins."""
        self._samples.append(samples_of(batch))

    def on_before_backward(
        self, trainer: Trainer, _module: LightningModule, _loss: torch.Tensor
    ) -> None:
        """Its gradients are those of a loss that was divided, and scaled."""
        scaler = getattr(trainer.precision_plugin, "scaler", None)
        scale = 1.0 if scaler is None else float(scaler.get_scale())
        self._measuring.begin(scale / trainer.accumulate_grad_batches)

    def on_after_backward(self, _trainer: Trainer, _module: LightningModule) -> None:
        """They are there."""
        self._measuring.end(self._samples[-1])

    def on_before_optimizer_step(
        self, trainer: Trainer, _module: LightningModule, _optimizer: torch.optim.Optimizer
    ) -> None:
        """All of a step are, before they are clipped."""
        samples, self._samples = self._samples, []
        whole = len(samples) == trainer.accumulate_grad_batches and len(set(samples)) == 1
        if not whole:
            self._measuring.drop()
            return
        self._measuring.step()
        if self.schedule is not None:
            batch = samples[0] * self.schedule.accumulation * trainer.world_size
            self.schedule.step(self._measuring.estimate, batch)

    def state_dict(self) -> dict[str, Any]:
        """For Lightning's checkpoints."""
        noise = self._saved if self._noise is None else self._noise.state_dict()
        schedule = None if self.schedule is None else self.schedule.state_dict()
        return {"noise": noise, "schedule": schedule}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """From one."""
        self._saved = state_dict["noise"]
        if self.schedule is not None and state_dict["schedule"] is not None:
            self.schedule.load_state_dict(state_dict["schedule"])

    @property
    def _measuring(self) -> NoiseScale:
        assert self._noise is not None  # since on_fit_start
        return self._noise
