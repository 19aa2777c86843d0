"""The few random numbers that torchvision's crops and flips draw: torch's own, without its tensors.

They are drawn from the state of torch's generator, which then goes on behind them.
"""

from __future__ import annotations

import functools
import struct
import threading
from typing import Any

from drapps import _core
from drapps.accelerate.watched import is_watched

_CHECKED = 64  # numbers
_RANGE = (0.08, 1.0)
_MOST = 1 << 20  # that ratios and shares of a picture are
_Rect = tuple[int, int, int, int]  # top, left, height, width


class Draws:
    """Draws in a process of one Python thread, where nobody looks at what torch does.

    Args:
        fused: how torch rounds, see `rounding`.
    """

    def __init__(self, fused: bool) -> None:
        import torch

        self._torch, self._fused = torch, fused

    def may(self) -> bool:
        """Whether anything may be drawn here now."""
        alone = threading.active_count() == 1
        return alone and self._torch.get_default_dtype() is self._torch.float32 and not is_watched()

    def box(self, size: tuple[int, int], scale: Any, ratio: Any, logarithms: Any) -> _Rect | None:
        """What RandomResizedCrop draws; None where torch is to be asked, and nothing was drawn.

        Args:
            size: width and height of the picture.
            scale: of the transform.
            ratio: of the transform.
            logarithms: of the ratios, as torch rounds them.
        """
        known = _is_range(scale) and _is_range(ratio) and ratio[0] > 0 and len(logarithms) == 2
        if not known or not self.may():
            return None
        state = self._torch.default_generator.get_state()
        asked = (*size[::-1], tuple(scale), tuple(logarithms), tuple(ratio), self._fused)
        box = _core.torch_crop_box(state.numpy(), *asked)
        if box is not None:
            self._torch.default_generator.set_state(state)
        return box

    def happens(self, probability: Any) -> bool | None:
        """Whether ``torch.rand(1) < probability``; None where torch is to be asked."""
        if type(probability) not in (float, int) or not 0 <= probability <= 1 or not self.may():
            return None
        state = self._torch.default_generator.get_state()
        drawn = _core.torch_uniform(state.numpy(), 0.0, 1.0, self._fused)
        self._torch.default_generator.set_state(state)
        return bool(drawn < _rounded(probability))


def _is_range(numbers: Any) -> bool:
    two = type(numbers) in (tuple, list) and len(numbers) == 2
    known = two and {*map(type, numbers)} <= {float, int}
    return known and 0 <= numbers[0] <= numbers[1] <= _MOST


@functools.lru_cache(maxsize=64)
def _rounded(number: float) -> float:
    """A number as torch compares it with one of its tensors of float32."""
    value: float = struct.unpack("f", struct.pack("f", number))[0]
    return value


@functools.lru_cache(maxsize=64)
def logarithms_of(ratio: tuple[float, float]) -> list[float]:
    """The logarithms of a range of ratios, as torch rounds them."""
    import torch

    logs: list[float] = torch.log(torch.tensor(ratio, dtype=torch.float32, device="cpu")).tolist()
    return logs


@functools.cache
def draws() -> Draws | None:
    """The draws of this process; None where torch draws otherwise than all known versions do."""
    fused = rounding()
    return None if fused is None else Draws(fused)


def rounding() -> bool | None:
    """Whether torch rounds a product and its sum once; None where it draws otherwise than here.

    The state of the generator stays what it is.
    """
    import torch

    before = torch.default_generator.get_state()
    tensors = [torch.empty(1, dtype=torch.float32, device="cpu") for _ in range(_CHECKED)]
    theirs = [each.uniform_(*_RANGE).item() for each in tensors]
    torch.default_generator.set_state(before)
    for fused in (True, False):
        state = before.clone().numpy()
        if theirs == [_core.torch_uniform(state, *_RANGE, fused) for _ in range(_CHECKED)]:
            return fused
    return None
