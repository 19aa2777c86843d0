"""``timeout``: how long one batch may take to come."""

import time

import pytest

from python.tests.torch_contract.forks import in_child
from python.tests.torch_contract.samples import Calls, Counting, Squares, plain


def slow(index):
    if index == 2:
        time.sleep(120)
    return index


def waited(loader_class, arguments):
    iterator = iter(loader_class(Calls(slow, 6), timeout=3, **arguments))
    samples = [int(next(iterator)), int(next(iterator))]
    began = time.monotonic()
    with pytest.raises(RuntimeError, match=r"^DataLoader timed out after 3 seconds$"):
        next(iterator)
    return samples, time.monotonic() - began


@pytest.mark.parametrize(
    "arguments", [pytest.param({"num_workers": 1}, marks=pytest.mark.full), {"num_workers": 2}]
)
def test_a_batch_that_takes_longer_is_an_error(loader_class, arguments):
    samples, seconds = in_child(waited, loader_class, arguments)
    assert samples == [0, 1]
    assert 2.9 < seconds < 100  # not what the sample takes


def test_batches_that_come_in_time_are_not(loader_class):
    for dataset in (Squares(4), Counting(4)):
        loader = loader_class(dataset, 2, num_workers=1, timeout=300)
        assert len(plain(loader)) == 2


def test_the_time_that_training_takes_does_not_count(loader_class):
    iterator = iter(loader_class(Squares(6), num_workers=1, prefetch_factor=2, timeout=300))
    samples = []
    for batch in iterator:
        time.sleep(0.05)
        samples.append(int(batch))
    assert samples == [0, 1, 4, 9, 16, 25]
