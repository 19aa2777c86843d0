"""Arrays of a pipeline that live on a device, on that for tests: the batches are the CPU's."""

from __future__ import annotations

import gc
import os
import re
import subprocess
import sys
import warnings
from typing import Any

import numpy as np
import pytest

import drapps
from drapps import _core
from python.tests.cells import some_full

if not hasattr(_core, "_allow_host_device"):
    pytest.skip("a wheel has no device for tests", allow_module_level=True)

ROWS = 150


@pytest.fixture(autouse=True)
def host_device() -> None:
    gc.collect()  # a device lives as long as anything that tests before have left
    _core._allow_host_device(64 << 20, 100_000)


def arrays() -> dict[str, Any]:
    rng = np.random.default_rng(3)
    pictures = rng.integers(0, 256, (ROWS, 20, 18, 3), dtype=np.uint8)
    return {"image": pictures, "label": rng.integers(0, 7, ROWS).astype(np.int16)}


def mixed(pipeline: drapps.Pipeline) -> drapps.Pipeline:
    pipeline = pipeline.color_jitter(0.3, 0.3, 0.3, 0.1).flip().random_erasing()
    return pipeline.normalize((0.5, 0.4, 0.3), (0.2, 0.3, 0.4)).cutmix_or_mixup(7).shuffle(seed=2)


def loader(on_device: bool, **options: Any) -> drapps.Loader:
    where = {"device": "host", "device_memory": "32MB"} if on_device else {}
    return mixed(drapps.arrays(arrays(), pictures="image")).batch(32, **where, **options)


def epoch(loader: drapps.Loader) -> list[dict[str, Any]]:
    return [{name: np.array(part) for name, part in batch.numpy().items()} for batch in loader]


def same(batches: list[dict[str, Any]], expected: list[dict[str, Any]]) -> None:
    assert len(batches) == len(expected) > 0
    for one, other in zip(batches, expected, strict=True):
        assert one.keys() == other.keys()
        for name in one:
            np.testing.assert_array_equal(one[name], other[name], name)


def test_batches_that_are_held_leave_no_memory_and_are_given_later() -> None:
    with pytest.raises(drapps.PipelineError) as refused:
        mixed(drapps.arrays(arrays(), pictures="image")).batch(32, device="host", device_memory=1)
    least = re.search(r"the arrays and 2 batches take (\d+) bytes", str(refused.value))
    assert least is not None
    two = mixed(drapps.arrays(arrays(), pictures="image")).batch(
        32, device="host", device_memory=int(least[1])
    )
    batches = iter(two)
    held = [next(batches), next(batches)]
    with pytest.raises(
        drapps.SampleError, match=r"let go of batches that you hold \(zip\(\) holds"
    ):
        next(batches)
    first = [{name: np.array(part) for name, part in batch.numpy().items()} for batch in held]
    held.clear()
    rest = epoch(batches)  # type: ignore[arg-type]
    same(first + rest, epoch(loader(False)))


def test_mixed_batches_are_those_of_the_cpu() -> None:
    with_device, plain = loader(True), loader(False)
    for _ in range(2):
        same(epoch(with_device), epoch(plain))
    first = epoch(plain)[0]
    assert first["label"].shape == (32, 7)
    np.testing.assert_allclose(first["label"].sum(axis=1), 1, rtol=1e-6)
    assert with_device.stats().device.launches > 0


def test_mixing_needs_whole_labels_that_are_classes() -> None:
    columns = arrays()
    few = drapps.arrays(columns, pictures="image").mixup(num_classes=5)
    with pytest.raises(drapps.PipelineError, match=r"has the label [56], and num_classes is 5"):
        few.batch(8)
    columns["label"] = columns["label"].astype(np.float32)
    real = drapps.arrays(columns, pictures="image").mixup(num_classes=7)
    with pytest.raises(drapps.PipelineError, match='no array "label" of a whole number'):
        real.batch(8)


def test_a_label_that_was_overwritten_is_an_error() -> None:
    columns = arrays()
    loader = drapps.arrays(columns, pictures="image").mixup(num_classes=7).batch(ROWS)
    columns["label"][4] = 9
    with pytest.raises(drapps.SampleError, match="the label is 9, and num_classes is 7") as raised:
        next(iter(loader))
    assert raised.value.index == 4


def test_a_state_goes_on_on_the_other() -> None:
    expected = epoch(loader(False))
    one, other = loader(True), loader(False)
    batches = iter(one)
    head = [{name: np.array(part) for name, part in next(batches).numpy().items()}]
    other.load_state_dict(one.state_dict())
    same(head + epoch(other), expected)


