"""Which sample comes where."""

import functools

import pytest
import torch
from torch.utils import data

from python.tests.cells import some_full
from python.tests.torch_contract.conftest import each_order
from python.tests.torch_contract.samples import (
    Bulk,
    Calls,
    Squares,
    flat,
    identity,
    plain,
    sleep_at_3,
)

workers = pytest.mark.parametrize("workers", some_full([0, 1, 3], 0, 3))


@each_order
@workers
def test_batches_come_in_the_order_of_the_dataset(loader_class, workers):
    loader = loader_class(Squares(7), 3, num_workers=workers)
    assert plain(loader) == [[0, 1, 4], [9, 16, 25], [36]]
    assert plain(loader) == [[0, 1, 4], [9, 16, 25], [36]]


@workers
def test_the_last_batch_is_dropped_only_where_it_is_smaller(loader_class, workers):
    arguments = {"batch_size": 3, "drop_last": True, "num_workers": workers}
    assert plain(loader_class(Squares(7), **arguments)) == [[0, 1, 4], [9, 16, 25]]
    assert plain(loader_class(Squares(6), **arguments)) == [[0, 1, 4], [9, 16, 25]]
    assert plain(loader_class(Squares(2), **arguments)) == []


@each_order
@workers
@pytest.mark.parametrize("seeded", ["global", "own"])
def test_shuffling_gives_the_order_of_stock(loader_class, workers, seeded):
    orders = shuffled(loader_class, workers, seeded)
    assert orders == shuffled_by_stock(workers, seeded)
    assert sorted(orders[0]) == sorted(orders[1]) == [n * n for n in range(50)]
    assert orders[0] != orders[1]


def shuffled(kind, workers, seeded):
    """Two epochs."""
    own = torch.Generator().manual_seed(4) if seeded == "own" else None
    torch.manual_seed(6)
    loader = kind(Squares(50), 4, shuffle=True, num_workers=workers, generator=own)
    return [flat(loader), flat(loader)]


@functools.cache
def shuffled_by_stock(workers, seeded):
    return shuffled(data.DataLoader, workers, seeded)


@each_order
def test_a_slow_sample_does_not_change_the_order(loader_class):
    loader = loader_class(Calls(sleep_at_3, 12), 2, num_workers=2)
    assert plain(loader) == [[n, n + 1] for n in range(0, 12, 2)]


def test_large_batches_keep_their_order(loader_class):
    torch.manual_seed(0)
    order = torch.randperm(3000).tolist()
    loader = loader_class(Calls(identity, 3000), 1000, sampler=order, num_workers=2)
    assert flat(loader) == order


@workers
def test_datasets_that_fetch_whole_batches_do(loader_class, workers):
    loader = loader_class(Bulk(7), 3, num_workers=workers)
    values, sizes = zip(*loader, strict=True)
    assert plain(values) == [[0, 1, 4], [9, 16, 25], [36]]
    assert plain(sizes) == [[3, 3, 3], [3, 3, 3], [1]]
    part = loader_class(data.Subset(Bulk(7), [6, 2, 0]), 2, num_workers=workers)
    assert plain(values for values, _ in part) == [[36, 4], [0]]


def test_without_a_batch_size_samples_are_fetched_one_by_one(loader_class):
    for workers in (0, 1):
        with pytest.raises(AssertionError, match="__getitems__ is to be used"):
            list(loader_class(Bulk(), batch_size=None, num_workers=workers))
