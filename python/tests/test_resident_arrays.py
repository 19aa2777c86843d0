"""Arrays of a pipeline that live on a device, on that for tests: the batches are the CPU's."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest

import drapps
from drapps import _core

if not hasattr(_core, "_allow_host_device"):
    pytest.skip("a wheel has no device for tests", allow_module_level=True)

ROWS = 150


@pytest.fixture(autouse=True)
def host_device() -> None:
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


def epoch(made: drapps.Loader) -> list[dict[str, Any]]:
    return [{name: np.array(part) for name, part in batch.numpy().items()} for batch in made]


def same(found: list[dict[str, Any]], expected: list[dict[str, Any]]) -> None:
    assert len(found) == len(expected) > 0
    for one, other in zip(found, expected, strict=True):
        assert one.keys() == other.keys()
        for name in one:
            np.testing.assert_array_equal(one[name], other[name], name)


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
    made = drapps.arrays(columns, pictures="image").mixup(num_classes=7).batch(ROWS)
    columns["label"][4] = 9
    with pytest.raises(drapps.SampleError, match="the label is 9, and num_classes is 7") as raised:
        next(iter(made))
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
        found = [{name: part.numpy() for name, part in each.items()} for each in passed]
        same(found, expected)
    assert torch.is_tensor(next(loader(True).torch())["image"])


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
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def test_arguments() -> None:
    with pytest.raises(drapps.PipelineError, match="device_memory"):
        drapps.arrays(arrays()).batch(8, device_memory="much")
    with pytest.raises(drapps.PipelineError, match="is for arrays, and these records lie in files"):
        drapps.image_bytes([b"x"]).center_crop(8).batch(8, device="host", device_memory=1000)
