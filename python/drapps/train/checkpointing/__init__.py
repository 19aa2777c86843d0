"""Activation checkpointing: memory of a training step in exchange for time."""

from __future__ import annotations

try:
    import torch  # noqa: F401
except ImportError as error:
    raise ImportError("drapps.train.checkpointing needs PyTorch: pip install torch") from error

from drapps.train.checkpointing.front import checkpoint
from drapps.train.checkpointing.report import BlockReport, CheckpointReport
from drapps.train.checkpointing.search import MemoryLimitError

__all__ = ["BlockReport", "CheckpointReport", "MemoryLimitError", "checkpoint"]
