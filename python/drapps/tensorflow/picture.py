"""A decoded picture on its way through a graph: which part of it is left, and what its values are.

Moves (crops, flips, borders of zeros) change where a value stands, pointwise operations change the
value: so the two commute, and only the moves are followed, as a `Window` per axis. What became of
the values is read off a picture that holds all of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import tensorflow as tf

from drapps.tensorflow.lengths import SIDES, Length, apply, of_all_sides, side
from drapps.tensorflow.report import NotLifted

CHANNELS = 3


@dataclass(frozen=True, eq=False)
class Window:
    """What is left along one axis, in coordinates of the decoded picture.

    Attributes:
        begin, end: of the window; it may leave the picture.
        low, high: of what is seen of the picture; all else in the window is zero.
        mirrored: the last one comes first.
    """

    begin: Any
    end: Any
    low: Any
    high: Any
    mirrored: bool = False

    @staticmethod
    def whole(axis: int) -> Window:
        """The picture as decoded."""
        return Window(np.int32(0), side(axis), np.int32(0), side(axis))

    @property
    def size(self) -> Any:
        """Its length."""
        return apply(np.subtract, self.end, self.begin)

    def cut(self, begin: Any, end: Any) -> Window:
        """Only the elements from `begin` to `end` of it."""
        if self.mirrored:
            begin, end = apply(np.subtract, self.size, end), apply(np.subtract, self.size, begin)
        cut = apply(np.add, self.begin, begin), apply(np.add, self.begin, end)
        return replace(self, begin=cut[0], end=cut[1])

    def pad(self, before: Any, after: Any) -> Window:
        """Zeros before and after it."""
        if self.mirrored:
            before, after = after, before
        return replace(
            self,
            begin=apply(np.subtract, self.begin, before),
            end=apply(np.add, self.end, after),
            low=apply(np.maximum, self.low, self.begin),
            high=apply(np.minimum, self.high, self.end),
        )


@dataclass(frozen=True, eq=False)
class Picture:
    """A picture as some tensor of the graph holds it.

    Attributes:
        windows: rows and columns.
        dtype: of the values.
        computed: something was done to the values.
        keeps_zero: a byte of zero is still zero.
        batched: an axis of length one stands before the others.
    """

    windows: tuple[Window, Window]
    dtype: tf.DType = tf.uint8
    computed: bool = False
    keeps_zero: bool = True
    batched: bool = False

    @property
    def shape(self) -> list[Any]:
        """Its dimensions."""
        sizes = [window.size for window in self.windows]
        return [*([np.int32(1)] if self.batched else []), *sizes, np.int32(CHANNELS)]

    def moved(self, axis: int, window: Window) -> Picture:
        """The same with another window along an axis."""
        windows = (window, self.windows[1]) if axis == 0 else (self.windows[0], window)
        return replace(self, windows=windows)

    def padded(self, axis: int, before: Any, after: Any) -> Picture:
        """With zeros around it.

        Raises:
            NotLifted: a byte of zero is something else by now.
        """
        if not _is_zero(before) or not _is_zero(after):
            if not self.keeps_zero:
                raise NotLifted("zeros are put around values of which a byte of zero is no zero")
            return self.moved(axis, self.windows[axis].pad(before, after))
        return self


def _is_zero(number: Any) -> bool:
    return not isinstance(number, Length) and not number


@dataclass(frozen=True)
class Rule:
    """How an axis is cropped: from a fixed place on, or in the middle.

    Attributes:
        size: of what is left.
        begin: the place, or None for the middle.
        pad: smaller pictures have zeros around them; otherwise they are an error.
    """

    size: int
    begin: int | None
    pad: bool = False

    @property
    def smallest(self) -> int:
        """A side for which the window begins where the rule says, and ends at the end."""
        return self.size + (self.begin or 0)


def rule_of(window: Window, fails: np.ndarray[Any, Any], what: str) -> Rule:
    """The rule that gives this window for every length of the side, and an error where it fails.

    Args:
        window: along one axis.
        fails: the lengths for which the graph is an error.
        what: the axis, for messages.

    Raises:
        NotLifted: no rule does.
    """
    sizes, begin, end = (of_all_sides(n) for n in (window.size, window.begin, window.end))
    low = np.maximum(of_all_sides(window.low), begin)
    high = np.minimum(of_all_sides(window.high), end)
    size, first = int(sizes[-1]), int(begin[-1])
    # A picture of another size than the rest cannot be in a batch with them: as good as an error.
    valid = ~fails & (sizes == size)
    whole = valid & (low == begin) & (high == end)
    if first >= 0 and 0 < size < SIDES[-1]:
        fits = first + size <= SIDES
        if np.array_equal(valid, fits) and (whole & (begin == first))[fits].all():
            return Rule(size, first)
    if 0 < size < SIDES[-1]:
        fits = size <= SIDES
        middle = (SIDES - size) // 2
        if (whole & (begin == middle))[fits].all():
            if np.array_equal(valid, fits):
                return Rule(size, None)
            around = valid & (begin == -((size - SIDES) // 2)) & (low == 0) & (high == SIDES)
            if around[~fits].all():
                return Rule(size, None, pad=True)
    raise NotLifted(
        f"the {what} is not cropped to one size at a fixed place or in the middle, rounded down"
    )
