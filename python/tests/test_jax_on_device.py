"""drapps.jax: batches that the core makes or finishes on a device."""

import numpy as np
import pytest

import drapps
from drapps import _core
from python.tests.test_jax import arrays, make, same

pytestmark = pytest.mark.jax
here = pytest.mark.skipif(
    not hasattr(_core, "_allow_host_device"), reason="a wheel has no device for tests"
)


@pytest.fixture
def placement():
    pytest.importorskip("jax")
    from drapps.jax import placement

    return placement


@here
def test_pictures_are_finished_on_one_device(photos, placement, monkeypatch):
    expected = arrays(drapps.jax.Loader(make(photos)))
    _core._allow_host_device(64 << 20, 100_000)
    monkeypatch.setattr(placement.Placement, "core_device", lambda _: "host")
    loader = make(photos)
    same(arrays(drapps.jax.Loader(loader)), expected)
    assert loader.explain().plan.arrival["copied"] == "bytes"
    iterator = iter(drapps.jax.Loader(loader))
    next(iterator)
    again = make(photos)
    again.load_state_dict(iterator.state_dict())
    same(arrays(drapps.jax.Loader(again)), arrays(iterator))


def test_integers_of_a_device_are_narrowed_by_what_is_known_of_them(photos, placement, monkeypatch):
    expected = arrays(drapps.jax.Loader(make(photos)))
    monkeypatch.setattr(placement, "_CUDA", 1)  # as DLPack calls a CPU
    looked = []
    check = placement._check_bounds
    monkeypatch.setattr(
        placement, "_check_bounds", lambda name, *rest: (looked.append(name), check(name, *rest))
    )
    same(arrays(drapps.jax.Loader(make(photos))), expected)
    assert looked == []
    numbers = np.array([1, -(2**31), 2**31 - 1, 5])
    fits = drapps.arrays({"number": numbers}).batch(4)
    ((values,),) = ([batch["number"]] for batch in drapps.jax.Loader(fits))
    assert values.dtype == np.int32
    assert np.array_equal(values, numbers)
    assert looked == ["'number'"]
    too_large = drapps.arrays({"number": numbers + 1}).batch(4)
    with pytest.raises(drapps.PipelineError, match="'number' holds 2147483648"):
        next(iter(drapps.jax.Loader(too_large)))


@here
def test_arrays_that_live_on_a_device(placement, monkeypatch):
    jax = pytest.importorskip("jax")
    _core._allow_host_device(64 << 20, 100_000)
    rows = np.random.default_rng(4).integers(0, 256, (50, 12, 10, 3), dtype=np.uint8)

    def batches(options, **where):
        pipeline = drapps.arrays({"image": rows}, pictures="image").color_jitter(0.4, 0.4)
        return arrays(pipeline.shuffle(seed=1).batch(8, **where).jax(**options))

    expected = batches({})
    same(batches({}, device="host", device_memory="16MB"), expected)
    place = {"device": jax.devices()[0]}
    same(batches(place, device="host", device_memory="16MB"), expected)
    with monkeypatch.context() as patched:
        patched.setattr(placement.Placement, "core_device", lambda _: "host")
        same(batches(place, device="host", device_memory="16MB"), expected)
    with pytest.raises(drapps.PipelineError, match=r"must be one of jax\.devices"):
        batches({"device": "gpu:0"})
