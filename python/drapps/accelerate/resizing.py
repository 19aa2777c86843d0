"""torchvision's resize of tensors of bytes, by its second interface."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from types import FunctionType
from typing import Any

from drapps import _core
from drapps.accelerate.normalizing import put_kernel
from drapps.accelerate.patches import Patches, is_own
from drapps.accelerate.watched import is_watched

MODULE = "torchvision.transforms.v2.functional._geometry"
_ASKED = {"size", "mode", "align_corners", "antialias"}
_LARGE = 1 << 26  # pixels of which torch says whether there is memory for them
_MODES = {"bilinear": False, "bicubic": True}
_CHECKED = (((37, 51), (24, 19)), ((30, 41), (47, 62)), ((40, 23), (40, 64)))  # sizes, from and to


def patch(patches: Patches) -> None:
    """Has torchvision resize by our kernels, unless a user has put a function of his own there."""
    import torch

    module: Any = sys.modules[MODULE]
    held = vars(module)
    names = ("interpolate", "resize_image", "resized_crop_image")
    plain, resize, crop = map(held.get, names)
    if is_own(torch.nn.functional, plain) and is_own(module, resize, crop):
        # The module's own stay, which torch.jit compiles; copies of them call ours.
        resizes = _calling(resize, interpolate=_interpolating(plain, held))
        crops = _calling(crop, resize_image=resizes)
        put_kernel(patches, held.get("resize"), resize, resizes)
        put_kernel(patches, held.get("resized_crop"), crop, crops)


def _calling(plain: Any, **others: Any) -> Any:
    """A copy of a function that calls others by some names."""
    names = {**plain.__globals__, **others}
    function = FunctionType(plain.__code__, names, plain.__name__, plain.__defaults__)
    return functools.wraps(plain)(function)


def _interpolating(plain: Any, held: dict[str, Any]) -> Callable[..., Any]:
    """A function like the plain one; what a user puts in the place of that is called."""
    holds: list[bool] = []  # whether they make the same bytes, once that is known

    @functools.wraps(plain)
    def interpolate(image: Any, *more: Any, **options: Any) -> Any:
        now = held["interpolate"]
        if now is plain and not more and options.keys() == _ASKED and _is_known(image, **options):
            if not holds:
                holds.append(_is_same(plain))
            if holds[0] and not is_watched():
                return _resize(image, options["size"], _MODES[options["mode"]])
        return now(image, *more, **options)

    return interpolate


def _is_known(image: Any, size: Any, mode: Any, align_corners: Any, antialias: Any) -> bool:
    """Whether an image is one picture of three channels in bytes, without gaps in its rows."""
    import torch

    if type(image) is not torch.Tensor or image.dtype is not torch.uint8:
        return False
    if antialias is not True or align_corners is not False or mode not in _MODES:
        return False
    if image.device.type != "cpu" or image.ndim != 4 or image.shape[:2] != (1, 3):
        return False
    height, width = image.shape[2:]
    large = max(height * width, size[0] * size[1]) > _LARGE
    least = min(height, width, *size)
    return (
        least > 1
        and not large
        and (_has_planes(image, height, width) or _is_interleaved(image, width))
    )


def _has_planes(image: Any, height: int, width: int) -> bool:
    _, plane, row, pixel = image.stride()
    return bool(pixel == 1 and row >= width and plane >= row * height)


def _is_interleaved(image: Any, width: int) -> bool:
    _, channel, row, pixel = image.stride()
    return bool(channel == 1 and pixel == 3 and row >= 3 * width)


def _resize(image: Any, size: Any, bicubic: bool) -> Any:
    import torch

    # How the picture lies, as torch tells it by the strides, that of the batch among them.
    batch, channel, row, _ = image.stride()
    interleaved = channel == 1 and batch >= row * image.shape[2]
    layout = torch.channels_last if interleaved else torch.contiguous_format
    output = torch.empty((1, 3, *size), dtype=torch.uint8, device="cpu", memory_format=layout)
    _core.resize_bytes(output[0].numpy(), image[0].numpy(), bicubic)
    return output


def _is_same(plain: Any) -> bool:
    """Whether torch and we make the same of pictures, with planes, interleaved, and cut out."""
    import torch

    try:
        return all(
            _alike(plain, pixels, size, mode)
            for (height, width), size in _CHECKED
            for pixels in _pictures(torch.arange(3 * height * width), height, width)
            for mode in _MODES
        )
    except Exception:  # of a torch that is another altogether
        return False


def _pictures(numbers: Any, height: int, width: int) -> list[Any]:
    import torch

    values = (numbers * 2654435761 >> 13 & 255).to(torch.uint8)
    planes = values.reshape(1, 3, height, width)
    interleaved = values.reshape(1, height, width, 3).permute(0, 3, 1, 2)
    whole = (planes, interleaved)
    return [*whole, *(each[..., 3:-2, 2:-1] for each in whole), interleaved[0, :, 3:-2, 2:-1][None]]


def _alike(plain: Any, pixels: Any, size: tuple[int, int], mode: str) -> bool:
    import torch

    options = {"size": list(size), "mode": mode, "align_corners": False, "antialias": True}
    theirs, mine = plain(pixels, **options), _resize(pixels, size, _MODES[mode])
    return bool(torch.equal(theirs, mine) and theirs.stride() == mine.stride())
