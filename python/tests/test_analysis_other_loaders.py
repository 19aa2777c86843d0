"""Loaders of other libraries as ``drapps analyze`` knows them: on stand-ins of their classes."""

import subprocess
import sys
from types import SimpleNamespace

import pytest

from drapps.analysis import iterating
from drapps.analysis.other_loaders import TensorflowLoader
from drapps.errors import PipelineError
from python.tests.watch_scripts import environment


class Strings:
    """A tensor of strings."""

    dtype = SimpleNamespace(name="string")

    def __init__(self, *values):
        self.values = values

    def numpy(self):
        return self

    def reshape(self, _):
        return [value.encode() for value in self.values]


def dataset(name, parent=None, count=-2, **attributes):
    """A stand-in of one of TensorFlow's classes."""
    methods = {
        "_inputs": lambda _: [] if parent is None else [parent],
        "cardinality": lambda _: count,
        "__iter__": lambda _: iter(()),
    }
    node = type(name, (), methods)()
    vars(node).update(attributes)
    return node


def pipeline(path, *, parallel=True, cached=False):
    source = dataset("_TensorSliceDataset", count=12, _tensors=[Strings(str(path))] * 2)
    node = dataset("_ParallelMapDataset" if parallel else "_MapDataset", source, count=12)
    if cached:
        node = dataset("CacheDataset", node, count=12)
    node = dataset("_BatchDataset", node, count=3, _batch_size=4)
    return dataset("_RepeatDataset", node, count=-1)


def test_a_pipeline_of_tensorflow_is_known_by_its_parts(tmp_path):
    path = tmp_path / "a.bin"
    path.write_bytes(b"a")
    ahead = TensorflowLoader(dataset("_PrefetchDataset", pipeline(path), -1, _buffer_size=3))
    assert ahead.depth == 3 and ahead.in_turn is False and not ahead.keeps
    assert ahead.samples == 12 and ahead.files() == [str(path)] * 2
    itself = TensorflowLoader(dataset("_PrefetchDataset", pipeline(path), -1, _buffer_size=-1))
    assert itself.depth == 4
    serial = TensorflowLoader(pipeline(path, parallel=False, cached=True))
    assert serial.in_turn is True and serial.workers == 0 and serial.keeps
    assert serial.choices == (1.0,) and serial.depth == 1
    assert TensorflowLoader(pipeline(tmp_path / "none")).files() == []


def hooked(elements, iterated):
    class DatasetV2:
        def cardinality(self):
            return elements

        def __iter__(self):
            return iter("plain")

    eager = SimpleNamespace(executing_eagerly=lambda: True)
    ops = SimpleNamespace(inside_function=lambda: False)
    module = SimpleNamespace(DatasetV2=DatasetV2, context=eager, ops=ops)
    iterating.hooks(iterated)["tensorflow.python.data.ops.dataset_ops"](module)
    return module


@pytest.mark.parametrize(("elements", "measured"), [(1, False), (7, False), (8, True), (-1, True)])
def test_what_a_script_only_looks_at_is_not_what_it_trains_on(elements, measured):
    module = hooked(elements, lambda *_: iter("measured"))
    assert "".join(module.DatasetV2()) == ("measured" if measured else "plain")


def test_batches_that_a_graph_takes_are_left_alone():
    module = hooked(-1, lambda *_: iter("measured"))
    module.ops.inside_function = lambda: True
    assert "".join(module.DatasetV2()) == "plain"
    with pytest.raises(PipelineError, match="train_on_batch"):
        exec(
            "refuse()",
            {"__name__": "keras.src.backend.tensorflow.trainer", "refuse": iterating.refuse_graphs},
        )
    iterating.refuse_graphs()


SCRIPT = """
import sys, time
import tensorflow as tf

def prepared(path):
    data = tf.io.read_file(path)
    return tf.py_function(lambda d: (time.sleep(0.004), tf.zeros(8))[1], [data], tf.float32)

files = [f"{number}.bin" for number in range(64)]
data = tf.data.Dataset.from_tensor_slices(files).map(prepared).batch(4).prefetch(2)
for batch in data.take(1):
    print("looked at", batch.shape)
for epoch in range(100):
    for batch in data:
        time.sleep(0.002)
print("never reached")
"""


@pytest.mark.full
def test_a_script_of_tensorflow_is_analyzed(tmp_path):
    pytest.importorskip("tensorflow", reason="TensorFlow is not installed")
    for number in range(64):
        (tmp_path / f"{number}.bin").write_bytes(bytes(20_000))
    (tmp_path / "train.py").write_text(SCRIPT)
    words = ["--steps", "8", "--seconds", "1", "--", sys.executable, "train.py"]
    done = subprocess.run(
        [sys.executable, "-m", "drapps", "analyze", *words],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env=environment(tmp_path),
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "looked at (4, 8)\n"
    assert "preparing its samples" in done.stderr and "num_parallel_calls" in done.stderr
    assert "19.5 KiB a sample" in done.stderr
