"""DRAPPS for the training step: how many samples it has, in which precision, at what rate.

`Step` joins the parts; each is useful by itself: `NoiseScale`, `BatchSchedule`, `WarmupCosine` and
`Precision`. `checkpoint` trades time for memory. Nothing here changes numbers unless it is named.
"""

from __future__ import annotations

try:
    import torch  # noqa: F401
except ImportError as error:
    raise ImportError("drapps.train needs PyTorch: pip install torch") from error

from drapps.train.batch_schedule import BatchSchedule
from drapps.train.checkpointing import CheckpointReport, MemoryLimitError, checkpoint
from drapps.train.learning_rate import WarmupCosine, scaled
from drapps.train.noise import NoiseEstimate, NoiseScale, adascale_gain
from drapps.train.planning import PlannedStep, TrainingPlan, checked_precision, plan
from drapps.train.precision import Precision
from drapps.train.report import StepReport
from drapps.train.step import Step

__all__ = [
    "BatchSchedule",
    "CheckpointReport",
    "MemoryLimitError",
    "NoiseEstimate",
    "NoiseScale",
    "PlannedStep",
    "Precision",
    "Step",
    "StepReport",
    "TrainingPlan",
    "WarmupCosine",
    "adascale_gain",
    "checked_precision",
    "checkpoint",
    "plan",
    "scaled",
]
