"""Descriptions of ops, as the core's planner takes them, and how arguments become them.

A description is ``{"op": tag, field: value, …}``; tags and fields are those of
``src/drapps/augment``. The core checks ranges; here is refused what could be misread on the way.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from drapps.arguments import (
    chance,
    flag,
    floats,
    interval,
    listed,
    number_in,
    one_of,
    one_or_more,
    whole,
)
from drapps.errors import PipelineError

Op = dict[str, Any]
Size = int | Sequence[int]

INTERPOLATIONS = ("nearest", "bilinear", "bicubic")
PASS_ORDERS = ("horizontal_first", "pillow13")
ARITHMETICS = ("pillow", "torch_uint8", "torch_uint8_no_antialias", "torch_float")
PAD_MODES = ("constant", "edge", "reflect", "symmetric")
LONGEST_SIDE = 1 << 20
_MOST_CLASSES = 1 << 20
ERASE_MODES = ("constant", "normal_per_channel", "normal_per_pixel")


def random_resized_crop(
    size: Size,
    scale: Sequence[float] = (0.08, 1.0),
    ratio: Sequence[float] = (3 / 4, 4 / 3),
    interpolation: str = "bilinear",
    pass_order: str = "horizontal_first",
    arithmetic: str = "pillow",
) -> Op:
    """A random part, resized to `size`."""
    height, width = pair("size", size)
    op: Op = {
        "op": "random_resized_crop",
        "height": height,
        "width": width,
        "scale": interval("scale", scale),
        "ratio": interval("ratio", ratio),
        "interpolation": one_of("interpolation", interpolation, (*INTERPOLATIONS, "random")),
        "pass_order": one_of("pass_order", pass_order, PASS_ORDERS),
    }
    return {**op, **in_arithmetic(arithmetic)}


def resize(
    size: Size | None,
    max_size: int | None = None,
    interpolation: str = "bilinear",
    pass_order: str = "horizontal_first",
    arithmetic: str = "pillow",
) -> Op:
    """One number is the shorter side, two are (height, width); ``None`` leaves `max_size` alone."""
    op: Op = {"op": "resize"}
    if size is None and max_size is None:
        raise PipelineError("resize needs a size, or a max_size for the longer side")
    if size is not None and len(one_or_more(size)) == 1:
        op["short_side"] = pair("size", size)[0]
    elif size is not None:
        op["height"], op["width"] = pair("size", size)
        if max_size is not None:
            raise PipelineError("max_size goes with one size, for the shorter side, not with two")
    if max_size is not None:
        op["max_size"] = whole("max_size", max_size, 1, LONGEST_SIDE)
    op["interpolation"] = one_of("interpolation", interpolation, INTERPOLATIONS)
    op["pass_order"] = one_of("pass_order", pass_order, PASS_ORDERS)
    return {**op, **in_arithmetic(arithmetic)}


def crop(top: int, left: int, size: Size) -> Op:
    """The same rectangle of every picture."""
    height, width = pair("size", size)
    return {
        "op": "crop",
        "top": whole("top", top, 0, LONGEST_SIDE),
        "left": whole("left", left, 0, LONGEST_SIDE),
        "height": height,
        "width": width,
    }


def random_resize(
    min_size: int,
    max_size: int,
    interpolation: str = "bilinear",
    pass_order: str = "horizontal_first",
    arithmetic: str = "pillow",
) -> Op:
    """The shorter side gets a random length from `min_size` to below `max_size`."""
    lowest = whole("min_size", min_size, 1, LONGEST_SIDE)
    end = whole("max_size", max_size, 1, LONGEST_SIDE)
    if end <= lowest:
        raise PipelineError(
            f"max_size={end} must be above min_size={lowest}, and is itself left out"
        )
    op: Op = {
        "op": "random_resize",
        "min_size": lowest,
        "max_size": end,
        "interpolation": one_of("interpolation", interpolation, INTERPOLATIONS),
        "pass_order": one_of("pass_order", pass_order, PASS_ORDERS),
    }
    return {**op, **in_arithmetic(arithmetic)}


def resize_keep_ratio(
    size: Size,
    longest: float = 0.0,
    interpolation: str = "bilinear",
    pass_order: str = "horizontal_first",
    scale_p: float = 0.0,
    scale: Sequence[float] = (0.85, 1.05),
    scale_area: bool = False,
    aspect_p: float = 0.0,
    aspect: Sequence[float] = (0.9, 1.11),
) -> Op:
    """To about the size at which the picture covers `size`, or fits into it."""
    height, width = pair("size", size)
    return {
        "op": "resize_keep_ratio",
        "height": height,
        "width": width,
        "longest": chance(longest, "longest"),
        "scale_p": chance(scale_p, "scale_p"),
        "scale": interval("scale", scale),
        "scale_area": flag("scale_area", scale_area),
        "aspect_p": chance(aspect_p, "aspect_p"),
        "aspect": interval("aspect", aspect),
        "interpolation": one_of("interpolation", interpolation, (*INTERPOLATIONS, "random")),
        "pass_order": one_of("pass_order", pass_order, PASS_ORDERS),
    }


def center_crop(size: Size, fill: Size = 0, mode: str = "constant", mask_fill: int = 0) -> Op:
    """The middle; the fields of its border are left away where they are the core's defaults."""
    height, width = pair("size", size)
    op: Op = {"op": "center_crop", "height": height, "width": width}
    if one_of("mode", mode, PAD_MODES) != "constant":
        op["mode"] = mode
    if levels(fill) != [0]:
        op["fill"] = levels(fill)
    if byte("mask_fill", mask_fill):
        op["mask_fill"] = byte("mask_fill", mask_fill)
    return op


