"""The training step under Hugging Face's ``Trainer``: noise, batch, precision and memory."""

from __future__ import annotations

from drapps.train.transformers.arguments import precision_arguments
from drapps.train.transformers.callback import StepCallback

__all__ = ["StepCallback", "precision_arguments"]
