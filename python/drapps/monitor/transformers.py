"""The numbers of the loader in the logs of Hugging Face's ``Trainer``."""

from __future__ import annotations

from typing import Any

from transformers.trainer_callback import TrainerCallback, TrainerControl, TrainerState
from transformers.training_args import TrainingArguments

from drapps.adapter import SteeredLoader
from drapps.monitor.logs import LoaderLog


class StatsCallback(TrainerCallback):
    """Adds what the training loader has counted to what the ``Trainer`` logs of its steps.

    The names are those of `drapps.report.numbers.numbers` with ``drapps/`` in front; means, shares
    and rates are of the time since the last log. On several ranks the numbers are of the first.
    """

    def __init__(self, loader: SteeredLoader | None = None) -> None:
        """Makes it.

        Args:
            loader: whose numbers; the trainer's own where absent.
        """
        self._log = LoaderLog(loader)

    def on_train_begin(self, *_: Any, train_dataloader: Any = None, **__: Any) -> None:
        """Finds the loader."""
        self._log.find(train_dataloader)

    def on_log(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **given: Any
    ) -> None:
        """Adds the numbers to the log of a step."""
        del args, control
        logs = given.get("logs")
        if logs is None or "loss" not in logs or not state.is_world_process_zero:
            return
        metrics = self._log.take()
        logs.update(metrics)
        state.log_history[-1].update(metrics)
