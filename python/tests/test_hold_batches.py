"""A batch belongs to whoever holds it: writable, nobody else's, alive as long as any view."""

import gc
import itertools
import threading

import numpy as np
import pytest

import drapps
from python.tests.hold_streams import core, piece, pieces, records, run_script, train

SIZE = 42


@pytest.fixture(scope="module")
def source():
    return train(drapps.image_bytes(records(SIZE)))


def test_fifty_kept_batches_are_the_same_after_all_others_were_written_over(source):
    wanted = pieces(core(source, 3), 0) + pieces(core(source, 3), 1)
    loader = source.batch(3)
    spoiled = [batch for _ in range(2) for batch in loader]
    for batch in spoiled:
        for name in batch:
            np.asarray(batch[name])[...] = 1
    kept = []
    for epoch in range(4):
        loader.set_epoch(epoch % 2)
        kept += list(loader)
    assert len(kept) == 56
    for batch in kept[28:]:
        for name in batch:
            np.asarray(batch[name])[...] = 255
    assert [piece(batch) for batch in kept[:28]] == wanted
    assert all((np.asarray(batch["image"]) == 1).all() for batch in spoiled)
    loader.set_epoch(0)
    assert [piece(batch) for batch in loader] == wanted[:14]
    assert all((np.asarray(batch["image"]) == 255).all() for batch in kept[28:])


def test_no_two_held_batches_share_a_byte(source):
    loader = source.batch(3)
    held = [batch for _ in range(4) for batch in loader]
    spans = sorted(
        (array.ctypes.data, array.ctypes.data + array.nbytes)
        for batch in held
        for array in batch.numpy().values()
    )
    assert all(end <= start for (_, end), (start, _) in itertools.pairwise(spans))
    assert all(start % 64 == 0 for start, _ in spans)


def test_dropped_batches_make_room_for_later_ones_without_touching_kept_views(source):
    wanted = pieces(core(source, 3), 0)
    loader = core(source, 3)
    kept = []
    for _ in range(5):
        iterator = loader.iterate(0)
        for step in range(14):
            image = np.asarray(iterator.next().tensors["image"])
            if step % 5 == 0:
                kept.append((step, image, image.copy()))
    assert all(np.array_equal(image, copy) for _, image, copy in kept)
    first = {step: image for step, image, _ in kept[:3]}
    assert all(np.array_equal(image, first[step]) for step, image, _ in kept)
    assert pieces(loader) == wanted


def test_numpy_takes_it_by_buffer_and_by_dlpack_writable_and_without_a_copy(source):
    batch = next(iter(source.batch(3)))
    for name in batch:
        by_buffer, by_dlpack = np.asarray(batch[name]), np.from_dlpack(batch[name])
        assert by_buffer.ctypes.data == by_dlpack.ctypes.data
        assert by_buffer.shape == by_dlpack.shape == batch[name].shape
        assert by_buffer.dtype == by_dlpack.dtype
        by_buffer[...] = 3
        assert (by_dlpack == 3).all()
        assert by_buffer.flags.writeable
        if int(np.__version__.split(".")[0]) >= 2:
            by_dlpack[...] = 4
            assert (by_buffer == 4).all()
        view = memoryview(batch[name])
        assert (view.readonly, view.c_contiguous) == (False, True)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16", "uint8"])
def test_torch_takes_it_writable_and_without_a_copy(dtype):
    torch = pytest.importorskip("torch")
    loader = drapps.image_bytes(records(3)).center_crop(16).to(dtype).batch(3)
    batch = next(iter(loader))
    one, two = torch.from_dlpack(batch["image"]), torch.from_dlpack(batch["image"])
    assert one.data_ptr() == two.data_ptr()
    assert (one.dtype, one.is_contiguous()) == (getattr(torch, dtype), True)
    one.fill_(2)
    assert bool((two == 2).all())
    one.requires_grad_(one.is_floating_point())


def test_dlpack_refuses_what_it_cannot_do(source):
    tensor = next(iter(source.batch(3)))["image"]
    assert tensor.__dlpack_device__() == (1, 0)
    with pytest.raises(BufferError, match="CPU memory"):
        tensor.__dlpack__(dl_device=(2, 0))
    with pytest.raises(BufferError, match="without a copy"):
        tensor.__dlpack__(copy=True)
    for version in (None, (0, 8), (1, 0), (1, 1)):
        capsule = tensor.__dlpack__(max_version=version)
        wanted = "dltensor_versioned" if version and version[0] >= 1 else "dltensor"
        assert f'"{wanted}"' in repr(capsule)


def test_views_outlive_batch_iterator_and_loader(source):
    torch = pytest.importorskip("torch")
    loader = source.batch(3)
    iterator = iter(loader)
    batch = next(iterator)
    wanted = np.asarray(batch["image"]).copy()
    array, view = np.asarray(batch["image"])[1:], memoryview(batch["image"])
    tensor, capsule = torch.from_dlpack(batch["image"]), batch["image"].__dlpack__()
    del batch, iterator, loader
    gc.collect()
    assert np.array_equal(array, wanted[1:])
    assert np.array_equal(np.asarray(view), wanted)
    assert np.array_equal(tensor.numpy(), wanted)
    assert np.array_equal(torch.from_dlpack(capsule).numpy(), wanted)


def test_batches_may_be_released_in_any_thread(source):
    wanted = pieces(core(source, 3))
    loader = core(source, 3)
    for _ in range(5):
        held = [loader.iterate(0)]
        batches = [held[0].next() for _ in range(14)]
        digests = [piece(batch) for batch in batches]
        threads = [threading.Thread(target=batches.pop) for _ in range(14)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        assert digests == wanted
        assert not batches


def test_what_is_still_held_when_the_interpreter_ends_does_no_harm():
    script = """
import builtins, sys
import numpy as np
import drapps
from python.tests.hold_streams import records, train
loader = train(drapps.image_bytes(records(12))).batch(3)
iterator = iter(loader)
batch = next(iterator)
builtins.kept = [np.asarray(batch["image"]), batch["label" if "label" in batch else "index"]]
sys.kept = memoryview(next(iterator)["image"])

class Late:
    def __init__(self, held):
        self.held = held
        self.me = self  # collected by the very last pass
    def __del__(self):
        self.held[...] = 7

late = Late(np.asarray(next(iterator)["image"]))
capsule = next(iterator)["image"].__dlpack__()
"""
    assert run_script(script) == ""
