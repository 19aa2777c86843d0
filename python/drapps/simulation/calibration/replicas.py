"""Which replica a loader has."""

from __future__ import annotations

import sys
from typing import Any

from drapps.errors import PipelineError
from drapps.loader import Loader
from drapps.simulation.calibration.native_replica import NativeReplica
from drapps.simulation.calibration.replica import Replica


def replica_of(loader: Any) -> Replica:
    """A replica of a loader.

    Raises:
        PipelineError: it is none of DRAPPS, or one of which no replica can be made without touching
            what it yields; the message says why.
    """
    if isinstance(loader, Loader):
        return NativeReplica(loader)
    if "drapps.torch" in sys.modules:  # or it is none of its loaders
        from drapps.simulation.calibration.torch_replica import TorchReplica
        from drapps.torch import DataLoader

        if isinstance(loader, DataLoader):
            return TorchReplica(loader)
    raise PipelineError(
        f"calibrate() takes a drapps.Loader or a drapps.torch.DataLoader, not {type(loader)!r}"
    )
