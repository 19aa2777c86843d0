"""One value as one block of bytes, without pickle: structure first, then the data of arrays.

A value is written as a tag and what follows from it. Whatever is larger than a few bytes lies
behind the structure, aligned, and is named by its place there. The structure has a checksum: of a
block that was overwritten it is an error, and never anything else, to read it.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from drapps.item_cache.memory import Buffer, Memory

ALIGNMENT = 16
_MAGIC = b"drv1"
_HEAD = struct.Struct("<4sBxxxIQ")  # magic, mark, bytes of structure, bytes of data
_SUM = struct.Struct("<I")  # behind the head: a checksum of head and structure
_DEEPEST = 64
_SIZE, _PLACE = struct.Struct("<I"), struct.Struct("<QQ")

WriteOne = Callable[["Writer", Any], None]
ReadOne = Callable[["Reader"], Any]


class NotKept(Exception):  # noqa: N818 - a verdict, not an error
    """Why a value is not kept: words that can follow "because"."""


class UnknownHere(Exception):  # noqa: N818 - a verdict, not an error
    """A value of a class that this process cannot find."""


class DamagedBlockError(ValueError):
    """A block that was not written like this; something else has written over it."""


def _aligned(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT


class Writer:
    """Takes a value in; `write` then puts it into a block of `nbytes`."""

    def __init__(self, writer_of: Callable[[type], WriteOne], memory: Memory) -> None:
        """`writer_of` gives how values of a class are written; `memory` knows their arrays."""
        self._writer_of = writer_of
        self.memory = memory
        self._buffers: dict[int, int] = {}  # by identity: which one of the memory's buffers it is
        self._structure = bytearray()
        self._parts: list[tuple[int, memoryview]] = []
        self._data = 0
        self._depth = 0
        self._known: dict[int, int] = {}  # objects that can change: which one of them it is
        self._within: set[int] = set()

    @property
    def nbytes(self) -> int:
        """Bytes of the block."""
        return _aligned(_HEAD.size + _SUM.size + len(self._structure)) + self._data

    def write(self, room: memoryview, mark: int) -> None:
        """Fills a block.

        Args:
            room: `nbytes` bytes.
            mark: a number below 256, see `marked`.
        """
        head = _HEAD.pack(_MAGIC, mark, len(self._structure), self._data)
        start = len(head) + _SUM.size
        room[: len(head)] = head
        room[len(head) : start] = _SUM.pack(zlib.crc32(self._structure, zlib.crc32(head)))
        room[start : start + len(self._structure)] = self._structure
        begin = _aligned(start + len(self._structure))
        for place, part in self._parts:
            room[begin + place : begin + place + part.nbytes] = part

    def value(self, value: Any) -> None:
        """Any value."""
        self._writer_of(type(value))(self, value)

    def tag(self, tag: bytes, *packed: bytes) -> None:
        """A tag, and what follows from it."""
        self._structure += tag
        for part in packed:
            self._structure += part

    def text(self, text: str) -> None:
        """A string without a tag."""
        data = text.encode("utf-8", "surrogatepass")
        self._structure += _SIZE.pack(len(data))
        self._structure += data

    def size(self, size: int) -> None:
        """A number below 2**32."""
        self._structure += _SIZE.pack(size)

    def data(self, data: Any) -> None:
        """The bytes of a contiguous buffer, behind the structure."""
        part = memoryview(data).cast("B")
        self._structure += _PLACE.pack(self._data, part.nbytes)
        if part.nbytes:
            self._parts.append((self._data, part))
            self._data = _aligned(self._data + part.nbytes)

    def buffer(self, buffer: Buffer) -> None:
        """What several arrays lie in: its bytes, the first time."""
        is_new = id(buffer) not in self._buffers
        self.size(self._buffers.setdefault(id(buffer), len(self._buffers)))
        if is_new:
            self.tag(b"x" if buffer.is_torchs else b"a")
            self.data(buffer.data())

    def again(self, value: Any) -> bool:
        """Whether an object that can change was written before, and is now referred to."""
        number = self._known.get(id(value))
        if number is None:
            return False
        self.tag(b"r", _SIZE.pack(number))
        return True

    def written(self, value: Any) -> None:
        """An object that can change is complete."""
        self._known[id(value)] = len(self._known)

    def values(self, owner: Any, values: Iterable[Any]) -> None:
        """What is within a container."""
        if id(owner) in self._within:
            raise NotKept("it holds itself")
        if self._depth == _DEEPEST:
            raise NotKept(f"it is nested more than {_DEEPEST} times")
        self._within.add(id(owner))
        self._depth += 1
        for value in values:
            self.value(value)
        self._depth -= 1
        self._within.discard(id(owner))


class Reader:
    """Makes a value of a block: a new one each time, which shares no memory with it."""

    def __init__(self, block: memoryview, readers: Mapping[int, ReadOne]) -> None:
        """Looks at the block.

        Args:
            block: what `Writer.write` has filled.
            readers: how a value is read, by tag.

        Raises:
            DamagedBlockError: it is no such block.
        """
        start = _HEAD.size + _SUM.size
        if len(block) < start:
            raise DamagedBlockError(f"a block of {len(block)} bytes is none")
        magic, _, structure, data = _HEAD.unpack_from(block)
        begin = _aligned(start + structure)
        if magic != _MAGIC or begin + data != len(block):
            raise DamagedBlockError("the head of a block is damaged")
        self._structure = bytes(block[start : start + structure])
        (expected,) = _SUM.unpack_from(block, _HEAD.size)
        if zlib.crc32(self._structure, zlib.crc32(block[: _HEAD.size])) != expected:
            raise DamagedBlockError("the structure of a block is damaged")
        self._data = block[begin:]
        self._at = 0
        self._readers = readers
        self._known: list[Any] = []
        self._buffers: list[Any] = []

    def value(self) -> Any:
        """The next value."""
        self._at += 1
        return self._readers[self._structure[self._at - 1]](self)

    def take(self, count: int) -> bytes:
        """So many bytes of the structure."""
        chunk = self._structure[self._at : self._at + count]
        if len(chunk) < count:
            raise DamagedBlockError("a block ends within a value")
        self._at += count
        return chunk

    def unpack(self, form: struct.Struct) -> tuple[Any, ...]:
        """Numbers of the structure."""
        return form.unpack(self.take(form.size))

    def text(self) -> str:
        """What `Writer.text` wrote."""
        return self.take(self.size()).decode("utf-8", "surrogatepass")

    def size(self) -> int:
        """What `Writer.size` wrote."""
        return int(self.unpack(_SIZE)[0])

    def data(self) -> memoryview:
        """What `Writer.data` wrote, where it lies."""
        place, nbytes = self.unpack(_PLACE)
        view = self._data[place : place + nbytes]
        if len(view) < nbytes:
            raise DamagedBlockError("a block ends within an array")
        return view

    def buffer(self, make: Callable[[bool, memoryview], Any]) -> Any:
        """What `Writer.buffer` wrote, of which `make` makes an array: of torch, or of NumPy."""
        number = self.size()
        if number == len(self._buffers):
            self._buffers.append(make(self.take(1) == b"x", self.data()))
        return self._buffers[number]

    def register(self, value: Any) -> Any:
        """An object that can change is complete."""
        self._known.append(value)
        return value

    def known(self) -> Any:
        """An object that was made before, and is referred to."""
        return self._known[self.size()]


def marked(block: memoryview) -> int:
    """The mark that a block was written with; -1 where it is none."""
    return block[4] if len(block) > _HEAD.size else -1
