"""A ``tf.data`` pipeline as the chain of its stages, read from TensorFlow's graph of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

from drapps.tensorflow.report import NotLifted

# What a list of samples may be made of; it is run by TensorFlow.
SOURCES = {
    "ConcatenateDataset",
    "RangeDataset",
    "ShardDataset",
    "SkipDataset",
    "TakeDataset",
    "TensorSliceDataset",
    "ZipDataset",
}
PASSING = {"AssertCardinalityDataset", "OptionsDataset", "PrefetchDataset"}  # change no sample
CACHES = {"CacheDataset", "CacheDatasetV2"}
SHUFFLES = {"ShuffleDataset", "ShuffleDatasetV2", "ShuffleDatasetV3"}
MAPS = {"MapDataset", "ParallelMapDataset", "ParallelMapDatasetV2"}
BATCHES = {"BatchDataset", "BatchDatasetV2", "ParallelBatchDataset"}
REPEATS = {"RepeatDataset"}


@dataclass(frozen=True, eq=False)
class Map:
    """A function that every sample goes through, and its arguments after the sample's own."""

    function: str
    captured: tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class Shuffle:
    """Samples in another order each epoch."""

    buffer: int
    seed: int


@dataclass(frozen=True)
class Stages:
    """What a pipeline consists of.

    Attributes:
        library: the functions of its graph.
        columns: of the list of samples, an array each.
        maps: in order.
        shuffle: how samples are shuffled, or None.
        batch: samples in a batch.
        drop_last: a smaller last batch is left out.
        repeat: passes in one; -1 for endless.
        prefetches: whether it works ahead by itself.
        graph: all of it.
        last_map: the node of the last of `maps`.
        bypassed: nodes that change no sample and would hide a change of one, with their inputs.
    """

    library: Any
    columns: tuple[np.ndarray[Any, Any], ...]
    maps: tuple[Map, ...]
    shuffle: Shuffle | None
    batch: int
    drop_last: bool
    repeat: int
    prefetches: bool
    graph: Any
    last_map: str
    bypassed: dict[str, str]

    def samples(self, count: int, file: str | None = None) -> list[Any]:
        """The first samples in the order of the list, as TensorFlow makes them: lists of tensors.

        Args:
            count: how many.
            file: what is read in the place of each file.
        """
        graph = type(self.graph)()
        graph.CopyFrom(self.graph)
        for node in graph.node:
            for place, name in enumerate(node.input):
                while name in self.bypassed:
                    name = self.bypassed[name]
                node.input[place] = name
        if file is not None:
            for function in graph.library.function:
                _read_instead(function, file)
        return [tf.nest.flatten(e) for e in _dataset_of(graph, self.last_map).take(count)]


def stages_of(dataset: tf.data.Dataset) -> Stages:
    """Reads a pipeline.

    Raises:
        NotLifted: it has a stage that is not known, or in a place where it means something else.
    """
    graph = _graph_of(dataset)
    nodes = {node.name: node for node in graph.node}
    name = next(node for node in graph.node if node.op == "_Retval").input[0]
    chain = []
    while not _is_list(nodes, name):
        chain.append(nodes[name])
        if not nodes[name].input or nodes[nodes[name].input[0]].op == "Const":
            raise NotLifted(f"the samples come from {nodes[name].op}, not from a list in memory")
        name = nodes[name].input[0]
    reader = _Reader(nodes)
    for node in reversed(chain):
        reader.read(node)
    if reader.batch is None:
        raise NotLifted("the dataset is not batched: lift what batch() gives")
    if not reader.maps:
        raise NotLifted("the dataset has no map() that reads files")
    return Stages(
        library=graph.library,
        columns=_columns(graph, nodes[name]),
        maps=tuple(reader.maps),
        shuffle=reader.shuffle,
        batch=reader.batch,
        drop_last=reader.drop_last,
        repeat=reader.repeat,
        prefetches=reader.prefetches,
        graph=graph,
        last_map=reader.last_map,
        bypassed=reader.bypassed,
    )


