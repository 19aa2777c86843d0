"""Datasets, and functions that workers call, of the contract; worker processes import them."""

import os
import random
import signal
import time
from collections import namedtuple

import numpy as np
import torch
from torch.utils import data

Pair = namedtuple("Pair", ["left", "right"])


class Squares(data.Dataset):
    """The squares of the indices; the samples named by `broken` raise ValueError."""

    def __init__(self, size=10, broken=()):
        self.size = size
        self.broken = broken

    def __len__(self):
        return self.size

    def __getitem__(self, index):
        if index in self.broken:
            raise ValueError(f"sample {index} is broken")
        return index * index


class Calls(data.Dataset):
    """Whatever a function gives for an index."""

    def __init__(self, function, size=10):
        self.function = function
        self.size = size

    def __len__(self):
        return self.size

    def __getitem__(self, index):
        return self.function(index)


class Bulk(Squares):
    """A dataset that fetches whole batches, and tells how large they were."""

    def __getitem__(self, index):
        raise AssertionError("__getitems__ is to be used")

    def __getitems__(self, indices):
        return [(index * index, len(indices)) for index in indices]


class Counting(data.IterableDataset):
    """0 to `size`, the same in each worker."""

    def __init__(self, size=10):
        self.size = size

    def __iter__(self):
        return iter(range(self.size))


class Sized(Counting):
    """The same, and it says how many."""

    def __len__(self):
        return self.size


class Sharded(data.IterableDataset):
    """0 to `size`, each worker every n-th."""

    def __init__(self, size=10):
        self.size = size

    def __iter__(self):
        info = data.get_worker_info()
        first, step = (0, 1) if info is None else (info.id, info.num_workers)
        return iter(range(first, self.size, step))


class Uneven(data.IterableDataset):
    """Worker i yields ``sizes[i]`` numbers from 100·i on."""

    def __init__(self, sizes):
        self.sizes = sizes

    def __iter__(self):
        number = data.get_worker_info().id
        return iter(range(100 * number, 100 * number + self.sizes[number]))


def draws(_=None):
    """One number from each of the three global generators."""
    return [torch.rand(()).item(), random.random(), float(np.random.rand())]


def drawn(index):
    """The index, and numbers drawn for it."""
    return torch.tensor([float(index), *draws()], dtype=torch.float64)


def worker(_=None):
    """What a worker knows of itself: id, number of workers, seed, torch's seed, threads."""
    info = data.get_worker_info()
    return [info.id, info.num_workers, info.seed, torch.initial_seed(), torch.get_num_threads()]


def worker_id(_=None):
    """The worker's id, -1 outside of any."""
    info = data.get_worker_info()
    return -1 if info is None else info.id


def process(_=None):
    """The process that runs this."""
    return os.getpid()


def parent_process(_=None):
    """The parent of the process that runs this."""
    return os.getppid()


def identity(value):
    """`value`."""
    return value


def die(index):
    """Sample 5 kills its process."""
    if index == 5:
        os.kill(os.getpid(), signal.SIGKILL)
    return index


def sleep_at_3(index):
    """Sample 3 takes a while."""
    if index == 3:
        time.sleep(0.6)
    return index


def plain(batches):
    """Batches as nested lists."""
    return [batch.tolist() for batch in batches]


def flat(batches):
    """All samples of batches in one list."""
    return [sample for batch in batches for sample in batch.tolist()]
