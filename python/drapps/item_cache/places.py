"""Arrays and tensors that lie in memory with others of the same value, in blocks."""

from __future__ import annotations

import ctypes
import struct
from typing import Any

import numpy as np

from drapps.item_cache import dtypes
from drapps.item_cache.blocks import DamagedBlockError, NotKept, Reader, ReadOne, Writer
from drapps.item_cache.memory import Extent, extent_of


def is_written_array(writer: Writer, value: np.ndarray[Any, Any]) -> bool:
    """Notes an array; writes it where it is known to lie with others."""
    extent = extent_of(value.ctypes.data, value.shape, value.strides, value.itemsize)
    return _is_written(writer, value, extent, b"A", dtypes.text_of(value.dtype))


def is_written_tensor(writer: Writer, value: Any) -> bool:
    """Notes a tensor; writes it where it is known to lie with others."""
    size, storage = value.element_size(), value.untyped_storage().data_ptr()
    strides = tuple(stride * size for stride in value.stride())
    extent = extent_of(value.data_ptr(), tuple(value.shape), strides, size, storage)
    return _is_written(writer, value, extent, b"X", dtypes.text_of_torchs(value.dtype))


def _is_written(writer: Writer, value: Any, extent: Extent | None, tag: bytes, dtype: str) -> bool:
    if extent is None:
        return False
    buffer = writer.memory.buffer_of(extent)
    if buffer is None:
        writer.memory.add(extent)
        return False
    count, place = len(extent.shape), buffer.place_of(extent.first)
    if extent.storage is not None and place % extent.itemsize:
        raise NotKept("it holds a tensor between the addresses of its dtype")
    steps = struct.pack(f"<{count}Q{count}qQ", *extent.shape, *extent.strides, place)
    writer.tag(tag, bytes([count]), steps)
    writer.text(dtype)
    writer.buffer(buffer)
    writer.written(value)
    return True


def _make_buffer(is_torchs: bool, data: memoryview) -> Any:
    source = np.frombuffer(data, np.uint8)
    if not is_torchs:
        return source.copy()
    import torch

    tensor = torch.empty(data.nbytes, dtype=torch.uint8, device="cpu")
    ctypes.memmove(tensor.data_ptr(), source.ctypes.data, data.nbytes)
    return tensor


def _read_place(reader: Reader) -> tuple[tuple[int, ...], tuple[int, ...], int, str, Any]:
    """Extents, strides and place of an array in a buffer, its dtype and the buffer."""
    (count,) = reader.take(1)
    numbers = struct.unpack(f"<{count}Q{count}qQ", reader.take(16 * count + 8))
    text = reader.text()
    return numbers[:count], numbers[count:-1], numbers[-1], text, reader.buffer(_make_buffer)


def _read_array(reader: Reader) -> Any:
    shape, strides, place, text, buffer = _read_place(reader)
    memory = buffer if isinstance(buffer, np.ndarray) else buffer.numpy()
    return reader.register(np.ndarray(shape, dtypes.numpys(text), memory, place, strides))


def _read_tensor(reader: Reader) -> Any:
    import torch

    shape, strides, place, text, buffer = _read_place(reader)
    size = dtypes.torchs(text).itemsize
    steps = [step // size for step in strides]
    last = sum((extent - 1) * stride for extent, stride in zip(shape, strides, strict=True))
    if not isinstance(buffer, torch.Tensor) or 0 in shape or min(strides, default=0) < 0:
        raise DamagedBlockError("a tensor lies in no storage")
    if place % size or any(step % size for step in strides) or place + last + size > buffer.nbytes:
        raise DamagedBlockError("a tensor lies beyond its storage")
    tensor = torch.empty(0, dtype=dtypes.torchs(text), device="cpu")
    return reader.register(tensor.set_(buffer.untyped_storage(), place // size, shape, steps))


READERS: dict[bytes, ReadOne] = {b"A": _read_array, b"X": _read_tensor}
