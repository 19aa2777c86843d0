"""Operations that move a picture's values: each takes it, and its other, size-like inputs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import tensorflow as tf

from drapps.tensorflow.lengths import Length, apply, holds_length, reshaped
from drapps.tensorflow.picture import CHANNELS, Picture
from drapps.tensorflow.report import NotLifted

Require = Callable[[Any], None]  # notes the sizes for which a condition is false as an error


def _shape(_require: Require, op: tf.Operation, picture: Picture) -> Any:
    target = op.outputs[0].dtype.as_numpy_dtype
    shape = [apply(lambda value: value.astype(target), size) for size in picture.shape]
    return reshaped(shape, (len(shape),))


def _expand_dims(_require: Require, op: tf.Operation, picture: Picture, axis: Any) -> Picture:
    if picture.batched or holds_length(axis) or int(axis) not in (0, -4):
        raise NotLifted(f"{op.type} ({op.name}) adds an axis elsewhere than in front")
    return replace(picture, batched=True)


def _squeeze(_require: Require, op: tf.Operation, picture: Picture) -> Picture:
    if not picture.batched or list(op.get_attr("squeeze_dims")) not in ([0], [-4]):
        raise NotLifted(f"{op.type} ({op.name}) removes an axis other than the first")
    return replace(picture, batched=False)


def _places(op: tf.Operation, picture: Picture, *tensors: Any) -> list[list[Any]]:
    """The elements of vectors over the picture's axes for rows, columns and channels."""
    for tensor in tensors:
        if len(tensor) != 3 + picture.batched:
            raise NotLifted(f"{op.type} ({op.name}) is given {len(tensor)} places")
    return [list(tensor[-3:]) for tensor in tensors]


def _slice(require: Require, op: tf.Operation, picture: Picture, begin: Any, size: Any) -> Picture:
    begins, lengths = _places(op, picture, begin, size)
    if begins[2] != 0 or lengths[2] not in (-1, CHANNELS):
        raise NotLifted(f"{op.type} ({op.name}) takes some of the channels")
    for axis in (0, 1):
        whole = picture.windows[axis].size
        # -1, which is "to the end", may only be said, not computed.
        open_end = not isinstance(lengths[axis], Length) and lengths[axis] == -1
        end = whole if open_end else apply(np.add, begins[axis], lengths[axis])
        require(apply(np.greater_equal, begins[axis], np.int32(0)))
        require(apply(np.greater_equal, apply(np.subtract, end, begins[axis]), np.int32(0)))
        require(apply(np.less_equal, end, whole))
        picture = picture.moved(axis, picture.windows[axis].cut(begins[axis], end))
    return picture


def _strided_slice(
    _require: Require, op: tf.Operation, picture: Picture, begin: Any, end: Any, strides: Any
) -> Picture:
    masks = {name: op.get_attr(f"{name}_mask") for name in ("begin", "end", "ellipsis")}
    if picture.batched or op.get_attr("new_axis_mask") or op.get_attr("shrink_axis_mask"):
        raise NotLifted(f"{op.type} ({op.name}) changes the number of axes")
    if masks["ellipsis"] or holds_length(strides):
        raise NotLifted(f"{op.type} ({op.name}) has an ellipsis or a computed stride")
    for axis, stride in enumerate(int(s) for s in strides):
        whole = picture.windows[axis].size if axis < 2 else np.int32(CHANNELS)
        open_begin, open_end = (bool(masks[name] & (1 << axis)) for name in ("begin", "end"))
        if stride == -1 and open_begin and open_end and axis < 2:
            picture = _mirror(picture, axis)
            continue
        if stride != 1:
            raise NotLifted(f"{op.type} ({op.name}) has a stride of {stride}")
        first = np.int32(0) if open_begin else apply(_clamp, begin[axis], whole)
        last = whole if open_end else apply(np.maximum, apply(_clamp, end[axis], whole), first)
        if axis == 2:
            if first != 0 or last != CHANNELS:
                raise NotLifted(f"{op.type} ({op.name}) takes some of the channels")
        else:
            picture = picture.moved(axis, picture.windows[axis].cut(first, last))
    return picture


def _clamp(place: Any, size: Any) -> Any:
    """A place of a slice as Python counts: from the end where negative, and within the size."""
    return np.clip(np.where(place < 0, place + size, place), 0, size).astype(np.int32)


def _mirror(picture: Picture, axis: int) -> Picture:
    window = picture.windows[axis]
    return picture.moved(axis, replace(window, mirrored=not window.mirrored))


def _reverse(_require: Require, op: tf.Operation, picture: Picture, axes: Any) -> Picture:
    rank = 3 + picture.batched
    for axis in axes:
        place = int(axis) % rank - picture.batched
        if place not in (0, 1):
            raise NotLifted(f"{op.type} ({op.name}) reverses the channels")
        picture = _mirror(picture, place)
    return picture


def _pad(
    require: Require, op: tf.Operation, picture: Picture, borders: Any, fill: Any = 0
) -> Picture:
    if np.any(fill != 0):
        raise NotLifted(f"{op.type} ({op.name}) puts {fill} around the picture, not zeros")
    before, after = _places(op, picture, borders[:, 0], borders[:, 1])
    others = [*borders.reshape(-1)[: 2 * picture.batched], before[2], after[2]]
    if any(isinstance(n, Length) or n != 0 for n in others):
        raise NotLifted(f"{op.type} ({op.name}) adds channels")
    for axis in (0, 1):
        for border in (before[axis], after[axis]):
            require(apply(np.greater_equal, border, np.int32(0)))
        picture = picture.padded(axis, before[axis], after[axis])
    return picture


def _ensure_shape(require: Require, op: tf.Operation, picture: Picture) -> Picture:
    wanted = tf.TensorShape(op.get_attr("shape"))
    if wanted.rank is None:
        return picture
    if wanted.rank != len(picture.shape):
        raise NotLifted(f"{op.type} ({op.name}) fails for every picture")
    for size, length in zip(picture.shape, wanted, strict=True):
        if length is not None:
            require(apply(np.equal, size, np.int32(length)))
    return picture


MOVES: dict[str, Callable[..., Any]] = {
    "EnsureShape": _ensure_shape,
    "ExpandDims": _expand_dims,
    "Pad": _pad,
    "PadV2": _pad,
    "ReverseV2": _reverse,
    "Shape": _shape,
    "Slice": _slice,
    "Squeeze": _squeeze,
    "StridedSlice": _strided_slice,
}
