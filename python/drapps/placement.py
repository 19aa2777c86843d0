"""Where samples are made: by the CPU, or some of them by a GPU, with the same bytes."""

from __future__ import annotations

import warnings
from typing import Any, Literal, Protocol

from drapps.arguments import byte_count, one_of, text

Placement = Literal["cpu", "gpu", "auto"]
PLACEMENTS = ("cpu", "gpu", "auto")
FIRST_GPU = "cuda:0"


class Placed(Protocol):
    """The native loader."""

    def take_device_warning(self) -> str:
        """Why nothing is made on the device, or nothing any more; once, else empty."""


def placement_options(placement: Any, device: Any) -> dict[str, Any]:
    """What the core is told; nothing where the CPU decodes all.

    Args:
        placement: as the user wrote it.
        device: the core's name of the device; None for the first GPU.

    Raises:
        PipelineError: the placement is no such word, or the device no text.
    """
    placed = one_of("placement", placement, PLACEMENTS)
    name = FIRST_GPU if device is None else text("device", device)
    return {} if placed == "cpu" else {"placement": placed, "device": name}


def residence_options(device_memory: Any, device: Any) -> dict[str, Any]:
    """What the core is told where arrays are to live on a device; else nothing.

    Raises:
        PipelineError: no size, or the device no text.
    """
    if type(device_memory) is int and device_memory == 0:
        return {}
    name = FIRST_GPU if device is None else text("device", device)
    return {"device": name, "device_memory": byte_count("device_memory", device_memory)}


def warn_of_device(native: Placed) -> None:
    """Says once why a device does nothing, or nothing any more, and the CPU does it instead."""
    said = native.take_device_warning()
    if said:
        warnings.warn(said, RuntimeWarning, stacklevel=3)
