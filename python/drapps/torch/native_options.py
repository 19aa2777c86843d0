"""The options of a loader that its native path has, as the core's loader takes them."""

from __future__ import annotations

from typing import Any

import torch

from drapps import arguments
from drapps.errors import PipelineError
from drapps.loader_options import loader_options
from drapps.placement import placement_options
from drapps.torch import resident
from drapps.torch.recognise import NotLifted


def checked_options(loader: Any) -> dict[str, Any]:
    """Those that concern no device; PipelineError for one that makes no sense."""
    policy = loader._deciding("threads", loader.policy)
    budgets = (loader.cpu_budget, loader.ram_budget)
    return loader_options(policy, *budgets, loader.settings, loader.cache, loader.form)


def checked_device_memory(loader: Any) -> int:
    """Bytes; PipelineError where it is no size, or of no device."""
    if type(loader.device_memory) is int and loader.device_memory == 0:
        return 0
    given = arguments.byte_count("device_memory", loader.device_memory)
    if loader._device is None:
        raise PipelineError(
            f"device_memory={loader.device_memory!r} is of no device: name it by device="
        )
    return given


def native_options(loader: Any) -> dict[str, Any]:
    """All of them.

    Raises:
        PipelineError: samples are to be decoded on a GPU, and there is none.
    """
    options = checked_options(loader)
    if loader._device is not None and loader._device_bytes > 0:
        name = resident.core_name(loader._device)
        options |= {"device": name, "device_memory": loader._device_bytes}
    return options | _placed(loader)


def _placed(loader: Any) -> dict[str, Any]:
    if loader.placement == "cpu":
        return {}
    try:
        name = resident.core_name(loader._device or torch.device("cuda"))
    except PipelineError:
        if loader.placement == "gpu":
            raise
        name = None  # none can be used, which the core finds, too
    return placement_options(loader.placement, name)


def check_without_native(loader: Any, verdict: NotLifted) -> None:
    """Whether Python code may run instead.

    Raises:
        PipelineError: an option asks for what the native path alone does.
    """
    if loader._device_bytes > 0:
        asked = f"device_memory={loader.device_memory!r} is for arrays that are lifted"
    elif loader.placement == "gpu":
        asked = 'placement="gpu" is for what is lifted'
    else:
        return
    raise PipelineError(
        f"{asked}, and this loader runs Python code because {verdict}; leave it out"
    )
