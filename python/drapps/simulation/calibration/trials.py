"""Which trial a loader has."""

from __future__ import annotations

from typing import Any

from drapps.errors import PipelineError
from drapps.loader import Loader
from drapps.simulation.calibration.native_trial import NativeTrial
from drapps.simulation.calibration.trial import Trial


def trial_of(loader: Any) -> Trial:
    """A trial of a loader.

    Raises:
        PipelineError: it is none of DRAPPS, or one of which no trial can be made without touching
            what it yields; the message says why.
    """
    if isinstance(loader, Loader):
        return NativeTrial(loader)
    try:
        import torch.utils.data
    except ImportError:
        torch = None  # type: ignore[assignment]
    if torch is not None and isinstance(loader, torch.utils.data.DataLoader):
        import drapps.torch
        from drapps.simulation.calibration.torch_trial import TorchTrial

        if isinstance(loader, drapps.torch.DataLoader):
            return TorchTrial(loader)
    raise PipelineError(
        f"calibrate() takes a drapps.Loader or a drapps.torch.DataLoader, not {type(loader)!r}"
    )
