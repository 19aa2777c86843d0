"""A loader is seen as long as it or an iterator of it lives, and not a moment longer."""

import gc
import sys
import weakref

import numpy as np
import pytest

import drapps
from drapps.monitor.observing import observers


@pytest.fixture(autouse=True)
def no_collector():
    """What a cycle keeps stays, so that a test sees it."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def seen():
    return {each.number for each in observers()}


def arrays():
    return drapps.arrays({"x": np.zeros((64, 2), np.float32)}).batch(8)


def torch_loader(**options):
    torch = pytest.importorskip("torch")
    from drapps.torch import DataLoader

    return DataLoader(torch.utils.data.TensorDataset(torch.zeros(64, 2)), 8, **options)


@pytest.mark.parametrize(
    "make",
    [arrays, torch_loader, lambda: torch_loader(lift=False, num_workers=1)],
    ids=["builder", "lifted", "workers"],
)
def test_it_is_seen_from_the_first_pass_to_the_end_of_the_last(make):
    before = seen()
    loader = make()
    assert seen() == before
    for _ in range(2):
        list(loader)
        assert len(seen() - before) == 1
    iterator = iter(loader)
    next(iterator)
    held = weakref.ref(loader)
    del loader
    assert len(seen() - before) == 1
    observer = next(each for each in observers() if each.number not in before)
    assert '"stats"' in observer.to_json(0.0)
    del observer, iterator
    assert seen() == before and held() is None


def test_of_python_code_without_workers_nothing_is_seen():
    before = seen()
    loader = torch_loader(lift=False)
    list(loader)
    assert seen() == before
    assert loader.stats().batches == 0


def test_what_a_loader_was_before_another_batch_size_is_not_kept():
    loader = arrays()
    list(loader)
    earlier = sys.getrefcount(loader._native)
    native = loader._native
    loader.set_batch_size(4)
    assert sys.getrefcount(native) < earlier
    assert len(list(loader)) == 16
