"""``worker_init_fn``: once per worker, after seeding and before any data."""

import random

import numpy as np
import pytest
import torch
from torch.utils import data

from python.tests.torch_contract.conftest import each_order
from python.tests.torch_contract.samples import Calls, Squares, draws, identity


class Marked(data.Dataset):
    """Tells what `mark` wrote into the worker's copy."""

    def __init__(self):
        self.marks = []

    def __len__(self):
        return 8

    def __getitem__(self, index):
        return self.marks


def mark(number):
    info = data.get_worker_info()
    assert info.seed == torch.initial_seed()
    info.dataset.marks.append((number, info.id, info.num_workers))


@each_order
def test_it_is_called_once_with_the_id_and_prepares_the_workers_copy(loader_class):
    dataset = Marked()
    loader = loader_class(dataset, 2, num_workers=2, worker_init_fn=mark, collate_fn=identity)
    for _ in range(2):
        batches = list(loader)
        assert batches == [[[(number % 2, number % 2, 2)]] * 2 for number in range(4)]
    assert dataset.marks == []


def test_persistent_workers_are_prepared_once(loader_class):
    loader = loader_class(
        Marked(),
        2,
        num_workers=2,
        worker_init_fn=mark,
        collate_fn=identity,
        persistent_workers=True,
    )
    for _ in range(3):
        assert list(loader) == [[[(number % 2, number % 2, 2)]] * 2 for number in range(4)]


def test_without_workers_it_is_not_called(loader_class):
    assert len(list(loader_class(Squares(), worker_init_fn=refuse))) == 10


def refuse(number):
    raise KeyError(f"worker {number} does not start")


def test_its_error_is_raised_at_the_first_batch_and_names_the_worker(loader_class):
    loader = loader_class(Squares(), num_workers=2, worker_init_fn=refuse)
    iterator = iter(loader)
    with pytest.raises(KeyError, match="in DataLoader worker process 0") as caught:
        next(iterator)
    assert "worker 0 does not start" in str(caught.value)
    assert "in refuse" in str(caught.value)


def test_closures_do_under_fork(loader_class):
    seen = []

    def remember(number):
        seen.append(number)

    def seen_there(_):
        return list(seen)

    loader = loader_class(
        Calls(seen_there, 4),
        num_workers=2,
        worker_init_fn=remember,
        collate_fn=lambda samples: samples[0],
        multiprocessing_context="fork",
    )
    assert list(loader) == [[0], [1], [0], [1]]
    assert seen == []


def torch_seed(_):
    torch.manual_seed(12345)


def test_the_torch_seed_that_it_sets_is_the_initial_one_of_its_samples(loader_class):
    loader = loader_class(
        Calls(initial, 4), batch_size=None, num_workers=2, worker_init_fn=torch_seed
    )
    assert list(loader) == [12345] * 4


def initial(_):
    return torch.initial_seed()


def numpy_seed(number):
    np.random.seed(torch.initial_seed() % 2**32)
    random.seed(number)


def test_reseeding_there_as_tutorials_show_gives_every_sample_its_own_numbers(loader_class):
    torch.manual_seed(0)
    loader = loader_class(
        Calls(draws, 8), batch_size=None, num_workers=2, worker_init_fn=numpy_seed
    )
    numpy_numbers = [sample[2] for sample in loader]
    assert len(set(numpy_numbers)) == 8


def threads(_):
    torch.set_num_threads(2)


def test_the_threads_that_it_sets_are_kept(loader_class):
    loader = loader_class(
        Calls(how_many, 4), batch_size=None, num_workers=1, worker_init_fn=threads
    )
    assert set(loader) == {2}


def how_many(_):
    return torch.get_num_threads()


class Lines(data.IterableDataset):
    """A range that the worker's preparation cuts, as PyTorch's documentation shows."""

    def __init__(self, start, end):
        self.start = start
        self.end = end

    def __iter__(self):
        return iter(range(self.start, self.end))


def cut(number):
    info = data.get_worker_info()
    each = -(-(info.dataset.end - info.dataset.start) // info.num_workers)
    info.dataset.start += number * each
    info.dataset.end = min(info.dataset.start + each, info.dataset.end)


def test_streams_can_be_sharded_there(loader_class):
    loader = loader_class(Lines(3, 10), batch_size=None, num_workers=2, worker_init_fn=cut)
    assert list(loader) == [3, 7, 4, 8, 5, 9, 6]
