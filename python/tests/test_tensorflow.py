"""A loader as a tf.data.Dataset: specs, epochs, memory, errors."""

import gc
import os
import subprocess
import sys

import numpy as np
import pytest

import drapps

tf = pytest.importorskip("tensorflow", reason="TensorFlow is not installed")
from drapps.tensorflow import dataset  # noqa: E402


def pipeline(photos, dtype="float32"):
    start = drapps.image_folder(photos).random_resized_crop(16).flip()
    return start.to(dtype, "nhwc").shuffle(3)


def labels(batches):
    return [np.asarray(batch["label"]).tolist() for batch in batches]


def test_batches_are_the_loaders(photos):
    ours = list(pipeline(photos).batch(5).numpy())
    theirs = list(dataset(pipeline(photos).batch(5)))
    assert len(ours) == len(theirs) == 5
    for mine, tensors in zip(ours, theirs, strict=True):
        assert mine.keys() == tensors.keys()
        for name, array in mine.items():
            np.testing.assert_array_equal(array, tensors[name].numpy())


def test_every_pass_takes_the_next_epoch(photos):
    loader = pipeline(photos).batch(5)
    expected = [labels(loader.numpy()) for _ in range(4)]
    assert expected[0] != expected[1]
    data = dataset(pipeline(photos).batch(5))
    assert [labels(data), labels(data)] == expected[:2]
    assert labels(data.repeat(2)) == expected[2] + expected[3]


def test_the_spec_leaves_rows_open_only_where_a_batch_can_have_fewer(photos):
    def rows(loader):
        data = dataset(loader, ("image", "label"))
        image, label = data.element_spec
        assert image.shape[1:] == (16, 16, 3)
        assert (image.dtype, label.dtype) == (tf.float32, tf.int64)
        for element in data:  # tf.data checks each element against the spec
            assert element[0].shape[0] == element[1].shape[0]
        assert label.shape[0] == image.shape[0]
        return image.shape[0]

    start = pipeline(photos)  # 21 pictures
    assert rows(start.batch(5)) is None
    assert rows(start.batch(7)) == 7
    assert rows(start.batch(5, drop_last=True)) == 5
    assert rows(start.shard(0, 2, "pad").batch(4)) == 4
    assert rows(start.shard(1, 3).batch(7)) == 7
    assert rows(start.shard(1, 2).batch(7)) is None
    assert rows(start.on_error("skip").batch(7)) is None


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "uint8"])
def test_tensors_have_the_dtype_that_was_asked_for(photos, dtype):
    data = dataset(pipeline(photos, dtype).batch(7), ["image"])
    [spec] = data.element_spec
    assert spec.dtype == tf.as_dtype(dtype)
    plain = dataset(pipeline(photos, "uint8").batch(7), ["image"])
    for (values,), (levels,) in zip(data, plain, strict=True):
        scaled = tf.cast(levels, tf.float32) / 255 if dtype != "uint8" else levels
        np.testing.assert_array_equal(tf.cast(scaled, spec.dtype), values)


def test_memory_is_not_copied(photos):
    arrays = []

    class Noted(drapps.Loader):
        def __iter__(self):
            for batch in drapps.Loader.__iter__(self):
                arrays.append(np.asarray(batch["image"]))
                yield batch

    loader = pipeline(photos).batch(7)
    loader.__class__ = Noted
    for step, (image,) in enumerate(dataset(loader, ["image"])):
        arrays[step][0, 0, 0, 0] = 77.0
        assert image[0, 0, 0, 0] == 77.0


def test_it_composes(photos):
    data = dataset(pipeline(photos).batch(5), ("image", "label"))
    single = data.unbatch().map(lambda image, label: (image * 2, label)).batch(4).prefetch(2)
    expected = np.concatenate([b["image"] for b in pipeline(photos).batch(5).numpy()]) * 2
    np.testing.assert_array_equal(np.concatenate([image for image, _ in single]), expected)


def test_a_tf_function_goes_over_it(photos):
    @tf.function
    def total(data):
        seen = tf.constant(0, tf.int64)
        for batch in data:
            if tf.reduce_max(batch["label"]) >= 0:
                seen += tf.reduce_sum(batch["label"])
        return seen

    assert total(dataset(pipeline(photos).batch(5))) == 7 * (0 + 1 + 2)


def test_passes_at_the_same_time_do_not_mix(photos):
    loader = pipeline(photos).batch(5)
    expected = [labels(loader.numpy()) for _ in range(2)]
    data = dataset(pipeline(photos).batch(5))
    first, second = iter(data), iter(data)
    a, b = labels([next(first)]), labels([next(second)])
    for _ in range(4):
        b += labels([next(second)])
        a += labels([next(first)])
    assert [a, b] == expected


