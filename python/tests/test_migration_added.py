"""Virtual workers on fewer processes and on more again: as is wanted, or as cores are in use."""

import itertools
import os
import time

import pytest
import torch
from torch.utils import data

import drapps.torch
from python.tests.cells import full, some_full
from python.tests.migrating_datasets import (
    DEADLINE,
    Generated,
    Mapped,
    Stateful,
    aim,
    log,
    passes,
    same,
    settled,
)

ADDED = itertools.product([(1, 2), (1, 4), (2, 3)], (False, True), ("fork", "forkserver"))


@pytest.mark.parametrize(
    ("processes", "pauses", "method"), some_full(ADDED, ((1, 4), True, "fork"))
)
def test_processes_that_are_added_again_take_streams_over(processes, pauses, method):
    fewer, more = processes
    options = {"batch_size": 3, "num_workers": 4, "persistent_workers": True}
    stock = passes(data.DataLoader(Stateful(), **options), 3)
    loader = drapps.torch.DataLoader(Stateful(), multiprocessing_context=method, **options)
    same(passes(loader, 3, fewer, pauses=pauses, back_to=more), stock)
    assert settled(loader._iterator, more)
    counts = [each["processes"] for each in log(loader) if "processes" in each]
    assert counts[-1] == more
    assert min(counts) == fewer or not pauses


@pytest.mark.parametrize("pauses", [False, full(True)])
def test_processes_that_are_added_again_keep_the_stock_order(pauses):
    options = {"batch_size": 2, "num_workers": 3, "shuffle": True, "persistent_workers": True}
    stock = passes(data.DataLoader(Mapped(), **options))
    loader = drapps.torch.DataLoader(Mapped(), torch_order=True, **options)
    same(passes(loader, migrated_to=1, pauses=pauses, back_to=3), stock)
    assert settled(loader._iterator, 3)


@pytest.mark.full
def test_streams_that_cannot_go_leave_no_process_without_work():
    options = {"batch_size": 3, "num_workers": 3, "persistent_workers": True}
    stock = passes(data.DataLoader(Generated(), **options), 2)
    loader = drapps.torch.DataLoader(Generated(), **options)
    same(passes(loader, 1, migrated_to=1), stock[: len(stock) // 2])
    assert settled(loader._iterator, 1)
    iterator = iter(loader)
    first = next(iterator)
    aim(iterator, 3)
    rest = [first, *iterator]
    assert settled(loader._iterator, 3)
    same([[torch.as_tensor(field) for field in batch] for batch in rest], stock[len(stock) // 2 :])
    stays = [each for each in log(loader) if "stays" in each["why"]]
    assert stays


class Busy(data.IterableDataset):
    """Endless, keeps a core busy, and tells which process did."""

    def __iter__(self):
        return self

    def __next__(self):
        end = time.thread_time() + 0.01
        while time.thread_time() < end:
            pass
        return os.getpid()

    def state_dict(self):
        return {}

    def load_state_dict(self, state):
        pass


class BusyThenSlow(Busy):
    """The same for 200 numbers; then it waits for something."""

    number = 0

    def __next__(self):
        self.number += 1
        if self.number <= 200:
            return super().__next__()
        time.sleep(0.02)
        return os.getpid()

    def state_dict(self):
        return {"number": self.number}

    def load_state_dict(self, state):
        self.number = state["number"]


@pytest.mark.full
def test_streams_that_share_a_process_get_their_own_again_where_that_helps():
    loader = drapps.torch.DataLoader(BusyThenSlow(), 4, num_workers=3, cpu_budget=0.2)
    end = time.monotonic() + DEADLINE
    iterator = iter(loader)
    fewest = 3
    for _ in iterator:
        fewest = min(fewest, len(iterator._processes.pool.active))
        if (fewest == 1 and len(iterator._processes.pool.active) > 1) or time.monotonic() > end:
            break
    assert fewest == 1
    assert len(iterator._processes.pool.active) > 1
    assert any("the consumer waits" in each["why"] for each in log(loader))


@pytest.mark.full
def test_streams_share_a_process_where_more_cores_are_in_use_than_the_budget_has():
    loader = drapps.torch.DataLoader(Busy(), 4, num_workers=3, cpu_budget=0.1)  # whatever else runs
    end = time.monotonic() + DEADLINE
    iterator = iter(loader)
    for _ in iterator:
        if len(iterator._processes.pool.active) == 1 or time.monotonic() > end:
            break
    entries = log(loader)
    assert [each["processes"] for each in entries if "processes" in each] == [2, 1]
    cuts = [each for each in entries if each["knob"] == "processes"]
    assert cuts[-1]["applied"] == 1
    assert "more processes than the cores are enough for" in cuts[-1]["why"]
