"""Loaders of Python datasets in many orders, their states, and the batches behind these."""

import json
import random

import torch
from torch.utils import data

import drapps.torch

SIZE = 97


class Drawn(data.Dataset):
    """Indices beside a random number of each library."""

    def __init__(self, size=SIZE):
        self.size = size

    def __len__(self):
        return self.size

    def __getitem__(self, index):
        return torch.tensor(index), torch.rand(2), random.random()


class Stateful(data.IterableDataset):
    """A stream that knows its place, and counts what it made in this process."""

    def __init__(self):
        self.place = 0
        self.count = 0

    def __iter__(self):
        while self.place < 20:
            self.place += 1
            self.count += 1
            yield torch.tensor([self.place, self.count])
        self.place = 0

    def state_dict(self):
        """Where it is."""
        return {"place": self.place}

    def load_state_dict(self, state):
        """Goes there."""
        self.place = state["place"]


class CountingSampler(data.Sampler):
    """A sampler with a state of its own, which runs ahead of what is yielded."""

    def __init__(self):
        self.place = 0

    def __iter__(self):
        while self.place < SIZE:
            self.place += 1
            yield (self.place * 5) % SIZE
        self.place = 0

    def __len__(self):
        return SIZE

    def state_dict(self):
        """Where it is."""
        return {"place": self.place}

    def load_state_dict(self, state):
        """Goes there."""
        self.place = state["place"]


def seeded_generator():
    """A new one, always of the same seed."""
    return torch.Generator().manual_seed(11)


ORDERS = {
    "sequential": lambda: {"batch_size": 8},
    "random": lambda: {"batch_size": 8, "shuffle": True},
    "generator": lambda: {"batch_size": 8, "shuffle": True, "generator": seeded_generator()},
    "replacement": lambda: {
        "batch_size": 8,
        "sampler": data.RandomSampler(range(SIZE), replacement=True, num_samples=50),
    },
    "subset": lambda: {"batch_size": 8, "sampler": data.SubsetRandomSampler(range(50))},
    "weighted": lambda: {
        "batch_size": 8,
        "sampler": data.WeightedRandomSampler([1.0] * SIZE, 60),
    },
    "distributed": lambda: {
        "batch_size": 8,
        "sampler": data.DistributedSampler(range(SIZE), 3, 1),
    },
    "own batches": lambda: {
        "batch_sampler": data.BatchSampler(data.SequentialSampler(range(60)), 7, False)
    },
    "lists": lambda: {"batch_sampler": [[1, 2], [3], [4, 5, 6], [7]]},
    "tensor": lambda: {"batch_size": 8, "sampler": torch.arange(50).flip(0)},
    "tensors": lambda: {"batch_sampler": torch.arange(50).split(8)},
    "no batches": lambda: {"batch_size": None, "sampler": range(12)},
    "stateful": lambda: {"batch_size": 8, "sampler": CountingSampler()},
    "drop last": lambda: {"batch_size": 10, "shuffle": True, "drop_last": True},
}


def loader_of(order, workers, dataset=Drawn, **options):
    """A loader of one of the orders."""
    return drapps.torch.DataLoader(dataset(), num_workers=workers, **ORDERS[order](), **options)


def uninterrupted(make):
    """All batches of a loader."""
    torch.manual_seed(1)
    return list(make())


def run_of(make):
    """All batches of a loader, and the state after each, as another process would read them."""
    torch.manual_seed(1)
    loader = make()
    iterator = iter(loader)
    batches, states = [], [json.dumps(loader.state_dict())]
    for batch in iterator:
        batches.append(batch)
        states.append(json.dumps(loader.state_dict()))
    return batches, [json.loads(state) for state in states]


def after(make, steps):
    """The state after some steps, as another process would read it."""
    torch.manual_seed(1)
    loader = make()
    iterator = iter(loader)
    for _ in range(steps):
        next(iterator)
    return json.loads(json.dumps(loader.state_dict()))


def rest(make, state):
    """What a loader gives that goes on from a state."""
    torch.manual_seed(999)
    loader = make()
    loader.load_state_dict(state)
    return list(loader)


def equal(left, right):
    """Whether batches are, whatever they hold."""
    if isinstance(left, (list, tuple)):
        return len(left) == len(right) and all(map(equal, left, right))
    return torch.equal(torch.as_tensor(left), torch.as_tensor(right))
