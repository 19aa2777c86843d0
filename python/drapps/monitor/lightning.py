"""The numbers of the loader in the logs of PyTorch Lightning."""

from __future__ import annotations

from typing import Any

from lightning.pytorch import Callback, LightningModule, Trainer

from drapps.adapter import SteeredLoader
from drapps.monitor.logs import LoaderLog


class StatsCallback(Callback):
    """Logs what the training loader has counted, each time that the trainer logs.

    The names are those of `drapps.report.numbers.numbers` with ``drapps/`` in front; means, shares
    and rates are of the time since the last log. On several ranks the numbers are of the first.
    """

    def __init__(self, loader: SteeredLoader | None = None) -> None:
        """Makes it.

        Args:
            loader: whose numbers; the trainer's own where absent, the first of several.
        """
        self._log = LoaderLog(loader)

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:  # noqa: ARG002
        """Finds the loader."""
        self._log.find(trainer.train_dataloader)

    def on_train_batch_end(self, trainer: Trainer, *_: Any) -> None:
        """A step is over."""
        step, every = trainer.global_step, trainer.log_every_n_steps  # type: ignore[attr-defined]
        if step % max(1, every) or not trainer.is_global_zero or not trainer.loggers:
            return
        metrics = self._log.take()
        for logger in trainer.loggers if metrics else ():
            logger.log_metrics(metrics, step=step)
