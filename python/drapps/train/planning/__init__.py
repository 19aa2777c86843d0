"""Plans a training: micro-batch, accumulation, precision and checkpoints, beside the loader.

`drawing` takes batches from a loader that stays as it is, `probing` measures steps with them,
`model` predicts steps of other sizes, and `choice` takes the best one that fits.
"""

from __future__ import annotations

try:
    import torch  # noqa: F401
except ImportError as error:
    raise ImportError("drapps.train.planning needs PyTorch: pip install torch") from error

from drapps.train.planning.front import plan
from drapps.train.planning.precisions import checked_precision
from drapps.train.planning.report import PlannedStep, TrainingPlan

__all__ = ["PlannedStep", "TrainingPlan", "checked_precision", "plan"]
