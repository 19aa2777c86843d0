"""DRAPPS for PyTorch: `DataLoader`, which takes the place of ``torch.utils.data.DataLoader``."""

from __future__ import annotations

try:
    import torch  # noqa: F401
except ImportError as error:
    raise ImportError("drapps.torch needs PyTorch: pip install torch") from error

from drapps.torch.loader import DataLoader
from drapps.torch.report import LiftReport
from drapps.torch.thread_job import get_worker_info

__all__ = ["DataLoader", "LiftReport", "get_worker_info"]
