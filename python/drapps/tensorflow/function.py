"""What a function of a graph does to a sample: followed operation by operation, never guessed.

A tensor of the function is one of

    Field      computed from the sample's own fields alone: its path, its label
    Content    the bytes of the file that a field names
    Picture    those, decoded, and what was done to the pixels since
    an array   constant, or computed from the picture's size (lengths.py)

What is none of these, and an operation that is not in the tables here, is a `NotLifted` that names
it. So is everything with a side effect or a state, random numbers among them, except an assertion:
that has to hold for every size of a picture, or else to fail where the native crop does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import tensorflow as tf

from drapps.tensorflow import sizes
from drapps.tensorflow.lengths import SIDES, Length, holds_length
from drapps.tensorflow.moves import MOVES
from drapps.tensorflow.picture import CHANNELS, Picture, Window
from drapps.tensorflow.report import NotLifted

CALLS = ("PartitionedCall", "StatefulPartitionedCall")
POINTWISE = (
    "Abs",
    "Add",
    "AddV2",
    "Cast",
    "Maximum",
    "Minimum",
    "Mul",
    "Neg",
    "RealDiv",
    "Square",
    "Sub",
)
READS = ("ReadFile", "Assert", *CALLS)  # operations with a state that are followed


@dataclass(frozen=True, eq=False)
class Field:
    """A value of each sample.

    Attributes:
        table: makes the value of all samples, the first axis being theirs.
    """

    table: Callable[[], np.ndarray[Any, Any]]


@dataclass(frozen=True, eq=False)
class Content:
    """The bytes of the file that `path` names."""

    path: Field


@dataclass(frozen=True, eq=False)
class Conditions:
    """What ``All`` asks of height and width, each for itself; only an assertion can use it."""

    elements: list[Any]


class Functions:
    """The functions of a graph, and what following them has found.

    Attributes:
        fails: for the height and the width, the lengths for which an assertion or a slice fails.
        lifted: how the report calls what was recognised.
        path: of the file that is decoded, once that was met.
    """

    def __init__(self, library: Any) -> None:
        self._definitions = {f.signature.name: f for f in library.function}
        self.fails = [np.zeros(SIDES.shape, bool), np.zeros(SIDES.shape, bool)]
        self.lifted: list[str] = []
        self.path: Field | None = None

    def call(self, name: str, arguments: Sequence[Any]) -> list[Any]:
        """The outputs of a function of the library.

        Raises:
            NotLifted: it does something that is not followed.
        """
        graph = _graph_of(self._definitions[name])
        values = dict(zip((t.ref() for t in graph.inputs), arguments, strict=True))
        for op in _needed(graph):
            inputs = [values[tensor.ref()] for tensor in op.inputs]
            outputs = self._run(graph, op, inputs, values)
            values.update(zip((t.ref() for t in op.outputs), outputs, strict=True))
        return [values[tensor.ref()] for tensor in graph.outputs]

    def _run(
        self, graph: tf.Graph, op: tf.Operation, inputs: list[Any], values: Mapping[Any, Any]
    ) -> list[Any]:
        if op.type in CALLS:
            return self.call(op.get_attr("f").name, inputs)
        if op.op_def.is_stateful and op.type not in READS:
            raise NotLifted(f"{op.type} ({op.name}) has a state, or draws random numbers")
        if op.type == "Assert":
            self._assert(op, inputs[0])
            return []
        if op.type == "Identity":
            return inputs
        if any(isinstance(value, Conditions) for value in inputs):
            raise NotLifted(f"{op.type} ({op.name}) looks at height and width together")
        if any(isinstance(value, (Picture, Content)) for value in inputs) or op.type == "ReadFile":
            return [self._follow(op, inputs)]
        if any(isinstance(value, Field) for value in inputs):
            return _fields(graph, op, inputs, values)
        if any(holds_length(value) for value in inputs):
            if op.type == "All" and op.outputs[0].shape.rank == 0:
                return [Conditions(list(inputs[0].reshape(-1)))]
            return sizes.compute(op, inputs)
        return _constants(op, inputs)

    def _assert(self, op: tf.Operation, condition: Any) -> None:
        if isinstance(condition, np.ndarray):
            condition = Conditions([condition.item()])
        if not isinstance(condition, Conditions):
            raise NotLifted(f"{op.type} ({op.name}) looks at a sample")
        for element in condition.elements:
            self._require(element)

    def _require(self, condition: Any) -> None:
        """Notes the sizes for which this is false as those that are an error."""
        if isinstance(condition, Length):
            self.fails[condition.axis] |= ~condition.values
        elif not condition:
            raise NotLifted("an assertion fails for every picture")

    def _follow(self, op: tf.Operation, inputs: list[Any]) -> Any:
        if op.type == "ReadFile" and isinstance(inputs[0], Field):
            return Content(inputs[0])
        if op.type == "DecodeJpeg":
            return self._decode(op, inputs[0])
        picture, rest = inputs[0], inputs[1:]
        if op.type in POINTWISE:
            return self._pointwise(op, inputs)
        if op.type not in MOVES or not isinstance(picture, Picture):
            raise NotLifted(f"{op.type} ({op.name}) is not known on pictures")
        if not all(isinstance(value, np.ndarray) for value in rest):
            raise NotLifted(f"{op.type} ({op.name}) depends on the sample")
        return MOVES[op.type](self._require, op, picture, *rest)

    def _decode(self, op: tf.Operation, content: Any) -> Picture:
        if not isinstance(content, Content):
            raise NotLifted(f"{op.type} ({op.name}) decodes no file, but what was made of one")
        wanted = {
            "channels": CHANNELS,
            "ratio": 1,
            "fancy_upscaling": True,
            "try_recover_truncated": False,
            "acceptable_fraction": 1.0,
            "dct_method": b"INTEGER_ACCURATE",
        }
        for name, value in wanted.items():
            setting = op.get_attr(name)
            if setting != value:
                shown = [v.decode() if isinstance(v, bytes) else v for v in (setting, value)]
                raise NotLifted(f"decode_jpeg has {name}={shown[0]!r}; {shown[1]!r} can be lifted")
        if self.path is not None:
            raise NotLifted("a sample decodes more than one file")
        self.path = content.path
        self.lifted.append('decode_jpeg(channels=3, dct_method="INTEGER_ACCURATE")')
        return Picture((Window.whole(0), Window.whole(1)))

    def _pointwise(self, op: tf.Operation, inputs: list[Any]) -> Picture:
        operands: list[Any] = []
        pictures = [value for value in inputs if isinstance(value, Picture)]
        if len(pictures) != 1:
            raise NotLifted(f"{op.type} ({op.name}) is not of one picture and constants")
        [picture] = pictures
        for value in inputs:
            if value is picture:
                operands.append(None)
            elif isinstance(value, np.ndarray) and not holds_length(value):
                operands.append(_per_channel(op, value))
            else:
                raise NotLifted(f"{op.type} ({op.name}) has an operand that is not constant")
        dtype = op.outputs[0].dtype
        constants = [operand for operand in operands if operand is not None]
        shown = [str(np.squeeze(constant).tolist()) for constant in constants] or [dtype.name]
        self.lifted.append(f"{op.type}({', '.join(shown)})")
        keeps_zero = picture.keeps_zero and (
            op.type == "Cast"
            or (op.type in ("Mul", "RealDiv") and operands[0] is None and _positive(*constants))
        )
        return replace(picture, dtype=dtype, computed=True, keeps_zero=keeps_zero)


def _positive(constant: np.ndarray[Any, Any]) -> bool:
    """Whether zero times the constant, or over it, is zero, and not minus zero."""
    return bool(np.all(constant > 0) and np.isfinite(constant.astype(np.float64)).all())


def _per_channel(op: tf.Operation, value: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    if value.ndim and (value.size not in (1, CHANNELS) or value.shape[-1] != value.size):
        raise NotLifted(f"{op.type} ({op.name}) has an operand of shape {value.shape}")
    return value


def _constants(op: tf.Operation, inputs: list[Any]) -> list[Any]:
    """An operation on constants, run."""
    if op.type == "Const":
        return [np.asarray(tf.make_ndarray(op.get_attr("value")))]
    if op.type == "NoOp":
        return []
    with tf.Graph().as_default() as graph:
        operands = [
            tf.constant(value, tensor.dtype)
            for value, tensor in zip(inputs, op.inputs, strict=True)
        ]
        dtypes = [tensor.dtype for tensor in op.outputs]
        operation = graph.create_op(op.type, operands, dtypes, attrs=dict(op.node_def.attr))
        with tf.compat.v1.Session(graph=graph) as session:
            return [np.asarray(value) for value in session.run(list(operation.outputs))]


def _fields(
    graph: tf.Graph, op: tf.Operation, inputs: list[Any], values: Mapping[Any, Any]
) -> list[Any]:
    """An operation on the sample's fields: run for all samples once its result is asked for."""
    for value in inputs:
        if not isinstance(value, Field) and (
            not isinstance(value, np.ndarray) or holds_length(value)
        ):
            raise NotLifted(f"{op.type} ({op.name}) mixes the sample's fields with its picture")
    given = {t.name: values[t.ref()] for t in graph.inputs}
    fields = {name: value for name, value in given.items() if isinstance(value, Field)}
    constants = {name: value for name, value in given.items() if isinstance(value, np.ndarray)}

    def table(output: tf.Tensor) -> Callable[[], np.ndarray[Any, Any]]:
        def run() -> np.ndarray[Any, Any]:
            columns = [field.table() for field in fields.values()]
            with tf.compat.v1.Session(graph=graph) as session:
                rows = [
                    session.run(output, {**constants, **dict(zip(fields, row, strict=True))})
                    for row in zip(*columns, strict=True)
                ]
            if len({np.shape(row) for row in rows}) > 1:
                raise NotLifted(f"{op.type} ({op.name}) gives values of several shapes")
            return np.stack(rows)

        return run

    return [Field(table(output)) for output in op.outputs]


def _graph_of(definition: Any) -> Any:
    from tensorflow.python.framework import function_def_to_graph

    return function_def_to_graph.function_def_to_graph(definition)


def _needed(graph: Any) -> list[tf.Operation]:
    """What the outputs depend on, and what has effects, each after its inputs."""
    done: dict[str, tf.Operation] = {}
    stack = [
        *(t.op for t in graph.outputs),
        *(o for o in graph.get_operations() if o.op_def.is_stateful),
    ]
    while stack:
        op = stack[-1]
        missing = [t.op for t in op.inputs if t.op.name not in done]
        if missing:
            stack += missing
        else:
            stack.pop()
            done[op.name] = op
    return [op for op in done.values() if op.type != "Placeholder"]
