"""Streams: each worker runs its own copy, and the batches come in turns."""

import pytest
import torch
from torch.utils import data

from python.tests.cells import some_full
from python.tests.torch_contract.samples import (
    Counting,
    Sharded,
    Uneven,
    flat,
    identity,
    plain,
    worker_id,
)


def test_without_workers_the_stream_is_batched(loader_class):
    assert plain(loader_class(Counting(5), 2)) == [[0, 1], [2, 3], [4]]
    assert plain(loader_class(Counting(5), 2, drop_last=True)) == [[0, 1], [2, 3]]


def test_one_worker_gives_the_same(loader_class):
    assert plain(loader_class(Counting(5), 2, num_workers=1)) == [[0, 1], [2, 3], [4]]


def test_workers_take_turns_batch_by_batch(loader_class):
    loader = loader_class(Sharded(12), 2, num_workers=2)
    assert plain(loader) == [[0, 2], [1, 3], [4, 6], [5, 7], [8, 10], [9, 11]]


def test_a_stream_that_does_not_shard_is_given_by_each_worker(loader_class):
    assert sorted(flat(loader_class(Counting(4), num_workers=2))) == [0, 0, 1, 1, 2, 2, 3, 3]


def test_a_worker_that_ends_sooner_is_left_out_of_the_turns(loader_class):
    loader = loader_class(Uneven([1, 5, 3]), 1, num_workers=3, prefetch_factor=2)
    reference = data.DataLoader(Uneven([1, 5, 3]), 1, num_workers=3, prefetch_factor=2)
    samples = flat(loader)
    assert sorted(samples) == [0, 100, 101, 102, 103, 104, 200, 201, 202]
    assert samples == flat(reference)


@pytest.mark.parametrize("sizes", some_full([[0, 3], [3, 0], [0, 0], [7, 1]], [0, 3], [7, 1]))
def test_the_batches_are_those_of_stock_however_uneven_the_shards(loader_class, sizes):
    for drop_last in (False, True):
        arguments = {"batch_size": 2, "num_workers": 2, "drop_last": drop_last}
        expected = plain(data.DataLoader(Uneven(sizes), **arguments))
        assert plain(loader_class(Uneven(sizes), **arguments)) == expected


@pytest.mark.parametrize("prefetch_factor", [1, 2])
@pytest.mark.parametrize("dataset", [Uneven([3, 3]), [0, 1, 2, 100, 101, 102]])
def test_every_pass_of_persistent_workers_is_whole(loader_class, dataset, prefetch_factor):
    arguments = {"persistent_workers": True, "prefetch_factor": prefetch_factor}
    loader = loader_class(dataset, 2, num_workers=2, **arguments)
    for _ in range(3):
        assert sorted(flat(loader)) == [0, 1, 2, 100, 101, 102]


def test_each_worker_drops_its_own_last_batch(loader_class):
    loader = loader_class(Uneven([3, 5]), 2, drop_last=True, num_workers=2)
    assert plain(loader) == [[0, 1], [100, 101], [102, 103]]


def test_samples_come_one_by_one_without_a_batch_size(loader_class):
    for workers in (0, 1):
        samples = list(loader_class(Counting(3), batch_size=None, num_workers=workers))
        assert samples == [0, 1, 2]
        assert all(type(sample) is int for sample in samples)


def test_each_epoch_runs_the_stream_anew(loader_class):
    for persistent in (False, True):
        loader = loader_class(Sharded(6), 2, num_workers=2, persistent_workers=persistent)
        assert plain(loader) == plain(loader) == [[0, 2], [1, 3], [4], [5]]


class OneShot(data.IterableDataset):
    """Its own iterator, as files are."""

    def __init__(self, size):
        self.left = size

    def __iter__(self):
        return self

    def __next__(self):
        if self.left == 0:
            raise StopIteration
        self.left -= 1
        return self.left


def test_without_workers_the_dataset_itself_runs_and_is_used_up(loader_class):
    dataset = OneShot(3)
    loader = loader_class(dataset, 2)
    assert plain(loader) == [[2, 1], [0]]
    assert dataset.left == 0
    assert plain(loader) == []


def test_workers_run_copies_of_the_dataset(loader_class):
    dataset = OneShot(3)
    loader = loader_class(dataset, 2, num_workers=1)
    assert plain(loader) == plain(loader) == [[2, 1], [0]]
    assert dataset.left == 3


def test_persistent_workers_keep_their_copies(loader_class):
    loader = loader_class(OneShot(3), 2, num_workers=1, persistent_workers=True)
    assert plain(loader) == [[2, 1], [0]]
    assert plain(loader) == []


def test_chained_streams(loader_class):
    for workers in (0, 1):
        for chained in (Counting(2) + Counting(3), data.ChainDataset([Counting(2), Counting(3)])):
            assert flat(loader_class(chained, num_workers=workers)) == [0, 1, 0, 1, 2]


class Breaks(data.IterableDataset):
    """Yields two samples, and raises."""

    def __iter__(self):
        yield 0
        yield 1
        raise ValueError("the stream broke")


def test_an_error_in_the_stream_is_raised_where_it_happened(loader_class):
    for workers in (0, 1):
        iterator = iter(loader_class(Breaks(), num_workers=workers))
        assert [int(next(iterator)), int(next(iterator))] == [0, 1]
        with pytest.raises(ValueError, match="the stream broke"):
            next(iterator)
        assert list(iterator) == []


class Refuses(data.IterableDataset):
    def __iter__(self):
        raise RuntimeError("no iterator today")


def test_an_error_in_iter_is_raised(loader_class):
    for workers in (0, 2):
        with pytest.raises(RuntimeError, match="no iterator today"):
            list(loader_class(Refuses(), num_workers=workers))


class Endless(data.IterableDataset):
    def __iter__(self):
        number = worker_id()
        while True:
            yield number


def test_an_endless_stream_can_be_left(loader_class):
    iterator = iter(loader_class(Endless(), 2, num_workers=2))
    assert plain(next(iterator) for _ in range(6)) == [[0, 0], [1, 1]] * 3


class Batches(data.IterableDataset):
    """Yields what is no single sample, and dicts of tensors."""

    def __iter__(self):
        for number in range(3):
            yield {"number": torch.full((number + 1,), number)}


def test_streams_of_ready_batches(loader_class):
    for workers in (0, 1):
        loader = loader_class(Batches(), batch_size=None, num_workers=workers)
        assert [batch["number"].tolist() for batch in loader] == [[0], [1, 1], [2, 2, 2]]
        raw = loader_class(Batches(), 2, collate_fn=identity, num_workers=workers)
        assert [len(batch) for batch in raw] == [2, 1]
