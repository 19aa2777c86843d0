"""``persistent_workers``: one iterator, one set of processes, any number of epochs."""

import torch
from torch.utils import data

from python.tests.torch_contract.conftest import children, each_order
from python.tests.torch_contract.samples import (
    Calls,
    Counting,
    Squares,
    flat,
    plain,
    process,
    worker,
)


def test_the_iterator_is_the_same_object_reset(loader_class):
    loader = loader_class(Squares(4), 2, num_workers=1, persistent_workers=True)
    assert loader._iterator is None
    first = iter(loader)
    assert loader._iterator is first
    assert plain(first) == [[0, 1], [4, 9]]
    second = iter(loader)
    assert second is first
    assert plain(second) == [[0, 1], [4, 9]]
    assert list(second) == []


@each_order
def test_the_processes_stay(loader_class):
    loader = loader_class(
        Calls(process, 8), batch_size=None, num_workers=1, persistent_workers=True
    )
    before = children()
    first = set(loader)
    alive = children() - before
    assert first & alive
    again = set(loader)
    assert first & again
    assert alive <= children()


def test_without_it_each_epoch_has_processes_of_its_own(loader_class):
    loader = loader_class(Calls(process, 8), batch_size=None, num_workers=1)
    assert not set(loader) & set(loader)


@each_order
def test_leaving_an_epoch_half_way_leaves_nothing_of_it_for_the_next(loader_class):
    loader = loader_class(Squares(20), 2, num_workers=2, persistent_workers=True)
    whole = [[n * n, (n + 1) ** 2] for n in range(0, 20, 2)]
    for taken in (0, 1, 5, 10):
        iterator = iter(loader)
        assert plain(next(iterator) for _ in range(taken)) == whole[:taken]
    assert plain(loader) == whole


def test_streams_begin_anew(loader_class):
    loader = loader_class(Counting(5), 2, num_workers=2, persistent_workers=True)
    whole = sorted([[0, 1], [2, 3], [4]] * 2)
    for taken in (0, 1, 4, 6):
        iterator = iter(loader)
        for _ in range(taken):
            next(iterator)
    assert sorted(plain(loader)) == whole


@each_order
def test_each_epoch_is_shuffled_apart_and_as_under_stock(loader_class):
    def run(kind):
        torch.manual_seed(9)
        loader = kind(Squares(30), 4, True, num_workers=2, persistent_workers=True)
        return [flat(loader) for _ in range(3)]

    orders = run(loader_class)
    assert orders == run(data.DataLoader)
    assert len({tuple(order) for order in orders}) == 3


class Remembers(data.Dataset):
    """Counts the samples that this copy has made."""

    def __init__(self):
        self.count = 0

    def __len__(self):
        return 6

    def __getitem__(self, index):
        self.count += 1
        return self.count


def test_a_copy_keeps_what_it_has_learnt(serial_class):
    loader = serial_class(Remembers(), batch_size=None, num_workers=1, persistent_workers=True)
    assert list(loader) == [1, 2, 3, 4, 5, 6]
    assert list(loader) == [7, 8, 9, 10, 11, 12]
    fresh = serial_class(Remembers(), batch_size=None, num_workers=1)
    assert list(fresh) == list(fresh) == [1, 2, 3, 4, 5, 6]


class Start(data.Dataset):
    """A number that the training process changes."""

    def __init__(self):
        self.start = 0

    def __len__(self):
        return 8

    def __getitem__(self, index):
        return self.start


def test_changes_of_the_dataset_come_too_late_for_workers_that_stay(loader_class):
    dataset = Start()
    staying = loader_class(dataset, batch_size=None, num_workers=2, persistent_workers=True)
    fresh = loader_class(dataset, batch_size=None, num_workers=2)
    for number in range(3):
        dataset.start = number
        assert set(staying) == {0}
        assert set(fresh) == {number}


@each_order
def test_identity_and_seeds_stay(loader_class):
    loader = loader_class(Calls(worker, 6), batch_size=None, num_workers=2, persistent_workers=True)
    assert list(loader) == list(loader)


def test_an_error_is_no_end(loader_class):
    loader = loader_class(Squares(6, broken=(2,)), num_workers=1, persistent_workers=True)
    for _ in range(2):
        iterator = iter(loader)
        assert [next_or_none(iterator) for _ in range(6)] == [0, 1, None, 9, 16, 25]


def next_or_none(iterator):
    try:
        return int(next(iterator))
    except ValueError:
        return None


def test_two_such_loaders_do_not_mix(loader_class):
    one = loader_class(Squares(4), 2, num_workers=1, persistent_workers=True)
    two = loader_class(Counting(4), 2, num_workers=1, persistent_workers=True)
    for _ in range(2):
        pairs = [(a.tolist(), b.tolist()) for a, b in zip(one, two, strict=True)]
        assert pairs == [([0, 1], [0, 1]), ([4, 9], [2, 3])]
