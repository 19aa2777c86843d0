"""Arrays and scalars of NumPy and tensors of torch in blocks.

What is made of a block has the order in memory that the original had: C, Fortran, channels last, or
any other permutation. What had gaps between its elements has none, unless it shares its memory with
another array of the sample.
"""

from __future__ import annotations

import ctypes
import math
import struct
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from drapps.item_cache import dtypes
from drapps.item_cache.blocks import DamagedBlockError, NotKept, Reader, ReadOne, WriteOne, Writer
from drapps.item_cache.places import is_written_array, is_written_tensor

_AXES = bytes(range(64))


def _order_of(strides: Sequence[int]) -> list[int]:
    """The axes, the outermost in memory first."""
    return sorted(range(len(strides)), key=lambda axis: -abs(strides[axis]))


def _shape(writer: Writer, shape: Sequence[int], order: Sequence[int]) -> None:
    extents = struct.pack(f"<{len(order)}Q", *(shape[axis] for axis in order))
    writer.tag(bytes([len(order)]), extents, bytes(order))


def _read_shape(reader: Reader) -> tuple[tuple[int, ...], bytes]:
    """Extents and axes, the outermost in memory first."""
    (count,) = reader.take(1)
    shape = struct.unpack(f"<{count}Q", reader.take(8 * count))
    order = reader.take(count)
    if order != _AXES[:count] and bytes(sorted(order)) != _AXES[:count]:
        raise DamagedBlockError("an array has axes that are none")
    return shape, order


def _in_axes(value: Any, order: bytes, permute: str) -> Any:
    """The array whose axes stand in `value` in this `order`, with its axes in their own order."""
    if order == _AXES[: len(order)]:
        return value
    return getattr(value, permute)([order.index(axis) for axis in range(len(order))])


def _data_for(reader: Reader, shape: Sequence[int], itemsize: int) -> memoryview:
    data = reader.data()
    if data.nbytes != math.prod(shape) * itemsize:
        raise DamagedBlockError("an array is not as large as it says")
    return data


def _write_array(writer: Writer, value: np.ndarray[Any, Any]) -> None:
    if writer.again(value):
        return
    if is_written_array(writer, value):
        return
    order = list(range(value.ndim)) if value.flags.c_contiguous else _order_of(value.strides)
    writer.tag(b"a")
    writer.text(dtypes.text_of(value.dtype))
    _shape(writer, value.shape, order)
    dense = np.ascontiguousarray(value.transpose(order)).reshape(-1)
    writer.data(dense.view(np.uint8) if dense.nbytes else b"")
    writer.written(value)


def _read_array(reader: Reader) -> Any:
    dtype = dtypes.numpys(reader.text())
    shape, order = _read_shape(reader)
    data = _data_for(reader, shape, dtype.itemsize)
    flat = np.empty(math.prod(shape), dtype)
    if data.nbytes:
        flat.view(np.uint8)[:] = data
    return reader.register(_in_axes(flat.reshape(shape), order, "transpose"))


def _write_scalar(writer: Writer, value: np.generic) -> None:
    array = np.asarray(value)  # an empty string has a byte there
    text = dtypes.text_of(array.dtype)
    writer.tag(b"g")
    writer.text(text)
    writer.data(array.tobytes())


def _read_scalar(reader: Reader) -> Any:
    dtype = dtypes.numpys(reader.text())
    return np.frombuffer(bytes(_data_for(reader, (), dtype.itemsize)), dtype)[0]


def _write_tensor(writer: Writer, value: Any) -> None:
    if writer.again(value):
        return
    torch = sys.modules["torch"]
    if value.is_nested:  # of which most other questions are errors
        raise NotKept("it holds a tensor that is nested")
    for what, applies in (
        ("that requires a gradient", value.requires_grad),
        (f"on {value.device}", value.device.type != "cpu"),
        (f"of layout {value.layout}", value.layout is not torch.strided),
        ("that is quantized", value.is_quantized),
        ("that is a view of another's conjugate or negative", value.is_conj() or value.is_neg()),
        ("of inference mode", value.is_inference()),
        ("with named dimensions", any(getattr(value, "names", ()))),
        ("with attributes", bool(vars(value))),
    ):
        if applies:
            raise NotKept(f"it holds a tensor {what}")
    if is_written_tensor(writer, value):
        return
    order = list(range(value.dim())) if value.is_contiguous() else _order_of(value.stride())
    writer.tag(b"x")
    writer.text(dtypes.text_of_torchs(value.dtype))
    _shape(writer, value.shape, order)
    dense = value.permute(order).contiguous()
    # NumPy need not have the dtype.
    writer.data(dense.reshape(-1).view(torch.uint8).numpy() if dense.numel() else b"")
    writer.written(value)


def _read_tensor(reader: Reader) -> Any:
    import torch

    dtype = dtypes.torchs(reader.text())
    shape, order = _read_shape(reader)
    data = _data_for(reader, shape, dtype.itemsize)
    tensor = torch.empty(shape, dtype=dtype, device="cpu")
    # A tensor whose memory NumPy has seen cannot be resized any more.
    source = np.frombuffer(data, np.uint8).__array_interface__["data"][0] if data.nbytes else 0
    ctypes.memmove(tensor.data_ptr(), source, data.nbytes)
    return reader.register(_in_axes(tensor, order, "permute"))


def writer_of(kind: type) -> WriteOne | None:
    """How values of a class of NumPy or torch are written; None for any other class."""
    if kind is np.ndarray:
        return _write_array
    if issubclass(kind, np.generic):
        return _write_scalar if kind.__module__ == "numpy" and kind is not np.void else None
    torch = sys.modules.get("torch")
    return _write_tensor if torch is not None and kind is torch.Tensor else None


READERS: dict[bytes, ReadOne] = {
    b"a": _read_array,
    b"g": _read_scalar,
    b"x": _read_tensor,
}
