"""What torchvision makes of a view without Pillow's pixels between."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from drapps.accelerate.late import LatePixels
from drapps.accelerate.patches import Patches, is_own, look_for
from drapps.accelerate.views import View
from drapps.attributes import attribute_of

FUNCTIONAL = "torchvision.transforms.functional"
SECOND = "torchvision.transforms.v2.functional._type_conversion"


def patch(patches: Patches) -> None:
    """Has the functions of `_MADE` take views, but those that a user has replaced."""
    functional: ModuleType = sys.modules[FUNCTIONAL]
    functions = {}
    for name, make in _MADE.items():
        plain = vars(functional).get(name)
        if is_own(functional, plain):
            functions[name] = make(plain)
    patches.put_by_name(functional, functions)


def look_for_users() -> None:
    """Finds who has imported functions of `_MADE` by name, for worker processes that are forked."""
    functional = sys.modules.get(FUNCTIONAL)
    if functional is not None:
        look_for(vars(functional)[name] for name in _MADE if name in vars(functional))


def patch_second(patches: Patches) -> None:
    """Has ``pil_to_tensor`` take views, as the second interface has imported it by name."""
    conversion: ModuleType = sys.modules[SECOND]
    plain = vars(conversion).get("pil_to_tensor")
    if is_own(sys.modules[FUNCTIONAL], plain):
        patches.put(conversion, "pil_to_tensor", _pil_to_tensor(plain), plain)


def view_behind(image: Any) -> View | None:
    """What is not made yet of an image; None where the pixels are there, and of anything else."""
    held = getattr(image, "_im", None)
    return held.view if type(held) is LatePixels else None


def _to_tensor(plain: Any) -> Callable[[Any], Any]:
    import torch

    is_tracing = attribute_of(torch.jit, "is_tracing")

    @functools.wraps(plain)
    def to_tensor(pic: Any) -> Any:
        view = view_behind(pic)
        if view is None or torch.get_default_dtype() is not torch.float32 or is_tracing():
            return plain(pic)
        width, height = view.size
        if height * width == 1:
            return plain(pic)
        if view.mode == "RGB":
            tensor = torch.empty((3, height, width), dtype=torch.float32, device="cpu")
        else:  # the strides that an axis of one element has there
            shape, strides = (1, height, width), (1, width, 1)
            tensor = torch.empty_strided(shape, strides, dtype=torch.float32, device="cpu")
        view.to_floats(tensor.view(-1).view(tensor.shape).numpy())
        return tensor

    return to_tensor


def _pil_to_tensor(plain: Any) -> Callable[[Any], Any]:
    import numpy as np
    import torch

    is_tracing = attribute_of(torch.jit, "is_tracing")

    @functools.wraps(plain)
    def pil_to_tensor(pic: Any) -> Any:
        view = view_behind(pic)
        if view is None or is_tracing():
            return plain(pic)
        width, height = view.size
        channels = 3 if view.mode == "RGB" else 1
        pixels = np.empty((height, width, 3) if channels == 3 else (height, width), np.uint8)
        view.to_bytes(pixels.reshape(-1))
        return torch.as_tensor(pixels).view(height, width, channels).permute((2, 0, 1))

    return pil_to_tensor


_MADE = {"to_tensor": _to_tensor, "pil_to_tensor": _pil_to_tensor}
