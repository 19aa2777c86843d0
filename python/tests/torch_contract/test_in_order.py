"""``in_order=False``: what is ready first comes first."""

import time

from torch.utils import data

from python.tests.torch_contract.conftest import each_order
from python.tests.torch_contract.samples import (
    Calls,
    Sharded,
    Squares,
    flat,
    identity,
    sleep_at_3,
    worker_id,
)


def test_every_sample_comes_once(loader_class):
    for workers in (0, 1, 2):
        loader = loader_class(Squares(23), 4, num_workers=workers, in_order=False)
        for _ in range(2):
            assert sorted(flat(loader)) == [n * n for n in range(23)]
        assert len(loader) == 6


@each_order
def test_a_slow_sample_does_not_hold_up_the_others(loader_class):
    loader = loader_class(Calls(sleep_at_3, 12), num_workers=2, in_order=False)
    samples = flat(loader)
    assert sorted(samples) == list(range(12))
    assert samples.index(3) > 3


def test_by_default_it_does(loader_class):
    assert flat(loader_class(Calls(sleep_at_3, 12), num_workers=2)) == list(range(12))


def test_without_workers_it_means_nothing(loader_class):
    loader = loader_class(Calls(identity, 6), 2, in_order=False)
    assert flat(loader) == [0, 1, 2, 3, 4, 5]


class SlowFirst(data.IterableDataset):
    """The first worker takes its time."""

    def __iter__(self):
        for _ in range(3):
            if worker_id() == 0:
                time.sleep(0.3)
            yield worker_id()


def test_a_slow_stream_does_not_hold_up_the_others(loader_class):
    samples = flat(loader_class(SlowFirst(), num_workers=2, in_order=False))
    assert sorted(samples) == [0, 0, 0, 1, 1, 1]
    assert samples[0] == 1


def test_streams_come_whole(loader_class):
    loader = loader_class(Sharded(31), 3, num_workers=3, in_order=False)
    assert sorted(flat(loader)) == list(range(31))


def test_persistent_workers_give_whole_epochs(loader_class):
    loader = loader_class(Squares(9), 2, num_workers=2, in_order=False, persistent_workers=True)
    for _ in range(3):
        next(iter(loader))
        assert sorted(flat(loader)) == [n * n for n in range(9)]
