"""drapps.jax: batches on devices, one ahead, sharded, with states that count what was yielded."""

import gc
import json
import os
import subprocess
import sys
import textwrap
import warnings
from pathlib import Path

import numpy as np
import pytest

import drapps
from python.tests.stats_parts import run, smallest

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.jax


@pytest.fixture
def jax():
    return pytest.importorskip("jax")


needs_jax = pytest.mark.usefixtures("jax")


def make(photos, batch=4, **options):
    pipeline = drapps.image_folder(photos).random_resized_crop(32).flip().shuffle(seed=3)
    return pipeline.batch(batch, **options)


def arrays(batches):
    return [{name: np.asarray(array) for name, array in batch.items()} for batch in batches]


def same(one, other):
    assert len(one) == len(other)
    for mine, its in zip(one, other, strict=True):
        assert mine.keys() == its.keys()
        assert all(np.array_equal(mine[name], its[name]) for name in mine)


@needs_jax
def test_a_training_step_is_what_passes_between_batches_on_devices(photos):
    loader = make(photos)
    run(drapps.jax.Loader(loader), epochs=2, step=0.02)
    consumer = loader.stats().consumer
    assert (consumer.passes, consumer.step_s.count, consumer.stall_s.count) == (2, 12, 12)
    assert smallest(consumer.step_s) >= 0.02


def test_batches_are_those_of_the_loader_epoch_by_epoch(jax, photos):
    loader, plain = drapps.jax.Loader(make(photos)), make(photos)
    assert len(loader) == len(plain) == 6
    for _ in range(2):
        batches = list(loader)
        assert all(isinstance(array, jax.Array) for batch in batches for array in batch.values())
        same(arrays(batches), list(plain.numpy()))


def test_arrays_lie_on_the_default_device_uncommitted(jax, photos):
    image = next(iter(drapps.jax.Loader(make(photos))))["image"]
    assert image.devices() == {jax.devices()[0]}
    assert not image.committed


def test_nothing_is_copied_on_the_way_to_a_cpu_device(jax, photos):
    if jax.default_backend() != "cpu":
        pytest.skip("the default device is no CPU")
    host = make(photos)
    inner = iter(host)
    addresses = []

    class Watched:
        def __iter__(self):
            for batch in inner:
                addresses.append(np.asarray(batch["image"]).ctypes.data)
                yield batch

    for number, batch in enumerate(drapps.jax.Loader(Watched())):
        assert batch["image"].unsafe_buffer_pointer() == addresses[number]


@needs_jax
def test_arrays_outlive_their_loader_unchanged(photos):
    expected = list(make(photos).numpy())
    loader = drapps.jax.Loader(make(photos))
    kept = list(loader)
    del loader
    gc.collect()
    for _ in range(3):  # would write over memory that had gone back
        for _ in make(photos, batch=5):
            pass
    same(arrays(kept), expected)


@needs_jax
def test_memory_goes_back_when_the_last_array_is_gone(photos):
    host = make(photos)
    gc.collect()
    before = host.memory()["held"]  # of the whole process
    kept = list(drapps.jax.Loader(host))
    assert host.memory()["held"] > before
    del kept
    gc.collect()
    assert host.memory()["held"] <= before


def test_a_donated_batch_does_no_harm(jax, photos):
    expected = list(make(photos).numpy())
    step = jax.jit(lambda x: x * 0 - 1, donate_argnums=0)
    loader = drapps.jax.Loader(make(photos))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number, batch in enumerate(loader):
            assert np.array_equal(np.asarray(batch["image"]), expected[number]["image"])
            assert np.asarray(step(batch["image"])).max() == -1


@needs_jax
def test_states_count_what_was_yielded_not_what_is_on_its_way(photos):
    whole = list(make(photos).numpy())
    for steps in range(7):
        loader = drapps.jax.Loader(make(photos))
        iterator = iter(loader)
        first = arrays(next(iterator) for _ in range(steps))
        state = json.loads(json.dumps(loader.state_dict()))
        assert state == iterator.state_dict()
        again = drapps.jax.Loader(make(photos))
        again.load_state_dict(state)
        assert again.state_dict() == state
        rest = list(again)
        same(first + arrays(rest)[: len(whole) - steps], whole)
        assert len(rest) == (6 if steps == 6 else 6 - steps)  # after the last, the next epoch


