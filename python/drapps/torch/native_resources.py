"""What the native path of a torch loader runs with, as the core calls it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch

from drapps.errors import PipelineError
from drapps.resources import Resources
from drapps.torch import resident
from drapps.torch.recognise import NotLifted

#: The resources that are attributes of the loader, as the user gave them; beside its device.
ATTRIBUTES = (
    "policy",
    "cpu_budget",
    "ram_budget",
    "settings",
    "cache",
    "form",
    "placement",
    "device_memory",
)


def checked(loader: Any) -> Resources:
    """The attributes of `loader` as resources; PipelineError for nonsense. Looks for no device."""
    device = None if loader._device is None else str(loader._device)
    named = {name: getattr(loader, name) for name in ATTRIBUTES}
    named["policy"] = loader._deciding("threads", loader.policy)
    resources = Resources(device=device, **named)
    if resources.device_memory and device is None:
        raise PipelineError(
            f"device_memory={resources.device_memory!r} is of no device: name it by device="
        )
    return resources


def resources_of(loader: Any) -> Resources:
    """What the loader's attributes say, on the device that there is.

    Raises:
        PipelineError: samples are to be decoded on a GPU, or arrays to live there, and there is
            none.
    """
    resources = checked(loader)
    if resources.placement == "cpu" and not resources.device_memory:
        return resources
    try:
        name = resident.core_name(loader._device or torch.device("cuda"))
    except PipelineError:
        if resources.placement != "auto" or resources.device_memory:
            raise
        name = None  # none can be used, which the core finds, too
    return replace(resources, device=name)


def check_without_native(resources: Resources, verdict: NotLifted) -> None:
    """Whether Python code may run instead.

    Raises:
        PipelineError: an option asks for what the native path alone does.
    """
    if resources.device_memory:
        asked = f"device_memory={resources.device_memory!r} is for arrays that are lifted"
    elif resources.placement == "gpu":
        asked = 'placement="gpu" is for what is lifted'
    else:
        return
    raise PipelineError(
        f"{asked}, and this loader runs Python code because {verdict}; leave it out"
    )
