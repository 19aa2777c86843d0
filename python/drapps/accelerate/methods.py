"""Methods of Pillow's images that go on with a view, in the place of Pillow's own.

Each is made of the method that it takes the place of, and calls that for all that it does not know:
other modes, filters and arguments, and images whose pixels are there.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

from drapps.accelerate.late import LateAccess, LatePixels
from drapps.accelerate.opening import Opening
from drapps.accelerate.views import Box

LARGE = 1 << 26  # pixels of which Pillow says at once whether there is memory for them
_LEAST = 1 / 64  # of a pixel, that a box is wide and high
#: Of values that are no numbers, of which Pillow says what is wrong; not of a signal's handler.
_WRONG = (TypeError, ValueError, OverflowError)
_FILTERS = {2: False, 3: True}  # BILINEAR, BICUBIC: which of them is bicubic

Method = Callable[..., Any]


def core_image(plain: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The property ``im``."""

    def im(self: Any) -> Any:
        held = self._im
        if type(held) is LatePixels:
            held = self._im = held.core_image()
            return held
        return plain(self)

    return im


def load_file(plain: Method, opening: Opening) -> Method:
    """``JpegImageFile.load``."""

    @functools.wraps(plain)
    def load(self: Any) -> Any:
        late = opening.loaded_late(self)
        return plain(self) if late is None else LateAccess(late)

    return load


def load(plain: Method) -> Method:
    """``Image.load``."""

    @functools.wraps(plain)
    def load(self: Any) -> Any:
        held = self._im
        if type(held) is LatePixels and held.view is not None and self.palette is None:
            return LateAccess(held)
        return plain(self)

    return load


def copy(plain: Method, opening: Opening) -> Method:
    """``Image.copy``."""

    @functools.wraps(plain)
    def copy(self: Any) -> Any:
        if opening.may_be_late(self) and (view := opening.view_of(self)) is not None:
            return opening.image(self, view)
        return plain(self)

    return copy


def convert(plain: Method, opening: Opening) -> Method:
    """``Image.convert``."""

    @functools.wraps(plain)
    def convert(self: Any, mode: Any = None, matrix: Any = None, *more: Any, **options: Any) -> Any:
        known = isinstance(mode, str) and mode in ("RGB", "L") and matrix is None
        if known and opening.may_be_late(self) and "transparency" not in self.info:
            view = opening.view_of(self)
            if view is not None:
                if mode == self.mode:
                    return self.copy()
                return opening.image(self, view.converted(mode))
        return plain(self, mode, matrix, *more, **options)

    return convert


def crop(plain: Method, opening: Opening) -> Method:
    """``Image.crop``."""

    @functools.wraps(plain)
    def crop(self: Any, box: Any = None) -> Any:
        if box is not None and opening.may_be_late(self):
            place = _within(box, self.size)
            if place is not None and (view := opening.view_of(self)) is not None:
                return opening.image(self, view.cropped(*place))
        return plain(self, box)

    return crop


def _within(box: Any, size: tuple[int, int]) -> tuple[int, int, int, int] | None:
    """A box as Pillow rounds it; None for one that is the whole picture, or leaves it."""
    if not isinstance(box, (tuple, list)):  # of which versions of Pillow think differently
        return None
    try:
        whole = box == (0, 0, *size)
        left, top, right, bottom = map(int, map(round, box))
    except _WRONG:
        return None
    inside = 0 <= left < right <= size[0] and 0 <= top < bottom <= size[1]
    return (left, top, right, bottom) if inside and not whole else None


def transpose(plain: Method, opening: Opening) -> Method:
    """``Image.transpose``."""

    @functools.wraps(plain)
    def transpose(self: Any, method: Any) -> Any:
        if isinstance(method, int) and 0 <= method <= 6 and opening.may_be_late(self):
            view = opening.view_of(self)
            if view is not None:
                return opening.image(self, view.transposed(method))
        return plain(self, method)

    return transpose


def resize(plain: Method, opening: Opening) -> Method:
    """``Image.resize``."""

    @functools.wraps(plain)
    def resize(
        self: Any, size: Any, resample: Any = None, box: Any = None, reducing_gap: Any = None
    ) -> Any:
        if opening.may_be_late(self):
            target, bicubic = _target(size), _bicubic(resample)
            part = (0, 0, *self.size) if box is None else _part(box, self.size)
            if target is None or bicubic is None or part is None:
                return plain(self, size, resample, box, reducing_gap)
            if not _in_one_step(reducing_gap, part, target):
                return plain(self, size, resample, box, reducing_gap)
            if (view := opening.view_of(self)) is not None:
                whole = part == (0, 0, *self.size)
                if target == self.size and whole:
                    return self.copy()
                new_view = opening.resized(view, target, bicubic, None if whole else part)
                return opening.image(self, new_view)
        return plain(self, size, resample, box, reducing_gap)

    return resize


def _part(box: Any, size: tuple[int, int]) -> Box | None:
    """A box of numbers that has an area and lies within; None for any other."""
    numbers = type(box) is tuple and len(box) == 4 and {*map(type, box)} <= {int, float}
    if not numbers:
        return None
    left, top, right, bottom = box
    inside = 0 <= left <= right - _LEAST and right <= size[0]
    inside = inside and 0 <= top <= bottom - _LEAST and bottom <= size[1]
    return (left, top, right, bottom) if inside else None


def _in_one_step(gap: Any, box: Box, size: tuple[int, int]) -> bool:
    """Whether Pillow does not reduce first."""
    if gap is None:
        return True
    if type(gap) not in (int, float) or not gap >= 1:
        return False
    return all((box[2 + k] - box[k]) / size[k] / gap < 2 for k in (0, 1))


def _reduces(factor: Any) -> bool:
    """Whether a factor is more than one, by Pillow's rules."""
    factors = factor if type(factor) is tuple else (factor, factor)
    return {*map(type, factors)} == {int} and factors != (1, 1)


def reduce(plain: Method, opening: Opening) -> Method:
    """``Image.reduce``."""

    @functools.wraps(plain)
    def reduce(self: Any, factor: Any, box: Any = None) -> Any:
        known = type(box) is tuple and {*map(type, box)} == {int} and _reduces(factor)
        if known and opening.may_be_late(self):
            place = _within(box, self.size)
            if place is not None and (view := opening.view_of(self)) is not None:
                return plain(opening.image(self, view.cropped(*place)), factor)
        return plain(self, factor, box)

    return reduce


def _target(size: Any) -> tuple[int, int] | None:
    if not isinstance(size, (tuple, list)):  # of which versions of Pillow think differently
        return None
    try:
        width, height = map(operator.index, size)
    except _WRONG:
        return None
    return (width, height) if width > 0 < height and width * height <= LARGE else None


def _bicubic(resample: Any) -> bool | None:
    """Whether a filter is bicubic and not bilinear; None for any other filter."""
    if resample is None:
        return True
    return _FILTERS.get(int(resample)) if isinstance(resample, int) else None


def tobytes(plain: Method, opening: Opening) -> Method:
    """``Image.tobytes``."""

    @functools.wraps(plain)
    def tobytes(self: Any, encoder_name: Any = "raw", *args: Any) -> Any:
        if encoder_name == "raw" and not args and opening.may_be_late(self):
            view = opening.view_of(self)
            if view is not None:
                return view.interleaved()
        return plain(self, encoder_name, *args)

    return tobytes