@needs_jax
def test_two_iterators_have_each_its_own_state(photos):
    loader = drapps.jax.Loader(make(photos))
    one, other = iter(loader), iter(loader)
    next(one)
    next(other)
    next(other)
    assert (one.state_dict()["epoch"], one.state_dict()["position"]) == (0, 4)
    assert (other.state_dict()["epoch"], other.state_dict()["position"]) == (1, 8)


@needs_jax
def test_set_epoch_reaches_the_loader(photos):
    loader, plain = drapps.jax.Loader(make(photos)), make(photos)
    for each in (loader, plain):
        each.set_epoch(5)
    same(arrays(loader), list(plain.numpy()))
    for each in (loader, plain):
        each.set_epoch(9)
    assert loader.state_dict() == plain.state_dict()


@needs_jax
def test_a_bad_sample_raises_in_its_turn_and_the_rest_follows(own_photos):
    host = drapps.image_folder(own_photos).center_crop(32).batch(3)
    bad = sorted(own_photos.rglob("*.jpg"))[7]
    bad.write_bytes(bad.read_bytes()[:500])

    def run_through(loader):
        iterator = iter(loader)
        for _ in range(len(host)):
            try:
                yield (
                    np.asarray(next(iterator)["index"]).tolist(),
                    iterator.state_dict()["position"],
                )
            except drapps.SampleError as error:  # noqa: PERF203 - it does not end the iteration
                yield error.index, iterator.state_dict()["position"]

    expected = list(run_through(host))
    assert 8 in [what for what, _ in expected]
    assert list(run_through(drapps.jax.Loader(host))) == expected


@needs_jax
def test_the_end_stays_the_end(photos):
    iterator = iter(drapps.jax.Loader(make(photos)))
    assert len(list(iterator)) == 6
    for _ in range(3):
        with pytest.raises(StopIteration):
            next(iterator)


def test_an_interrupt_loses_no_batch(jax, photos, monkeypatch):
    loader = drapps.jax.Loader(make(photos))
    iterator = iter(loader)
    seen = arrays([next(iterator)])
    put, calls = jax.device_put, []

    def interrupted(array):
        calls.append(None)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return put(array)

    monkeypatch.setattr(jax, "device_put", interrupted)
    with pytest.raises(KeyboardInterrupt):
        next(iterator)
    assert iterator.state_dict()["position"] == 4
    seen += arrays(iterator)
    same(seen, list(make(photos).numpy()))


def test_bfloat16_arrives_as_such(jax, photos):
    def pipeline(dtype):
        return drapps.image_folder(photos).center_crop(32).to(dtype).batch(4)

    for half, full in zip(
        drapps.jax.Loader(pipeline("bfloat16")), pipeline("float32"), strict=True
    ):
        assert half["image"].dtype == jax.numpy.bfloat16
        expected = np.asarray(full["image"]).astype(jax.numpy.bfloat16)
        assert np.array_equal(np.asarray(half["image"]), expected)


@needs_jax
def test_64_bits_become_32_quietly_and_a_value_that_does_not_fit_raises():
    def batches(value, dtype=np.int64):
        return [{"id": np.array([1, value], dtype)}]

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for value in (-(2**31), 2**31 - 1):
            ((batch,)) = drapps.jax.Loader(batches(value))
            assert batch["id"].dtype == np.int32
            assert batch["id"].tolist() == [1, value]
    for value in (-(2**31) - 1, 2**31):
        with pytest.raises(drapps.PipelineError, match=rf"'id'.*{value}.*jax_enable_x64"):
            list(drapps.jax.Loader(batches(value)))
    with pytest.raises(drapps.PipelineError, match="uint32 of uint64"):
        list(drapps.jax.Loader(batches(2**32, np.uint64)))
    assert next(iter(drapps.jax.Loader([{"empty": np.zeros(0, np.int64)}])))["empty"].shape == (0,)


@needs_jax
def test_other_loaders_batches_are_copied_once_and_keep_their_tree():
    buffer = np.zeros((2, 3), np.float32)

    def reusing():
        for step in range(4):
            buffer[:] = step
            yield {"x": buffer, "more": [(buffer[:, :1], step), None]}

    for step, batch in enumerate(drapps.jax.Loader(reusing())):
        assert float(batch["x"].min()) == float(batch["x"].max()) == step
        (part, number), nothing = batch["more"]
        assert part.shape == (2, 1)
        assert int(number) == step
        assert nothing is None