class _Reader:
    """Takes the stages one by one, from the list of samples on."""

    def __init__(self, nodes: dict[str, Any]) -> None:
        self._nodes = nodes
        self.maps: list[Map] = []
        self.shuffle: Shuffle | None = None
        self.batch: int | None = None
        self.drop_last = False
        self.repeat = 1
        self.prefetches = False
        self.last_map = ""
        self.bypassed: dict[str, str] = {}  # a stage that matters to no sample, and its input

    def read(self, node: Any) -> None:
        """Takes one stage.

        Raises:
            NotLifted: it has no native form here.
        """
        self.prefetches |= node.op == "PrefetchDataset"
        if node.op in PASSING:
            return
        if node.op in CACHES and not self._constant(node, 1):
            self.bypassed[node.name] = node.input[0]
            return
        if node.op in REPEATS and self.batch is not None:
            self.repeat = -1 if self.repeat < 0 else self.repeat * int(self._constant(node, 1))
            self.repeat = max(self.repeat, -1)
        elif self.batch is not None:
            raise NotLifted(f"{node.op} follows batch(): lift what that gives, then go on from it")
        elif node.op in MAPS:
            count = len(node.attr["Targuments"].list.type)
            captured = tuple(self._constant(node, 1 + i) for i in range(count))
            self.maps.append(Map(node.attr["f"].func.name, captured))
            self.last_map = node.name
        elif node.op in SHUFFLES and self.shuffle is None:
            if not node.attr["reshuffle_each_iteration"].b:
                raise NotLifted("shuffle(reshuffle_each_iteration=False) keeps one order for ever")
            seeds = [int(self._constant(node, i)) & 0xFFFF_FFFF for i in (2, 3)]
            self.shuffle = Shuffle(int(self._constant(node, 1)), seeds[0] << 32 | seeds[1])
            self.bypassed[node.name] = node.input[0]
        elif node.op in BATCHES:
            self.batch = int(self._constant(node, 1))
            drop = 3 if node.op == "ParallelBatchDataset" else 2
            self.drop_last = bool(self._constant(node, drop)) if len(node.input) > drop else False
        else:
            raise NotLifted(f"{node.op} has no native form before batch()")

    def _constant(self, node: Any, place: int) -> Any:
        source = self._nodes[node.input[place].partition(":")[0]]
        if source.op != "Const":
            raise NotLifted(f"{node.op} takes a {source.op} that is no constant")
        return tf.make_ndarray(source.attr["value"].tensor)


def _read_instead(function: Any, file: str) -> None:
    """Lets a function read `file` whatever name it is given, by a step that cannot be folded."""
    for node in [node for node in function.node_def if node.op == "ReadFile"]:
        name = f"{node.name}_instead"
        added = function.node_def.add(name=name, op="StaticRegexReplace", input=node.input[:1])
        added.attr["pattern"].s = b"(?s)^.*$"
        added.attr["rewrite"].s = file.replace("\\", "\\\\").encode()
        added.attr["replace_global"].b = False
        node.input[0] = f"{name}:output:0"


def _graph_of(dataset: tf.data.Dataset) -> Any:
    try:
        ignore = 1  # states of random operations, which are not lifted anyway
        variant = tf.data.experimental.to_variant(dataset)
        written = tf.raw_ops.DatasetToGraphV2(input_dataset=variant, external_state_policy=ignore)
    except tf.errors.OpError as error:
        raise NotLifted(f"the dataset cannot be written as a graph: {error.message}") from None
    return tf.compat.v1.GraphDef.FromString(written.numpy())


def _is_list(nodes: dict[str, Any], name: str) -> bool:
    """Whether a node, with all that it depends on, is a list of samples."""
    stack = [name]
    while stack:
        node = nodes[stack.pop().partition(":")[0]]
        if node.op not in SOURCES and node.op != "Const":
            return False
        stack += node.input
    return True


def _columns(graph: Any, node: Any) -> tuple[np.ndarray[Any, Any], ...]:
    """The list of samples, column by column.

    Raises:
        NotLifted: it is endless or empty, or its elements have different shapes.
    """
    dataset = _dataset_of(graph, node.name)
    size = int(dataset.cardinality())
    if size <= 0:
        raise NotLifted("the list of samples is empty" if size == 0 else "it is endless")
    try:
        [element] = dataset.batch(size)
    except tf.errors.OpError as error:
        raise NotLifted(f"the list of samples is no table: {error.message}") from None
    return tuple(column.numpy() for column in tf.nest.flatten(element))


def _dataset_of(graph: Any, name: str) -> tf.data.Dataset:
    """The dataset that a node of a graph stands for; its elements are flat tuples."""
    cut = type(graph)()
    cut.CopyFrom(graph)
    [result] = [node for node in cut.node if node.op == "_Retval"]
    result.input[:] = [name]
    attributes = next(node for node in cut.node if node.name == name).attr
    types = attributes[
        "Toutput_types" if "Toutput_types" in attributes else "output_types"
    ].list.type
    specs = tuple(
        tf.TensorSpec(tf.TensorShape(shape), tf.as_dtype(dtype))
        for shape, dtype in zip(attributes["output_shapes"].list.shape, types, strict=True)
    )
    variant = tf.raw_ops.DatasetFromGraph(graph_def=cut.SerializeToString())
    return tf.data.experimental.from_variant(variant, specs)
