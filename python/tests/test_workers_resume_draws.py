"""What streams have drawn, as states hold it: the rest of a run is the uninterrupted one's."""

import itertools
import json
import random

import pytest
import torch
from torch.utils import data

from drapps.torch import DataLoader
from python.tests.cells import cells, some_full


class Drawing(data.IterableDataset):
    """Draws with each sample, and once more at its end."""

    def __iter__(self):
        for i in range(4):
            yield torch.tensor([float(i), random.random()]) + torch.rand(2)
        torch.rand(1)


class Shuffling(data.IterableDataset):
    """Draws its order as soon as it begins."""

    def __iter__(self):
        return iter(torch.randperm(9).tolist())


class ShufflingLate(data.IterableDataset):
    """Draws its order with its first sample."""

    def __iter__(self):
        yield from torch.randperm(9).tolist()


class Unsendable(Drawing):
    """One of its batches cannot be sent; it has drawn for it all the same."""

    def __iter__(self):
        for i in range(4):
            value = torch.rand(2)
            yield (lambda: None) if i == 1 else value


class Counting(data.IterableDataset):
    """Knows how often it was begun."""

    begun = 0

    def __iter__(self):
        self.begun += 1
        return iter([torch.tensor([self.begun, i]) for i in range(4)])


def taken(iterator):
    """All that comes, with what is raised in its place."""
    while True:
        try:
            yield next(iterator).tolist()
        except StopIteration:  # noqa: PERF203
            return
        except TypeError:
            yield "not sent"


STREAMS = {
    "drop_last": (Drawing, {"batch_size": 3, "drop_last": True}),
    "odd": (Drawing, {"batch_size": 3}),
    "even": (Drawing, {"batch_size": 2}),
    "shuffling": (Shuffling, {"batch_size": 2}),
    "shuffling late": (ShufflingLate, {"batch_size": 2}),
    "unsendable": (Unsendable, {"batch_size": None, "collate_fn": lambda sample: sample}),
}


QUICK = [(0, "drop_last"), (1, "shuffling late"), (2, "even"), (2, "unsendable")]


@pytest.mark.parametrize(
    ("steps", "name"), some_full(itertools.product([0, 1, 2], STREAMS), *QUICK)
)
def test_a_second_pass_of_the_same_workers_goes_on_with_what_it_drew(name, steps):
    dataset, options = STREAMS[name]

    def make():
        return DataLoader(dataset(), num_workers=2, persistent_workers=True, **options)

    torch.manual_seed(4)
    loader = make()
    list(taken(iter(loader)))
    states = [loader.state_dict()] if steps == 0 else []
    iterator = iter(loader)
    for _ in range(steps):
        next(taken(iterator))
    states.append(loader.state_dict())
    rest = list(taken(iterator)), list(taken(iter(loader)))
    for state in states:
        torch.manual_seed(5)
        again = make()
        again.load_state_dict(json.loads(json.dumps(state)))
        iterator = iter(again)
        if steps:
            assert again.state_dict() == state
        assert (list(taken(iterator)), list(taken(iter(again)))) == rest


@pytest.mark.parametrize(("workers", "steps"), cells([0, 2], [1, 3]))
def test_a_stream_that_goes_on_is_begun_once(workers, steps):
    loader = DataLoader(Counting(), 2, num_workers=workers)
    iterator = iter(loader)
    for _ in range(min(steps, workers + 1)):
        next(iterator)
    again = DataLoader(Counting(), 2, num_workers=workers)
    again.load_state_dict(loader.state_dict())
    assert [batch.tolist() for batch in again] == [batch.tolist() for batch in iterator]


class FailingOnce:
    """An iterator that goes on behind what it raises."""

    def __init__(self):
        self.place = 0

    def __iter__(self):
        return self

    def __next__(self):
        self.place += 1
        if self.place == 2:
            raise TypeError("2")
        if self.place > 5:
            raise StopIteration
        return torch.tensor(self.place)


class OfAnIterator(data.IterableDataset):
    def __iter__(self):
        return FailingOnce()


@pytest.mark.parametrize("workers", [0, 1])
def test_a_batch_that_was_raised_counts(workers):
    loader = DataLoader(OfAnIterator(), None, num_workers=workers)
    iterator = iter(loader)
    given = taken(iterator)
    for _ in range(3):
        next(given)
    again = DataLoader(OfAnIterator(), None, num_workers=workers)
    again.load_state_dict(loader.state_dict())
    assert list(taken(iter(again))) == [4, 5]