def test_tensors_lie_where_the_batch_does() -> None:
    torch = pytest.importorskip("torch")
    expected = epoch(loader(False))
    for passed in (loader(True).torch(), loader(True).torch("cpu")):
        batches = [{name: part.numpy() for name, part in each.items()} for each in passed]
        same(batches, expected)
    assert torch.is_tensor(next(loader(True).torch())["image"])


def test_numpy_says_that_it_cannot_read_a_batch_on_a_gpu() -> None:
    expected = np.array(next(iter(loader(False)))["image"])
    _core._allow_host_device(64 << 20, 0, host_reads=False)
    feed = loader(True)
    batch = next(iter(feed))
    image = batch["image"]
    assert image.__dlpack_device__() == (2, 0)
    for read in (np.asarray, np.array, lambda each: each.__array__()):
        with pytest.raises(TypeError, match="copy it to the host first"):
            read(image)
    with pytest.raises(TypeError, match="copy it to the host first"):
        batch.numpy()
    with pytest.raises(BufferError, match="in a device's memory"):
        memoryview(image)
    on_host = np.asarray(next(iter(loader(False)))["image"])
    np.testing.assert_array_equal(on_host, expected)


def test_two_loaders_and_a_fork_use_one_device() -> None:
    expected = epoch(loader(False))
    one, other = loader(True), loader(True)
    pairs = list(zip(one, other, strict=True))
    assert len(pairs) == len(expected)
    for batches in pairs:
        np.testing.assert_array_equal(*(np.asarray(batch["image"]) for batch in batches))
    iterator = iter(one)
    next(iterator)
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            _core._allow_host_device(64 << 20, 100_000)
            one.set_epoch(0)
            same(epoch(one), expected)
            status = 0
        finally:
            os._exit(status)
    after = [{name: np.array(part) for name, part in each.numpy().items()} for each in iterator]
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    plain = loader(False)
    plain.set_epoch(1)
    same(after, epoch(plain)[1:])  # the parent went on meanwhile


def test_two_devices_have_memory_of_their_own() -> None:
    expected = epoch(loader(False))
    _core._allow_host_device(800_000, 100_000)  # less than two loaders take

    def on(device: str) -> drapps.Loader:
        pipeline = mixed(drapps.arrays(arrays(), pictures="image"))
        return pipeline.batch(32, device=device, device_memory="32MB")

    one, other = on("host:0"), on("host:1")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for at, batches in enumerate(zip(one, other, strict=True)):
            for batch in batches:
                np.testing.assert_array_equal(np.asarray(batch["image"]), expected[at]["image"])
    assert min(each.stats().device.launches for each in (one, other)) > 0


EXIT = """
import sys
import threading

import numpy as np

import drapps
from drapps import _core

_core._allow_host_device(64 << 20, 2_000_000)
arrays = {"image": np.zeros((150, 20, 18, 3), np.uint8), "label": np.zeros(150, np.int16)}
described = drapps.arrays(arrays, pictures="image").flip()
loader = described.batch(8, device="host", device_memory="32MB")
state = sys.argv[1]
if state == "before the first batch":
    iterator = iter(loader)
elif state == "under way":
    iterator = iter(loader)
    next(iterator)
elif state == "batches held":
    held = [batch for batch, _ in zip(loader, range(4))]
elif state == "tensors held":
    import torch

    held = [tensors for tensors, _ in zip(loader.torch(), range(4))]
elif state == "taken by another thread":
    other = described.batch(8, device="host", device_memory="32MB")
    threading.Thread(target=lambda: [list(other) for _ in range(10_000)], daemon=True).start()
    next(iter(loader))
elif state == "an error":
    next(iter(loader))
    print("ended")
    raise SystemExit(3)
print("ended")
"""


@pytest.mark.parametrize(
    "state",
    some_full(
        [
            "before the first batch",
            "under way",
            "batches held",
            "tensors held",
            "taken by another thread",
            "an error",
        ],
        *("under way", "batches held", "taken by another thread"),
    ),
)
def test_a_program_ends_in_every_state(state: str) -> None:
    words = [sys.executable, "-c", EXIT, state]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    code = 3 if state == "an error" else 0
    assert (done.returncode, done.stdout, done.stderr) == (code, "ended\n", "")


def test_arguments() -> None:
    with pytest.raises(drapps.PipelineError, match="device_memory"):
        drapps.arrays(arrays()).batch(8, device_memory="much")
    with pytest.raises(drapps.PipelineError, match="is for arrays, and these records lie in files"):
        drapps.image_bytes([b"x"]).center_crop(8).batch(8, device="host", device_memory=1000)
