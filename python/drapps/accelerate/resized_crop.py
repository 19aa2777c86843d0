"""torchvision's crop and resize of a picture that is not made yet, in one step.

What torchvision calls for it makes a picture of each, and looks at that from several sides.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

from drapps.accelerate.late import LatePixels, Maker
from drapps.accelerate.methods import LARGE
from drapps.accelerate.patches import Held, Patches, is_own
from drapps.accelerate.views import Rect, View

FIRST = "torchvision.transforms.functional"
SECOND = "torchvision.transforms.v2.functional._geometry"
_BICUBIC = {"bilinear": False, "bicubic": True, 2: False, 3: True}  # or Pillow's numbers
PILLOWS = ("_new", "copy", "crop", "resize")
Resize = tuple[int, int, bool]
_Crop = Callable[..., Any]


def patch_first(patches: Patches) -> None:
    """Replaces ``resized_crop`` of the first interface, unless a user has replaced it."""
    module: Any = sys.modules[FIRST]
    plain = vars(module).get("resized_crop")
    if is_own(module, plain):
        places = [(vars(module), name) for name in ("crop", "resize", "get_dimensions")]
        places += [(vars(module.F_pil), name) for name in ("crop", "resize", "get_dimensions")]
        patches.put(module, "resized_crop", _cropping(plain, Held(places + _of_pillow())), plain)


def patch_second(patches: Patches) -> None:
    """Replaces ``resized_crop`` of the second interface, for Pillow's pictures."""
    from torchvision.transforms.v2.functional import _utils as utils

    module: Any = sys.modules[SECOND]
    image: Any = sys.modules["PIL.Image"].Image
    kernels: Any = utils._KERNEL_REGISTRY.get(vars(module).get("resized_crop"), {})
    plain = kernels.get(image)
    if is_own(module, plain):
        names = ("_resized_crop_image_pil", "_crop_image_pil", "_resize_image_pil")
        places = [(vars(module), name) for name in names]
        patches.put(kernels, image, _cropping(plain, Held(places + _of_pillow())), plain)


def _of_pillow() -> list[tuple[Any, Any]]:
    image = sys.modules["PIL.Image"].Image
    return [(vars(image), name) for name in PILLOWS]


def _cropping(plain: Any, held: Held) -> _Crop:
    """A function like the plain one, which calls what is held."""
    from torchvision.transforms.functional import InterpolationMode

    usual = InterpolationMode.BILINEAR

    @functools.wraps(plain)
    def resized_crop(
        img: Any,
        top: Any,
        left: Any,
        height: Any,
        width: Any,
        size: Any,
        interpolation: Any = usual,
        antialias: Any = True,
    ) -> Any:
        late: Any = getattr(img, "_im", None)
        view = late.view if type(late) is LatePixels else None
        if view is not None and held.is_as_it_was():
            how, box = known_resize(size, interpolation, antialias), (top, left, height, width)
            if how is not None and _is_within(box, view.size):
                return late.maker.image(img, resized_view(late.maker, view, box, how))
        return plain(img, top, left, height, width, size, interpolation, antialias)

    return resized_crop


def known_resize(size: Any, interpolation: Any, antialias: Any) -> Resize | None:
    """Width, height, and whether it is bicubic and not bilinear; None for any other resize."""
    two = type(size) in (tuple, list) and len(size) == 2 and {*map(type, size)} == {int}
    if not two or not size[0] > 0 < size[1] or size[0] * size[1] > LARGE or antialias is False:
        return None
    mode = getattr(interpolation, "value", interpolation)  # of torchvision's InterpolationMode
    bicubic = _BICUBIC.get(mode) if isinstance(mode, (str, int)) else None
    return None if bicubic is None else (size[1], size[0], bicubic)


def resized_view(maker: Maker, view: View, box: Rect, how: Resize) -> View:
    """A box of a view, by `known_resize`."""
    (top, left, height, width), (*size, bicubic) = box, how
    cropped = view.cropped(left, top, left + width, top + height)
    if [width, height] == size:
        return cropped
    return maker.resized(cropped, (size[0], size[1]), bicubic)


def _is_within(box: tuple[Any, Any, Any, Any], size: tuple[int, int]) -> bool:
    if {*map(type, box)} != {int}:
        return False
    top, left, height, width = box
    inside = left >= 0 and top >= 0 and left + width <= size[0] and top + height <= size[1]
    return bool(inside and height > 0 < width)
