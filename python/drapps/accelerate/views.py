"""Pictures that are not made yet: what they come from, which part of it, turned and resized how."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

from drapps import _core

Rect = tuple[int, int, int, int]  # top, left, height, width
Box = tuple[float, float, float, float]  # left, top, right, bottom

UPRIGHT = 1
# By EXIF orientation: rows and columns are exchanged; stored rows, and columns, are mirrored.
_TURNS = (
    (False, False, False),
    (False, False, False),
    (False, False, True),
    (False, True, True),
    (False, True, False),
    (True, False, False),
    (True, True, False),
    (True, True, True),
    (True, False, True),
)
# What Pillow's transpose() does, by its number: flips, rotations, TRANSPOSE and TRANSVERSE.
_METHODS = (2, 4, 8, 3, 6, 5, 7)

PILLOW_BYTES = {"L": 1, "RGB": 4}  # of one pixel
_FOURTH = 255  # the byte that Pillow's decoders and conversions put behind the three; resizes put 0


def _turned(first: int, second: int) -> int:
    """The orientation that undoes both, one after the other."""
    swaps, rows, columns = _TURNS[first]
    again, more_rows, more_columns = _TURNS[second]
    if swaps:  # what are rows behind the first are columns of what is stored
        more_rows, more_columns = more_columns, more_rows
    both = (swaps != again, rows != more_rows, columns != more_columns)
    return _TURNS.index(both, 1)


_COMPOSED = tuple(tuple(_turned(turn, method) for method in _METHODS) for turn in range(9))


class Source:
    """What views are parts of: a file, planes that were made of it, or a view that is resized.

    A file is decoded as far as is asked at first. Asked once more, all of it is made and kept in
    its place, which takes less memory than Pillow's pixels.
    """

    __slots__ = ("_asked", "_make", "_pixels", "height", "nbytes", "width")

    def __init__(self, pixels: _core.Pixels) -> None:
        """Begins with what there is."""
        self._take(pixels)
        self._make: Callable[[], _core.Pixels] | None = None
        self._asked = False

    @classmethod
    def resized(cls, view: View, width: int, height: int, how: tuple[Any, ...]) -> Source:
        """The whole of a view, or of a box, in another size; made when it is asked for."""
        source = cls.__new__(cls)
        source.width, source.height, source.nbytes = width, height, view.source.nbytes
        source._pixels = None
        source._make = lambda: view.source.pixels().resized(
            view.rect, view.turn, view.gray, height, width, *how
        )
        source._asked = False
        return source

    def _take(self, pixels: _core.Pixels) -> None:
        self._pixels: _core.Pixels | None = pixels
        self.width, self.height, self.nbytes = pixels.width, pixels.height, pixels.nbytes

    @property
    def is_file(self) -> bool:
        """It is not decoded yet, or only in parts."""
        return self._pixels is not None and self._pixels.is_file

    def pixels(self) -> _core.Pixels:
        """What pixels are made of now."""
        make = self._make  # which another thread may call, too
        if make is not None:
            self._take(make())
            self._make = None
        pixels = self._pixels
        assert pixels is not None
        if pixels.is_file:
            if self._asked:
                whole = (0, 0, self.height, self.width)
                pixels = pixels.planes(whole, UPRIGHT, False)
                self._take(pixels)
            self._asked = True
        return pixels


class View:
    """A picture of mode RGB or L.

    Attributes:
        source: where it is read.
        rect: of the source, as it is stored.
        mode: as Pillow calls it.
        turn: the orientation that is undone.
        gray: it is made of colours as convert("L") does.
        fourth: the byte that Pillow has behind the three of a pixel.
        size: width and height.
    """

    __slots__ = ("fourth", "gray", "mode", "rect", "size", "source", "turn")

    def __init__(
        self,
        source: Source,
        rect: Rect,
        mode: str,
        turn: int = UPRIGHT,
        gray: bool = False,
        fourth: int = _FOURTH,
    ) -> None:
        self.source, self.rect, self.mode = source, rect, mode
        self.turn, self.gray, self.fourth = turn, gray, fourth
        self.size = (rect[2], rect[3]) if _TURNS[turn][0] else (rect[3], rect[2])

    @classmethod
    def of_file(cls, pixels: _core.Pixels) -> View:
        """The whole picture of a file."""
        mode = "RGB" if pixels.channels == 3 else "L"
        return cls(Source(pixels), (0, 0, pixels.height, pixels.width), mode)

    @property
    def pillow_bytes(self) -> int:
        """Memory that Pillow would hold of it."""
        return self.size[0] * self.size[1] * PILLOW_BYTES[self.mode]

    def cropped(self, left: int, top: int, right: int, bottom: int) -> View:
        """A part of the picture, which lies within."""
        return self._part(left, top, right, bottom)._lean()

    def _part(self, left: int, top: int, right: int, bottom: int) -> View:
        first, second, height, width = top, left, bottom - top, right - left
        swapped, rows, columns = _TURNS[self.turn]
        if swapped:
            first, second, height, width = second, first, width, height
        all_first, all_second, all_height, all_width = self.rect
        if rows:
            first = all_height - first - height
        if columns:
            second = all_width - second - width
        rect = (all_first + first, all_second + second, height, width)
        return View(self.source, rect, self.mode, self.turn, self.gray, self.fourth)

    def transposed(self, method: int) -> View:
        """The picture as Pillow's transpose() turns it."""
        turn = _COMPOSED[self.turn][method]
        return View(self.source, self.rect, self.mode, turn, self.gray, self.fourth)

    def converted(self, mode: str) -> View:
        """The picture in the other of the two modes."""
        gray = self.gray or mode == "L"
        return View(self.source, self.rect, mode, self.turn, gray, _FOURTH)._lean()

    def resized(
        self, width: int, height: int, bicubic: bool, pillow13: bool, box: Box | None = None
    ) -> View:
        """The picture, or a box of it, in another size, by Pillow's arithmetic."""
        part, boxed = self, None
        if box is not None:
            left, top, right, bottom = struct.unpack("4f", struct.pack("4f", *box))
            whole = left.is_integer() and top.is_integer()
            if whole and (right - left, bottom - top) == (width, height):
                return self.cropped(*map(int, (left, top, right, bottom)))  # as Pillow does
            boxed = (self.size, box)
            read = _core.read_by(boxed, (width, height), bicubic)
            part = self._part(*read)
        source = Source.resized(part, width, height, (bicubic, pillow13, boxed))
        view = View(source, (0, 0, height, width), self.mode, fourth=0)
        if source.nbytes > view.pillow_bytes:
            source.pixels()
        return view

    def _lean(self) -> View:
        """The same view; of pixels of its own where what it comes from is larger than Pillow's."""
        if self.source.nbytes <= self.pillow_bytes:
            return self
        pixels = self.source.pixels().planes(self.rect, self.turn, self.gray)
        rect = (0, 0, pixels.height, pixels.width)
        return View(Source(pixels), rect, self.mode, fourth=self.fourth)

    def interleaved(self) -> bytes:
        """Its pixels as Pillow's tobytes() gives them."""
        size = 3 if self.mode == "RGB" else 1
        return self.source.pixels().interleaved(self.rect, self.turn, self.gray, size, 0)

    def to_floats(self, out: Any) -> None:
        """Its pixels divided by 255, into an array of (channels, height, width)."""
        self.source.pixels().to_floats(self.rect, self.turn, self.gray, out)

    def to_bytes(self, out: Any) -> None:
        """Its pixels as `interleaved` gives them, into a flat array."""
        size = 3 if self.mode == "RGB" else 1
        self.source.pixels().to_bytes(self.rect, self.turn, self.gray, size, out)

    def to_normalized(self, mean: Any, std: Any, out: Any, planes: bool) -> None:
        """Its pixels as numbers, into a flat array.

        `planes`: plane after plane, as torchvision's first interface makes them; else pixel after
        pixel, as its second one.
        """
        part = (self.rect, self.turn, self.gray)
        self.source.pixels().to_normalized(*part, mean, std, out, planes)

    def for_pillow(self) -> tuple[bytes, str]:
        """Its pixels as Pillow holds them, and the raw mode by which it takes them."""
        if self.mode == "L":
            return self.interleaved(), "L"
        pixels = self.source.pixels()
        return pixels.interleaved(self.rect, self.turn, self.gray, 4, self.fourth), "RGBX"
