"""What a dataset returns, as a block of bytes and back.

Kept are None, numbers, strings, bytes, arrays and scalars of NumPy, tensors of torch, pictures of
Pillow, and tuples, named tuples, lists and dicts of these: of exactly these classes, since of
others nobody knows what a copy of them is. What is made of a block is equal to the original in
class, value, dtype and order in memory, and may be written to: its arrays share memory with each
other as the original's do, and with nothing else.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

from drapps.item_cache import arrays, pictures, places, plain
from drapps.item_cache.blocks import (
    DamagedBlockError,
    NotKept,
    Reader,
    UnknownHere,
    WriteOne,
    Writer,
    marked,
)
from drapps.item_cache.memory import Memory

__all__ = ["DamagedBlockError", "NotKept", "UnknownHere", "Writer", "marked", "value_in", "written"]

_LEARN: tuple[Callable[[type], WriteOne | None], ...] = (
    arrays.writer_of,
    pictures.writer_of,
    plain.named_tuple,
)
_writers = dict(plain.WRITERS)
_READERS = {
    tag[0]: read
    for readers in (plain.READERS, arrays.READERS, places.READERS, pictures.READERS)
    for tag, read in readers.items()
}
_DAMAGE = (AttributeError, LookupError, TypeError, ValueError, ArithmeticError, MemoryError)


def _writer_of(kind: type) -> WriteOne:
    writer = _writers.get(kind)
    if writer is None:
        writer = next(filter(None, (learn(kind) for learn in _LEARN)), None)
        if writer is None:
            raise NotKept(f"it holds a {kind.__module__}.{kind.__qualname__}")
        _writers[kind] = writer
    return writer


def written(value: Any) -> Writer:
    """A value, ready to be put into a block.

    Raises:
        NotKept: it is, or holds, something of another class.
    """
    memory = Memory()
    writer = Writer(_writer_of, memory)
    writer.value(value)
    if memory.has_picture():
        raise NotKept("it holds a picture, and an array with the pixels of that")
    if memory.share():
        writer = Writer(_writer_of, memory)
        writer.value(value)
    return writer


def value_in(block: memoryview) -> Any:
    """A new object that is equal to the one that was written to the block.

    Raises:
        DamagedBlockError: the block was overwritten since.
        UnknownHere: it is of a class that this process cannot find.
    """
    try:
        return Reader(block, _READERS).value()
    except (*_DAMAGE, struct.error, RecursionError) as error:
        if isinstance(error, DamagedBlockError):
            raise
        raise DamagedBlockError(f"a block is damaged: {error}") from error