def test_tensors_outlive_the_loader_and_are_never_written_again(photos):
    def held():
        return [batch["image"] for batch in dataset(pipeline(photos).batch(5)).repeat(3)]

    tensors = held()
    gc.collect()
    copies = [tensor.numpy() for tensor in tensors]
    for _ in dataset(pipeline(photos).batch(5)).repeat(5):
        pass
    for tensor, copy in zip(tensors, copies, strict=True):
        np.testing.assert_array_equal(tensor, copy)


def test_passes_that_are_left_early_free_their_memory(photos):
    loader = pipeline(photos).batch(5)
    data = dataset(loader)

    def after_passes(count):
        for _ in range(count):
            for _ in data:
                break
        gc.collect()
        return loader.memory()["held"] + loader.memory()["used"]

    # TensorFlow lets go of the latest arrays at its next call.
    assert after_passes(40) <= after_passes(5) + 8 * loader.explain()["plan"]["batch_bytes"]


def test_a_bad_sample_is_an_error_that_says_all_and_ends_nothing(own_photos):
    bad = own_photos / "class_1" / "02.jpg"
    bad.write_bytes(bad.read_bytes()[:300])
    data = dataset(drapps.image_folder(own_photos).center_crop(16).batch(4))
    iterator = iter(data)
    rows = []
    with pytest.raises(tf.errors.OpError, match=r"SampleError: decode: truncated: .*02\.jpg"):
        while True:
            rows.append(len(next(iterator)["label"]))
    rows += [len(batch["label"]) for batch in iterator]
    assert rows == [4, 4, 4, 4, 1]
    assert len(list(data.ignore_errors())) == 5


def test_an_epoch_without_steps_is_empty(photos):
    assert list(dataset(pipeline(photos).batch(50, drop_last=True))) == []


def test_it_goes_on_where_a_state_was_saved(photos):
    loader = pipeline(photos).batch(7)
    expected = labels(loader.numpy())
    loader = pipeline(photos).batch(7)
    iterator = iter(loader)
    next(iterator)
    state = loader.state_dict()

    again = pipeline(photos).batch(7)
    data = dataset(again)
    again.load_state_dict(state)
    assert labels(data) == expected[1:]
    assert len(labels(data)) == 3

    other = pipeline(photos).batch(3)
    early = dataset(other)
    assert early.element_spec["label"].shape == [3]
    other.load_state_dict(state)
    with pytest.raises(tf.errors.OpError, match="dataset after load_state_dict"):
        next(iter(early))
    assert [len(batch["label"]) for batch in dataset(other)] == [3, 3, 3, 3, 2]


def test_columns_that_are_not_there_are_refused(photos):
    loader = pipeline(photos).batch(4)
    with pytest.raises(drapps.PipelineError, match=r"no column 'mask'; they have image, label"):
        dataset(loader, ("image", "mask"))
    for wrong in ("image", ()):
        with pytest.raises(drapps.PipelineError, match="must be names"):
            dataset(loader, wrong)


ENDING = """
import os, sys, threading, time
import drapps
from drapps.tensorflow import dataset
loader = drapps.image_folder(sys.argv[1]).center_crop(8).batch(2)
iterator = iter(dataset(loader).repeat().prefetch(4))
next(iterator)
if sys.argv[2] == "thread":
    threading.Thread(target=lambda: [None for _ in iterator], daemon=True).start()
    time.sleep(0.2)
if sys.argv[2] == "fork":
    child = os.fork()
    if child == 0:
        os._exit(0 if len(list(loader.numpy())) == 11 else 1)
    assert os.waitpid(child, 0)[1] == 0
print("done")
"""


@pytest.mark.parametrize(
    "case",
    [
        pytest.param("iterator", marks=pytest.mark.full),
        pytest.param("thread", marks=pytest.mark.full),
        pytest.param("fork", marks=pytest.mark.full),
    ],
)
def test_an_interpreter_ends_with_a_pass_under_way(photos, case):
    done = subprocess.run(
        [sys.executable, "-c", ENDING, str(photos), case],
        capture_output=True,
        text=True,
        timeout=600,
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
    )
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr[-2000:]


def test_packed_text_has_the_same_batches(tmp_path):
    pytest.importorskip("tokenizers")
    from python.tests.corpus import corpora

    make = corpora.small_loader(tmp_path)
    batches = [batch["input_ids"].numpy() for batch in dataset(make())]
    assert np.array_equal(np.concatenate(batches), corpora.rows_of(make()))
