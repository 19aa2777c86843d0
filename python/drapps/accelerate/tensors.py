"""What torchvision makes of a view without Pillow's pixels between."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from drapps.accelerate.late import LatePixels
from drapps.accelerate.patches import Patches, is_own
from drapps.attributes import attribute_of

FUNCTIONAL = "torchvision.transforms.functional"


def patch(patches: Patches) -> None:
    """Has ``to_tensor`` take views, unless a user has put one of his own in its place."""
    functional: ModuleType = sys.modules[FUNCTIONAL]
    plain = vars(functional).get("to_tensor")
    if is_own(functional, plain):
        patches.put(functional, "to_tensor", _to_tensor(plain), plain)


def _to_tensor(plain: Any) -> Callable[[Any], Any]:
    import torch

    is_tracing = attribute_of(torch.jit, "is_tracing")

    @functools.wraps(plain)
    def to_tensor(pic: Any) -> Any:
        held = getattr(pic, "_im", None)
        view = held.view if type(held) is LatePixels else None
        if view is None or torch.get_default_dtype() is not torch.float32 or is_tracing():
            return plain(pic)
        width, height = view.size
        if height * width == 1:
            return plain(pic)
        if view.mode == "RGB":
            made = torch.empty((3, height, width), dtype=torch.float32, device="cpu")
        else:  # the strides that an axis of one element has there
            shape, strides = (1, height, width), (1, width, 1)
            made = torch.empty_strided(shape, strides, dtype=torch.float32, device="cpu")
        view.to_floats(made.view(-1).view(made.shape).numpy())
        return made

    return to_tensor
