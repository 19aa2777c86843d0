"""Operations on tensors of sizes, by the names of TensorFlow's graphs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from drapps.tensorflow.lengths import elementwise, holds_length, reshaped
from drapps.tensorflow.report import NotLifted

ELEMENTWISE: dict[str, Callable[..., Any]] = {
    "Abs": np.abs,
    "Add": np.add,
    "AddV2": np.add,
    "Ceil": np.ceil,
    "Equal": np.equal,
    "Floor": np.floor,
    "Greater": np.greater,
    "GreaterEqual": np.greater_equal,
    "Less": np.less,
    "LessEqual": np.less_equal,
    "LogicalAnd": np.logical_and,
    "LogicalNot": np.logical_not,
    "LogicalOr": np.logical_or,
    "Maximum": np.maximum,
    "Minimum": np.minimum,
    "Mul": np.multiply,
    "Neg": np.negative,
    "NotEqual": np.not_equal,
    "RealDiv": np.true_divide,
    "Rint": np.rint,
    "Round": np.rint,
    "SelectV2": np.where,
    "Sub": np.subtract,
}
DIVISIONS = {"FloorDiv": np.floor_divide, "FloorMod": np.mod}


def compute(op: tf.Operation, inputs: list[Any]) -> list[Any]:
    """The outputs of an operation of which at least one input depends on the picture's size.

    Raises:
        NotLifted: it is not known.
    """
    if op.type in ELEMENTWISE:
        return [elementwise(ELEMENTWISE[op.type], *inputs)]
    if op.type in DIVISIONS:
        if holds_length(inputs[1]) or not inputs[1].all():
            raise NotLifted(f"{op.type} ({op.name}) divides by a size")
        return [elementwise(DIVISIONS[op.type], *inputs)]
    if op.type == "Cast":
        target = op.outputs[0].dtype.as_numpy_dtype
        return [elementwise(lambda value: value.astype(target), *inputs)]
    if op.type in STRUCTURAL:
        return STRUCTURAL[op.type](op, inputs)
    raise NotLifted(f"{op.type} ({op.name}) computes with the picture's size")


def _constant(op: tf.Operation, value: Any) -> Any:
    if holds_length(value):
        raise NotLifted(f"{op.type} ({op.name}) takes a place from the picture's size")
    return value


def strided_slice(op: tf.Operation, tensor: Any, begin: Any, end: Any, strides: Any) -> Any:
    """An array indexed as the masks of a StridedSlice say, all of which are constant."""
    masks = {
        name: op.get_attr(f"{name}_mask")
        for name in ("begin", "end", "shrink_axis", "ellipsis", "new_axis")
    }
    index: list[Any] = []
    for axis, (first, last, step) in enumerate(zip(begin, end, strides, strict=True)):
        bit = 1 << axis
        if masks["ellipsis"] & bit:
            index.append(Ellipsis)
        elif masks["new_axis"] & bit:
            index.append(None)
        elif masks["shrink_axis"] & bit:
            index.append(int(first))
        else:
            start = None if masks["begin"] & bit else int(first)
            index.append(slice(start, None if masks["end"] & bit else int(last), int(step)))
    return np.asarray(tensor[tuple(index)], tensor.dtype)


def _strided_slice(op: tf.Operation, inputs: list[Any]) -> list[Any]:
    places = [_constant(op, value) for value in inputs[1:]]
    return [_tidy(strided_slice(op, inputs[0], *places))]


def _pack(op: tf.Operation, inputs: list[Any]) -> list[Any]:
    return [np.stack(_alike(inputs), op.get_attr("axis"))]


def _concat(op: tf.Operation, inputs: list[Any]) -> list[Any]:
    return [np.concatenate(_alike(inputs[:-1]), int(_constant(op, inputs[-1])))]


def _unpack(op: tf.Operation, inputs: list[Any]) -> list[Any]:
    axis = op.get_attr("axis")
    parts = np.moveaxis(inputs[0], axis, 0)
    return [_tidy(np.asarray(part, inputs[0].dtype)) for part in parts]


def _reshape(op: tf.Operation, inputs: list[Any]) -> list[Any]:
    return [inputs[0].reshape([int(n) for n in _constant(op, inputs[1])])]


def _gather(op: tf.Operation, inputs: list[Any]) -> list[Any]:
    axis = int(_constant(op, inputs[2]))
    return [_tidy(np.asarray(np.take(inputs[0], _constant(op, inputs[1]), axis)))]


def _same(_op: tf.Operation, inputs: list[Any]) -> list[Any]:
    return [inputs[0]]


def _expand(op: tf.Operation, inputs: list[Any]) -> list[Any]:
    return [np.expand_dims(inputs[0], int(_constant(op, inputs[1])))]


def _squeeze(op: tf.Operation, inputs: list[Any]) -> list[Any]:
    return [np.squeeze(inputs[0], tuple(op.get_attr("squeeze_dims")) or None)]


def _alike(tensors: list[Any]) -> list[Any]:
    if any(holds_length(tensor) for tensor in tensors):
        return [tensor.astype(object) for tensor in tensors]
    return tensors


def _tidy(tensor: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return reshaped(list(tensor.reshape(-1)), tensor.shape)


STRUCTURAL: dict[str, Callable[[tf.Operation, list[Any]], list[Any]]] = {
    "ConcatV2": _concat,
    "ExpandDims": _expand,
    "GatherV2": _gather,
    "Identity": _same,
    "Pack": _pack,
    "Reshape": _reshape,
    "Squeeze": _squeeze,
    "StridedSlice": _strided_slice,
    "Unpack": _unpack,
}
