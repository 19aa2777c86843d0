"""The box that torchvision's RandomResizedCrop draws, with less around the same draws."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

from drapps.accelerate.patches import Patches, is_own
from drapps.accelerate.torch_draws import Draws, draws, logarithms_of

FIRST = "torchvision.transforms.transforms"
SECOND = "torchvision.transforms.v2"
_CHECKED = 8  # boxes
_Draw = Callable[..., Any]


def patch_first(patches: Patches) -> None:
    """Replaces ``get_params`` of the first interface's crop, unless a user has replaced it."""
    module: Any = sys.modules[FIRST]
    crop, drawing = module.RandomResizedCrop, draws()
    held = vars(crop).get("get_params")
    plain: Any = held.__func__ if isinstance(held, staticmethod) else None
    if drawing is not None and is_own(module, plain):
        native, usual = _drawing_first(plain, drawing, module.F), crop(8)
        if _are_same(plain, native, _picture(), usual.scale, usual.ratio):
            patches.put(crop, "get_params", staticmethod(patches.gated(native, plain)))


def patch_second(patches: Patches) -> None:
    """Replaces ``make_params`` of the second interface's crop, unless a user has replaced it."""
    crop: Any = sys.modules[SECOND].RandomResizedCrop
    plain, drawing = vars(crop).get("make_params"), draws()
    module: Any = sys.modules[crop.__module__]
    if drawing is not None and is_own(module, plain):
        native = _drawing_second(plain, drawing, module)
        if _are_same(plain, native, crop(8), [_picture()]):
            patches.put(crop, "make_params", native, plain)


def _drawing_first(plain: _Draw, drawing: Draws, functional: Any) -> _Draw:
    @functools.wraps(plain)
    def get_params(img: Any, scale: Any, ratio: Any) -> Any:
        box = None
        if drawing.may():
            _, height, width = functional.get_dimensions(img)
            box = _box(drawing, (width, height), scale, ratio)
        return plain(img, scale, ratio) if box is None else box

    return get_params


def box_of_first(drawing: Draws, size: tuple[int, int], crop: Any) -> Any:
    """Top, left, height and width that a transform draws; None where it is to be asked."""
    return _box(drawing, size, crop.scale, crop.ratio)


def _box(drawing: Draws, size: tuple[int, int], scale: Any, ratio: Any) -> Any:
    known = type(ratio) in (tuple, list) and {*map(type, ratio)} == {float} and min(ratio) > 0
    return drawing.box(size, scale, ratio, logarithms_of(tuple(ratio))) if known else None


def _drawing_second(plain: _Draw, drawing: Draws, module: Any) -> _Draw:
    @functools.wraps(plain)
    def make_params(self: Any, flat_inputs: Any) -> Any:
        box = None
        if drawing.may():
            height, width = module.query_size(flat_inputs)
            box = box_of_second(drawing, (width, height), self)
        if box is None:
            return plain(self, flat_inputs)
        return dict(zip(("top", "left", "height", "width"), box, strict=True))

    return make_params


def box_of_second(drawing: Draws, size: tuple[int, int], crop: Any) -> Any:
    """As `box_of_first`, of the second interface, whose transform holds a tensor of logarithms."""
    import torch

    logarithms = crop._log_ratio
    known = type(logarithms) is torch.Tensor and logarithms.dtype is torch.float32
    return drawing.box(size, crop.scale, crop.ratio, logarithms.tolist()) if known else None


def _picture() -> Any:
    import torch

    return torch.empty((3, 37, 51), device="cpu")


def _are_same(plain: _Draw, native: _Draw, *asked: Any) -> bool:
    """Whether both draw the same boxes; the state of the generator stays what it is."""
    import torch

    before, drawn = torch.get_rng_state(), []
    try:
        for draw in (plain, native):
            torch.set_rng_state(before)
            boxes = [draw(*asked) for _ in range(_CHECKED)]
            drawn.append((boxes, torch.get_rng_state().tolist()))
    finally:
        torch.set_rng_state(before)
    return bool(drawn[0] == drawn[1])
