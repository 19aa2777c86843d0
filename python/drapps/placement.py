"""Where samples are made: by the CPU, or some of them by a GPU, with the same bytes."""

from __future__ import annotations

import warnings
from typing import Literal, Protocol

Placement = Literal["cpu", "gpu", "auto"]
PLACEMENTS = ("cpu", "gpu", "auto")
FIRST_GPU = "cuda:0"


class Placed(Protocol):
    """The native loader."""

    def take_device_warning(self) -> str:
        """Why nothing is made on the device, or nothing any more; once, else empty."""


def warn_of_device(native: Placed) -> None:
    """Says once why a device does nothing, or nothing any more, and the CPU does it instead."""
    warning = native.take_device_warning()
    if warning:
        warnings.warn(warning, RuntimeWarning, stacklevel=3)
