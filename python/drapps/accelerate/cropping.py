"""The box that torchvision's RandomResizedCrop draws, with less around the same draws.

Its code reads the logarithms of two ratios from a tensor, which the first interface makes anew for
each picture. A copy of that code reads them as numbers.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from types import FunctionType
from typing import Any

from drapps.accelerate.composing import FIRST, SECOND, is_watched
from drapps.accelerate.patches import Patches, is_own

_CHECKED = 8  # boxes
_Draw = Callable[..., Any]


def patch_first(patches: Patches) -> None:
    """Of the first interface, unless a user has put a function of his own in its place."""
    module: Any = sys.modules[FIRST]
    crop = module.RandomResizedCrop
    held = vars(crop).get("get_params")
    plain: Any = held.__func__ if isinstance(held, staticmethod) else None
    if is_own(module, plain):
        made, usual = _drawing_first(plain), crop(8)
        if _are_same(plain, made, _picture(), usual.scale, usual.ratio):
            patches.put(crop, "get_params", staticmethod(patches.gated(made, plain)))


def patch_second(patches: Patches) -> None:
    """Of the second interface."""
    crop: Any = sys.modules[SECOND].RandomResizedCrop
    plain: Any = vars(crop).get("make_params")
    if is_own(sys.modules[crop.__module__], plain):
        made = _drawing_second(plain)
        if _are_same(plain, made, crop(8), [_picture()]):
            patches.put(crop, "make_params", made, plain)


def _drawing_first(plain: _Draw) -> _Draw:
    import torch

    fast = FunctionType(plain.__code__, {**plain.__globals__, "torch": _Torch(torch)})

    @functools.wraps(plain)
    def get_params(img: Any, scale: Any, ratio: Any) -> Any:
        known = type(ratio) in (tuple, list) and {*map(type, ratio)} == {float}
        return (fast if known and not is_watched() else plain)(img, scale, ratio)

    return get_params


class _Torch:
    """torch, in which the logarithm of a tensor is numbers, and made anew for other ones alone."""

    def __init__(self, torch: Any) -> None:
        self._torch = torch
        self._last: tuple[Any, list[float]] = (None, [])  # what was asked, and its logarithms

    def __getattr__(self, name: str) -> Any:
        return getattr(self._torch, name)

    @staticmethod
    def tensor(numbers: Any) -> Any:
        """Stays the numbers, of which `log` makes a tensor."""
        return numbers

    def log(self, numbers: Any) -> list[float]:
        """As torch rounds them."""
        torch = self._torch
        key = (*numbers, torch.get_default_dtype())
        asked, made = self._last
        if asked != key:
            made = torch.log(torch.tensor(numbers)).tolist()
            self._last = (key, made)
        return made


def _drawing_second(plain: _Draw) -> _Draw:
    import torch

    @functools.wraps(plain)
    def make_params(self: Any, flat_inputs: Any) -> Any:
        logarithms = self._log_ratio
        if type(logarithms) is torch.Tensor and not is_watched():
            return plain(_Crop(self.scale, self.ratio, logarithms.tolist()), flat_inputs)
        return plain(self, flat_inputs)

    return make_params


class _Crop:
    """What the second interface asks a transform of its own for."""

    __slots__ = ("_log_ratio", "ratio", "scale")

    def __init__(self, scale: Any, ratio: Any, log_ratio: list[float]) -> None:
        self.scale, self.ratio, self._log_ratio = scale, ratio, log_ratio


def _picture() -> Any:
    import torch

    return torch.empty((3, 37, 51), device="cpu")


def _are_same(plain: _Draw, made: _Draw, *asked: Any) -> bool:
    """Whether both draw the same boxes; the state of the generator stays what it is."""
    import torch

    before, drawn = torch.get_rng_state(), []
    try:
        for draw in (plain, made):
            torch.set_rng_state(before)
            boxes = [draw(*asked) for _ in range(_CHECKED)]
            drawn.append((boxes, torch.get_rng_state().tolist()))
    finally:
        torch.set_rng_state(before)
    return bool(drawn[0] == drawn[1])