def center_crop_as_tensorflow(size: Size, pad: bool) -> Op:
    """The middle, rounded down; where `pad` is false a smaller picture is a bad sample."""
    return {**center_crop(size), "rounding": "down", "pad": flag("pad", pad)}


def random_crop(
    size: Size,
    padding: Size = 0,
    pad_if_needed: bool = False,
    fill: Size = 0,
    mode: str = "constant",
    mask_fill: int = 0,
) -> Op:
    """A part at a random place, after padding."""
    height, width = pair("size", size)
    left, top, right, bottom = borders(padding)
    return {
        "op": "random_crop",
        "height": height,
        "width": width,
        "pad_left": left,
        "pad_top": top,
        "pad_right": right,
        "pad_bottom": bottom,
        "pad_if_needed": flag("pad_if_needed", pad_if_needed),
        "mode": one_of("mode", mode, PAD_MODES),
        "fill": levels(fill),
        "mask_fill": byte("mask_fill", mask_fill),
    }


def horizontal_flip(p: float = 0.5) -> Op:
    """Left and right change places."""
    return {"op": "horizontal_flip", "p": chance(p)}


def vertical_flip(p: float = 0.5) -> Op:
    """Top and bottom change places."""
    return {"op": "vertical_flip", "p": chance(p)}


def random_apply(count: int, p: float = 0.5) -> Op:
    """The next `count` ops run with probability `p`, all together."""
    return {"op": "random_apply", "p": chance(p), "count": whole("count", count, 1)}


def color_jitter(
    brightness: float | Sequence[float] = 0.0,
    contrast: float | Sequence[float] = 0.0,
    saturation: float | Sequence[float] = 0.0,
    hue: float | Sequence[float] = 0.0,
) -> Op:
    """One number x means [max(0, 1 - x), 1 + x], for the hue [-x, x]; two are the range itself."""
    return {
        "op": "color_jitter",
        "brightness": _around(1.0, "brightness", brightness),
        "contrast": _around(1.0, "contrast", contrast),
        "saturation": _around(1.0, "saturation", saturation),
        "hue": _around(0.0, "hue", hue),
    }


