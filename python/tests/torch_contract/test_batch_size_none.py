"""Without automatic batching: samples one by one, or batches that the dataset makes."""

import numpy as np
import pytest
import torch

from python.tests.torch_contract.samples import Calls, Counting, Pair, Squares, worker_id

workers = pytest.mark.parametrize("workers", [0, 2])


@workers
def test_samples_come_one_by_one_as_they_are(loader_class, workers):
    samples = list(loader_class(Squares(5), batch_size=None, num_workers=workers))
    assert samples == [0, 1, 4, 9, 16]
    assert all(type(sample) is int for sample in samples)


def containers(index):
    return {"array": np.full(2, index), "pair": Pair(np.float64(index), "text"), "list": [index]}


@workers
def test_arrays_become_tensors_and_nothing_else_changes(loader_class, workers):
    samples = list(loader_class(Calls(containers, 3), batch_size=None, num_workers=workers))
    for index, sample in enumerate(samples):
        assert torch.equal(sample["array"], torch.tensor([index, index]))
        assert type(sample["pair"]) is Pair
        assert torch.equal(sample["pair"].left, torch.tensor(index, dtype=torch.float64))
        assert sample["pair"].right == "text"
        assert sample["list"] == [index]
        assert type(sample["list"][0]) is int


@workers
def test_collate_gets_each_sample_by_itself(loader_class, workers):
    loader = loader_class(
        Squares(4), batch_size=None, collate_fn=str, num_workers=workers, shuffle=False
    )
    assert list(loader) == ["0", "1", "4", "9"]


def bulk(indices):
    assert isinstance(indices, list)
    return torch.tensor(indices) * 10


@workers
def test_a_sampler_may_give_whole_lists_of_indices(loader_class, workers):
    lists = [[1, 2], [3], [4, 5, 6]]
    loader = loader_class(Calls(bulk), batch_size=None, sampler=lists, num_workers=workers)
    assert [batch.tolist() for batch in loader] == [[10, 20], [30], [40, 50, 60]]
    assert len(loader) == 3


@workers
def test_shuffled_samples_come_each_once(loader_class, workers):
    loader = loader_class(Squares(20), batch_size=None, shuffle=True, num_workers=workers)
    assert sorted(loader) == [index * index for index in range(20)]


def test_workers_take_turns_sample_by_sample(loader_class):
    loader = loader_class(Calls(worker_id, 6), batch_size=None, num_workers=2)
    assert list(loader) == [0, 1, 0, 1, 0, 1]


@workers
def test_streams_give_their_samples(loader_class, workers):
    samples = sorted(loader_class(Counting(3), batch_size=None, num_workers=workers))
    assert samples == sorted([0, 1, 2] * max(1, workers))


@workers
def test_a_sample_that_is_one_tensor_keeps_its_shape(loader_class, workers):
    loader = loader_class(torch.arange(6).reshape(3, 2), batch_size=None, num_workers=workers)
    assert [sample.tolist() for sample in loader] == [[0, 1], [2, 3], [4, 5]]
