"""Which arrays of one value lie in the same memory.

Those that have bytes in common, and tensors of one storage, are written as places in a buffer that
they share. All others have their bytes to themselves.
"""

from __future__ import annotations

import ctypes
import itertools
import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

_ALIGNMENT = 64  # by which an address and its place in a buffer have the same remainder
_WASTE = 4096  # bytes between elements that do no harm


@dataclass(frozen=True)
class Extent:
    """Where the elements of an array lie.

    Attributes:
        begin: the lowest address.
        end: the address behind the highest.
        first: the address of the first element.
        shape: elements along each axis.
        strides: bytes from one to the next.
        itemsize: bytes of an element.
        storage: a number that tensors of one storage have in common; None of others.
    """

    begin: int
    end: int
    first: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    itemsize: int
    storage: int | None

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return math.prod(self.shape) * self.itemsize

    def shares_with(self, other: Extent) -> bool:
        """Whether they have bytes in common, as far as can be found out with little work."""
        shares: Any = np.shares_memory
        try:
            return bool(shares(self._elements(), other._elements(), max_work=1000))
        except (np.exceptions.TooHardError, OverflowError):
            return True

    def _elements(self) -> Any:
        whole = _bytes_at(self.begin, self.end)
        offset = self.first - self.begin
        kind = np.dtype((np.void, self.itemsize))
        return np.ndarray(self.shape, kind, whole, offset, self.strides)


def extent_of(
    address: int,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    itemsize: int,
    storage: int | None = None,
) -> Extent | None:
    """The extent of an array by what NumPy and torch tell of it; None where it has no elements."""
    if 0 in shape:
        return None
    steps = [(size - 1) * stride for size, stride in zip(shape, strides, strict=True)]
    begin = address + sum(step for step in steps if step < 0)
    end = address + sum(step for step in steps if step > 0) + itemsize
    return Extent(begin, end, address, shape, strides, itemsize, storage)


@dataclass
class Buffer:
    """What several arrays lie in.

    Attributes:
        parts: ranges of addresses, in order, and where each begins in the buffer.
        is_torchs: a tensor lies in it.
        nbytes: of all.
    """

    parts: list[tuple[int, int, int]] = field(default_factory=list)
    is_torchs: bool = False
    nbytes: int = 0

    def add(self, extents: list[Extent]) -> None:
        """Takes extents in, in the order of their addresses."""
        self.is_torchs = any(one.storage is not None for one in extents)
        for one in extents:
            begin, end, place = self.parts[-1] if self.parts else (0, 0, 0)
            if self.parts and one.begin < end:
                end = max(end, one.end)
                self.parts[-1] = (begin, end, place)
            else:
                end = one.end
                place = self.nbytes + (one.begin - self.nbytes) % _ALIGNMENT
                self.parts.append((one.begin, end, place))
            self.nbytes = place + end - self.parts[-1][0]

    def place_of(self, address: int) -> int:
        """Where the byte of an address lies."""
        return next(
            place + address - begin for begin, end, place in self.parts if begin <= address < end
        )

    def data(self) -> Any:
        """All bytes, as they are now."""
        array = np.zeros(self.nbytes, np.uint8)
        for begin, end, place in self.parts:
            array[place : place + end - begin] = _bytes_at(begin, end)
        return array


class Memory:
    """Memory of one value: its arrays are told, and where some share, each is asked about again."""

    def __init__(self) -> None:
        """Knows of no array."""
        self._extents: list[Extent] = []
        self._pictures: list[bytes] = []
        self._buffers: dict[Extent, Buffer] = {}

    def add(self, extent: Extent) -> None:
        """An array, of at least one byte."""
        self._extents.append(extent)

    def add_picture(self, pixels: bytes) -> None:
        """A picture that may lie over the memory of an array, and cannot say of which."""
        self._pictures.append(pixels)

    def buffer_of(self, extent: Extent) -> Buffer | None:
        """What an array lies in together with others, or with itself."""
        return self._buffers.get(extent)

    def has_picture(self) -> bool:
        """Whether a picture seems to lie over an array: its pixels are there."""
        return any(
            bytes(_bytes_at(one.begin, one.end)).find(pixels) >= 0
            for pixels in self._pictures
            for one in self._extents
        )

    def share(self) -> bool:
        """Finds out what lies together; False where nothing does."""
        for together in self._groups():
            alone = len(together) == 1 and together[0].nbytes <= together[0].end - together[0].begin
            buffer = Buffer()
            buffer.add(together)
            dense = sum(one.nbytes for one in together)
            if alone or (buffer.nbytes > 2 * dense + _WASTE and not _shares(together)):
                continue
            self._buffers.update(dict.fromkeys(together, buffer))
        return bool(self._buffers)

    def _groups(self) -> list[list[Extent]]:
        """What has bytes, or a storage, in common; each in the order of addresses."""
        extents = sorted(self._extents, key=lambda one: (one.begin, one.end))
        groups: list[list[Extent]] = []
        by_storage: dict[int, list[Extent]] = {}
        last: list[Extent] = []
        end = 0
        for one in extents:
            mine = by_storage.get(one.storage, []) if one.storage is not None else []
            if one.begin < end and last is not mine:
                last.extend(mine)
                mine.clear()
                for other in last:
                    if other.storage is not None:
                        by_storage[other.storage] = last
                mine = last
            elif not mine:
                mine = []
                groups.append(mine)
            mine.append(one)
            if one.storage is not None:
                by_storage[one.storage] = mine
            if one.end > end:
                last, end = mine, one.end
        return [sorted(group, key=lambda one: one.begin) for group in groups if group]


def _shares(together: list[Extent]) -> bool:
    return any(one.shares_with(other) for one, other in itertools.combinations(together, 2))


def _bytes_at(begin: int, end: int) -> Any:
    memory: Any = (ctypes.c_ubyte * (end - begin)).from_address(begin)
    return np.frombuffer(memory, np.uint8)