def _around(middle: float, name: str, value: Any) -> list[float]:
    if listed(value) is not None:
        return interval(name, value)
    reach = number_in(value)
    if reach is None or not 0 <= reach < math.inf:
        raise PipelineError(f"{name}={value!r} must be a number from 0, or two, the lower first")
    return [max(0.0, middle - reach) if middle else -reach, middle + reach]


def grayscale(channels: int = 1) -> Op:
    """The luma, in `channels` channels."""
    return {"op": "grayscale", "channels": whole("channels", channels, 1, 3)}


def random_grayscale(p: float = 0.1) -> Op:
    """The luma in as many channels as there were."""
    return {"op": "random_grayscale", "p": chance(p)}


def pad(padding: Size, fill: Size = 0, mode: str = "constant", mask_fill: int = 0) -> Op:
    """A border."""
    left, top, right, bottom = borders(padding)
    return {
        "op": "pad",
        "left": left,
        "top": top,
        "right": right,
        "bottom": bottom,
        "mode": one_of("mode", mode, PAD_MODES),
        "fill": levels(fill),
        "mask_fill": byte("mask_fill", mask_fill),
    }


def random_erasing(
    p: float = 0.5,
    scale: Sequence[float] = (0.02, 0.33),
    ratio: Sequence[float] = (0.3, 3.3),
    mode: str = "constant",
    value: float | Sequence[float] = 0.0,
    count: Size = 1,
) -> Op:
    """Rectangles of the finished row overwritten."""
    lowest, highest = pair("count", count, "the lowest and the highest")
    if lowest > highest:
        raise PipelineError(f"count={count!r} must be one whole number, or two, the lower first")
    return {
        "op": "random_erasing",
        "p": chance(p),
        "scale": interval("scale", scale),
        "ratio": interval("ratio", ratio),
        "mode": one_of("mode", mode, ERASE_MODES),
        "value": floats("value", one_or_more(value)),
        "min_count": lowest,
        "max_count": highest,
    }


def mix(
    num_classes: int, mixup_alpha: float, cutmix_alpha: float, p: float, cutmix_share: float = 0.5
) -> Op:
    """Whole batches mixed; an alpha of 0 leaves that kind out."""
    return {
        "mixup_alpha": mixup_alpha,
        "cutmix_alpha": cutmix_alpha,
        "p": chance(p),
        "cutmix_share": chance(cutmix_share, "cutmix_share"),
        "num_classes": whole("num_classes", num_classes, 1, _MOST_CLASSES),
    }


def pair(name: str, value: Any, both: str = "height and width") -> tuple[int, int]:
    """Two lengths of pixels, or of whatever else `both` says, from one number or a list."""
    numbers = one_or_more(value)
    if not 1 <= len(numbers) <= 2:
        raise PipelineError(f"{name}={value!r} must be one whole number, or two: {both}")
    sides = [whole(name, number, 1, LONGEST_SIDE) for number in numbers]
    return sides[0], sides[-1]


def borders(padding: Any) -> tuple[int, int, int, int]:
    """(left, top, right, bottom) from one number, (horizontal, vertical), or all four."""
    numbers = one_or_more(padding)
    if len(numbers) not in (1, 2, 4):
        raise PipelineError(f"padding={padding!r} must be 1, 2 or 4 whole numbers")
    side = [whole("padding", number, 0, LONGEST_SIDE) for number in numbers]
    return side[0], side[1 % len(side)], side[2 % len(side)], side[3 % len(side)]


def levels(fill: Any) -> list[int]:
    """Byte values, from one number or one per channel."""
    return [byte("fill", number) for number in one_or_more(fill)]


def byte(name: str, value: Any) -> int:
    """The value of a byte."""
    return whole(name, value, 0, 255)


def with_torch_masks(op: Op) -> Op:
    """A resize that takes the nearest pixel of masks as torch does."""
    return {**op, "mask_nearest": "torch"}


def in_arithmetic(name: str) -> Op:
    """The field of a resize's arithmetic, left away where it is Pillow's: the core's default."""
    choice = one_of("arithmetic", name, ARITHMETICS)
    return {} if choice == "pillow" else {"arithmetic": choice}
