"""Batch samplers whose batches are no lists, and samplers that never end."""

import itertools
from collections import deque

import pytest
import torch
from torch.utils import data

from python.tests.cells import some_full
from python.tests.torch_contract.samples import Squares, plain

workers = pytest.mark.parametrize("workers", [0, 2])


class Batches:
    """The batches of a list, each made by `kind`."""

    def __init__(self, kind, batches=((1,), (2, 3), (0, 5))):
        self.kind = kind
        self.batches = batches

    def __iter__(self):
        return map(self.kind, self.batches)

    def __len__(self):
        return len(self.batches)


KINDS = {
    "set": set,
    "frozenset": frozenset,
    "deque": deque,
    "dict": dict.fromkeys,
    "tensor": torch.tensor,
}
UNSENT = {"keys": lambda batch: dict.fromkeys(batch).keys(), "generator": lambda b: (i for i in b)}


@workers
@pytest.mark.parametrize("kind", some_full(KINDS, "set", "tensor"))
def test_a_batch_is_any_iterable(loader_class, workers, kind):
    loader = loader_class(Squares(), batch_sampler=Batches(KINDS[kind]), num_workers=workers)
    assert plain(loader) == plain(loader) == [[1], [4, 9], [0, 25]]


def test_a_set_has_the_order_that_it_has_in_a_worker(loader_class):
    collide = Batches(set, [(0, 3, 11), (5, 13, 2)])
    stock = plain(data.DataLoader(Squares(20), batch_sampler=collide, num_workers=1))
    assert plain(loader_class(Squares(20), batch_sampler=collide, num_workers=1)) == stock
    assert stock != plain(data.DataLoader(Squares(20), batch_sampler=collide))


@pytest.mark.parametrize("kind", UNSENT)
def test_without_workers_it_need_not_be_picklable(loader_class, kind):
    assert plain(loader_class(Squares(), batch_sampler=Batches(UNSENT[kind]))) == [
        [1],
        [4, 9],
        [0, 25],
    ]


@pytest.mark.parametrize("kind", UNSENT)
def test_with_workers_ours_sends_it_as_a_list(loader_class, kind):
    if loader_class is data.DataLoader:
        pytest.skip("the stock loader waits for ever")
    loader = loader_class(Squares(), batch_sampler=Batches(UNSENT[kind]), num_workers=2)
    assert plain(loader) == [[1], [4, 9], [0, 25]]


class Endless(data.Sampler):
    """0, 1, 2, 0, 1, …, of which it says that there are three."""

    def __iter__(self):
        return itertools.cycle(range(3))

    def __len__(self):
        return 3


@workers
@pytest.mark.parametrize("dataset", ["python", "lifted"])
@pytest.mark.parametrize("batched", [False, True])
def test_an_endless_sampler_with_a_length_is_read_as_needed(
    loader_class, workers, dataset, batched
):
    values = torch.arange(10) ** 2
    source = Squares() if dataset == "python" else data.TensorDataset(values)
    order = {"sampler": Endless(), "batch_size": 2}
    if batched:
        order = {"batch_sampler": data.BatchSampler(Endless(), 2, False)}
    iterator = iter(loader_class(source, num_workers=workers, **order))
    numbers = []
    for _ in range(9):
        batch = next(iterator)
        numbers += (batch if dataset == "python" else batch[0]).tolist()
    assert numbers == [0, 1, 4] * 6
