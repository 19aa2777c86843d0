"""Datasets whose virtual workers migrate between processes, and how they are made to."""

import random
import time

import numpy as np
import torch
from torch.utils import data

DEADLINE = 600.0  # seconds, against hanging


class Counter:
    """Numbers from a place on, with what is drawn for each."""

    def __init__(self, numbers, fails=False):
        self.numbers = list(numbers)
        self.place = 0
        self.fails = fails

    def __iter__(self):
        return self

    def __next__(self):
        if self.place >= len(self.numbers):
            raise StopIteration
        self.place += 1
        number = self.numbers[self.place - 1]
        info = data.get_worker_info()
        return number, random.random(), np.random.rand(), torch.rand(2), info.id, info.seed

    def state_dict(self):
        """Where it is."""
        return {"place": self.place}

    def load_state_dict(self, state):
        """Goes on from there."""
        if self.fails:
            raise ValueError("this state is of no use")
        self.place = state["place"]


class Stateful(data.IterableDataset):
    """A stream that can be resumed, other numbers in each pass."""

    def __init__(self, fails=False):
        self.passes = 0
        self.fails = fails

    def __iter__(self):
        info = data.get_worker_info()
        self.passes += 1
        torch.rand(1)  # beginning draws, too
        return Counter(range(1000 * self.passes + info.id, 1000 * self.passes + 70, 4), self.fails)


class Generated(Stateful):
    """A stream that cannot."""

    def __iter__(self):
        numbers = super().__iter__()
        yield from numbers


class Placed(data.IterableDataset):
    """A stream that looks at its state as late as with the first number."""

    place = 0

    def __init__(self):
        self.begin = 0

    def __iter__(self):
        info = data.get_worker_info()
        self.place, self.begin = self.begin, 0
        for number in range(self.place * info.num_workers + info.id, 90, info.num_workers):
            self.place += 1
            yield number, torch.rand(2)

    def state_dict(self):
        """Where it is."""
        return {"place": self.place}

    def load_state_dict(self, state):
        """Goes on from there."""
        self.begin = state["place"]


class Mapped(data.Dataset):
    """Draws, and counts what it was asked."""

    def __init__(self, more=None):
        self.asked = np.zeros(100)
        self.seen = torch.zeros(200)
        self.more = more

    def __len__(self):
        return 100

    def __getitem__(self, index):
        self.asked += 1
        self.seen += 2
        info = data.get_worker_info()
        counts = self.asked[0], self.seen[7].clone()
        return index, random.random(), np.random.rand(), torch.rand(2), info.id, *counts


def passes(loader, count=2, migrated_to=None, after=2, pauses=False, back_to=None):
    """All batches of some passes; after a few fewer processes are enough, then not.

    With `pauses` no batch is taken until all have migrated.
    """
    torch.manual_seed(3)
    batches = []
    for _ in range(count):
        iterator = iter(loader)
        for number, batch in enumerate(iterator):
            for target, place in ((migrated_to, after), (back_to, after + 3)):
                if target and number == place:
                    aim(iterator, target)
                    if pauses:
                        assert settled(iterator, target)
            batches.append([torch.as_tensor(field) for field in batch])
    return batches


def aim(iterator, processes):
    """So many are wanted from now on, whatever the loader's own trials would find."""
    iterator._knob.freeze(True)
    iterator._control.want(processes)
    iterator._processes.autoscaler.step()


def same(left, right):
    """Batches are equal."""
    assert len(left) == len(right)
    for one, other in zip(left, right, strict=True):
        for a, b in zip(one, other, strict=True):
            assert torch.equal(a, b)


def log(loader):
    """Entries of the log of decisions."""
    return loader.explain()["decisions"]["entries"]


def settled(iterator, processes):
    """The iterator has come to so many processes."""
    end = time.monotonic() + DEADLINE
    while not (stands := _stands(iterator, processes)) and time.monotonic() < end:
        iterator._look_after()
        time.sleep(0.01)
    return stands


def _stands(iterator, processes):
    return (
        len(iterator._workers) == processes
        and not iterator._processes.autoscaler.migrations._under_way
    )