def test_a_torch_loader_works_and_what_is_no_array_is_named(jax):
    torch = pytest.importorskip("torch")
    data = torch.utils.data.TensorDataset(torch.arange(10.0), torch.arange(10).to(torch.bfloat16))
    batches = list(drapps.jax.Loader(torch.utils.data.DataLoader(data, batch_size=4)))
    assert [batch[0].tolist() for batch in batches] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    assert batches[0][1].dtype == jax.numpy.bfloat16
    assert batches[2][1].tolist() == [8, 9]
    with pytest.raises(drapps.PipelineError, match=r"batch\['text'\]"):
        list(drapps.jax.Loader([{"x": torch.ones(2), "text": ["a", "b"]}]))
    with pytest.raises(drapps.PipelineError, match=r"batch\['x'\].*Tensor.*grad"):
        list(drapps.jax.Loader([{"x": torch.ones(2, requires_grad=True)}]))
    with pytest.raises(drapps.PipelineError, match="batch is no array"):
        list(drapps.jax.Loader([object()]))


@needs_jax
@pytest.mark.usefixtures("torchvision")
def test_a_lifted_torch_loader_resumes(photos):
    from torchvision import datasets, transforms

    from drapps.torch import DataLoader

    crop = transforms.Compose([transforms.RandomResizedCrop(32), transforms.ToTensor()])

    def lifted():
        loader = DataLoader(datasets.ImageFolder(photos, crop), 4, shuffle=True, seed=5)
        assert loader.lifted()
        return drapps.jax.Loader(loader)

    def flat(batches):
        return [np.asarray(array) for batch in batches for array in batch]

    whole = flat(lifted())
    loader = lifted()
    iterator = iter(loader)
    first = flat([next(iterator), next(iterator)])
    again = lifted()
    again.load_state_dict(loader.state_dict())
    rest = flat(again)
    assert len(first) + len(rest) == len(whole)
    assert all(np.array_equal(a, b) for a, b in zip(first + rest, whole, strict=True))


def test_wrong_use_is_named(jax, photos):
    with pytest.raises(drapps.PipelineError, match=r"Device.*NamedSharding"):
        drapps.jax.Loader(make(photos), jax.devices("cpu")[0])
    with pytest.raises(drapps.PipelineError, match=r"list_iterator has no state_dict"):
        iter(drapps.jax.Loader([])).state_dict()
    with pytest.raises(drapps.PipelineError, match=r"list has no state_dict"):
        drapps.jax.Loader([]).state_dict()


def test_importing_drapps_imports_no_jax_and_a_missing_one_is_told():
    script = """
    import sys
    import drapps
    assert "jax" not in sys.modules
    sys.modules["jax"] = None
    try:
        drapps.jax
    except ModuleNotFoundError as error:
        assert "pip install" in str(error), error
    else:
        raise AssertionError
    """
    subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        check=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "python")},
        timeout=600,
    )


def test_every_library_takes_columns_by_dlpack(jax, photos):
    torch = pytest.importorskip("torch")
    batch = next(iter(make(photos)))
    for name, column in batch.items():
        expected = np.array(batch.numpy()[name])
        for taken in (np.from_dlpack(column), torch.from_dlpack(column)):
            assert np.array_equal(np.asarray(taken), expected)
        assert np.array_equal(np.asarray(jax.dlpack.from_dlpack(column)), expected)
    view = np.from_dlpack(batch["image"])
    other = torch.from_dlpack(batch["image"])
    view[0] = -1
    assert float(other[0].max()) == -1  # the same memory
    del batch
    gc.collect()
    assert float(other[0].min()) == -1


def test_packed_text_has_the_same_batches(tmp_path):
    pytest.importorskip("tokenizers")
    from python.tests.corpus import corpora

    make = corpora.small_loader(tmp_path)
    batches = [np.asarray(batch["input_ids"]) for batch in drapps.jax.Loader(make())]
    assert np.array_equal(np.concatenate(batches), corpora.rows_of(make()))
