"""Which trial a loader has."""

from __future__ import annotations

import sys
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
    if "drapps.torch" in sys.modules:  # or it is none of its loaders
        from drapps.simulation.calibration.torch_trial import TorchTrial
        from drapps.torch import DataLoader

        if isinstance(loader, DataLoader):
            return TorchTrial(loader)
    raise PipelineError(
        f"calibrate() takes a drapps.Loader or a drapps.torch.DataLoader, not {type(loader)!r}"
    )
