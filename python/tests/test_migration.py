"""Virtual workers that are bound to processes, on fewer or more: it does not show in the data."""

import itertools
import os
import random
import time

import numpy as np
import pytest
import torch
from torch.utils import data

import drapps.torch
from drapps.torch.requests import Requests
from drapps.worker.autoscaler import MigrationAutoscaler

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
        return {"place": self.place}

    def load_state_dict(self, state):
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
        return {"place": self.place}

    def load_state_dict(self, state):
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
    assert len(left) == len(right)
    for one, other in zip(left, right, strict=True):
        for a, b in zip(one, other, strict=True):
            assert torch.equal(a, b)


def log(loader):
    return loader.explain()["decisions"]["entries"]


def settled(iterator, processes):
    """The iterator has come to so many processes."""
    end = time.monotonic() + DEADLINE
    while not (found := _stands(iterator, processes)) and time.monotonic() < end:
        iterator._look_after()
        time.sleep(0.01)
    return found


def _stands(iterator, processes):
    return (
        len(iterator._workers) == processes
        and not iterator._processes.autoscaler.migrations._under_way
    )


@pytest.mark.parametrize(
    "method",
    [
        "fork",
        pytest.param("spawn", marks=pytest.mark.full),
        pytest.param("forkserver", marks=pytest.mark.full),
    ],
)
@pytest.mark.parametrize("processes", [1, 2])
def test_a_stream_with_a_state_goes_on_elsewhere(processes, method):
    options = {"batch_size": 3, "num_workers": 4, "persistent_workers": True}
    stock = passes(data.DataLoader(Stateful(), **options))
    loader = drapps.torch.DataLoader(Stateful(), multiprocessing_context=method, **options)
    same(passes(loader, migrated_to=processes), stock)
    assert settled(loader._iterator, processes)
    counts = [each["processes"] for each in log(loader) if "processes" in each]
    assert counts == list(range(3, processes - 1, -1))
    went = [each["why"] for each in log(loader) if "went on" in each["why"]]
    assert went
    assert any("by the state_dict of its stream" in why for why in went)


QUICK = {((1, 4), True, "fork"), ((2, 3), False, "fork")}
ADDED = [
    pytest.param(*cell, marks=() if cell in QUICK else pytest.mark.full)
    for cell in itertools.product([(1, 2), (1, 4), (2, 3)], (False, True), ("fork", "forkserver"))
]


@pytest.mark.parametrize(("processes", "pauses", "method"), ADDED)
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


@pytest.mark.parametrize("pauses", [False, True])
def test_processes_that_are_added_again_keep_the_stock_order(pauses):
    options = {"batch_size": 2, "num_workers": 3, "shuffle": True, "persistent_workers": True}
    stock = passes(data.DataLoader(Mapped(), **options))
    loader = drapps.torch.DataLoader(Mapped(), torch_order=True, **options)
    same(passes(loader, migrated_to=1, pauses=pauses, back_to=3), stock)
    assert settled(loader._iterator, 3)


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


@pytest.mark.parametrize(
    "after", [1, 11, *(pytest.param(after, marks=pytest.mark.full) for after in (0, 4))]
)
def test_a_worker_that_migrates_twice_in_a_row_goes_on_where_it_was(after):
    options = {"batch_size": 1, "num_workers": 5, "prefetch_factor": 1}
    stock = passes(data.DataLoader(Placed(), **options))
    loader = drapps.torch.DataLoader(Placed(), **options)
    same(passes(loader, migrated_to=1, after=after, pauses=True), stock)


@pytest.mark.parametrize("batch_size", [1, 50])
def test_a_worker_that_migrated_and_was_not_asked_begins_the_next_pass_as_any_other(batch_size):
    options = {"num_workers": 3, "persistent_workers": True, "prefetch_factor": 1}
    stock = passes(data.DataLoader(Placed(), batch_size, **options), 3)
    loader = drapps.torch.DataLoader(Placed(), batch_size, **options)
    after = len(stock) // 3 - 1  # the last batch of a pass
    same(passes(loader, 3, migrated_to=1, after=after, pauses=True), stock)


@pytest.mark.parametrize("dataset", [Stateful, Generated, Placed])
def test_a_stream_that_has_not_begun_begins_elsewhere(dataset, monkeypatch):
    options = {"batch_size": 4, "num_workers": 3, "prefetch_factor": 1, "persistent_workers": True}
    stock = passes(data.DataLoader(dataset(), **options), 3)
    loader = drapps.torch.DataLoader(dataset(), **options)
    found = passes(loader, 1)
    with monkeypatch.context() as patch:
        patch.setattr(Requests, "fill", lambda _: None)
        iterator = iter(loader)
    aim(iterator, 1)  # behind the beginnings, before any batch
    iterator._requests.fill()
    found += [[torch.as_tensor(field) for field in batch] for batch in iterator]
    found += [[torch.as_tensor(field) for field in batch] for batch in loader]
    if dataset is Stateful:  # to begin draws, which happens twice
        found, stock = ([batch[:1] for batch in batches] for batches in (found, stock))
    same(found, stock)
    assert any("before its stream has begun" in each["why"] for each in log(loader))


def test_a_resumed_stream_that_is_run_again_stays_where_it_was():
    options = {"batch_size": 4, "num_workers": 2, "prefetch_factor": 1}
    stock = passes(data.DataLoader(Generated(), **options), 1)
    loader, again = (drapps.torch.DataLoader(Generated(), **options) for _ in range(2))
    torch.manual_seed(3)
    iterator = iter(loader)
    for _ in range(4):
        next(iterator)
    again.load_state_dict(loader.state_dict())
    iterator = iter(again)
    aim(iterator, 1)
    same([[torch.as_tensor(field) for field in batch] for batch in iterator], stock[4:])


def test_a_stream_without_a_state_stays_until_it_has_ended():
    options = {"batch_size": 3, "num_workers": 3, "persistent_workers": True}
    stock = passes(data.DataLoader(Generated(), **options), 3)
    loader = drapps.torch.DataLoader(Generated(), **options)
    same(passes(loader, 3, migrated_to=1), stock)
    assert settled(loader._iterator, 1)
    whys = [each["why"] for each in log(loader)]
    assert whys[0].endswith("stays with its process for now: its stream has no state_dict")
    assert any("after the end of its stream" in why for why in whys)


@pytest.mark.parametrize("persistent", [False, True])
def test_the_stock_order_is_kept(persistent):
    options = {"batch_size": 4, "num_workers": 3, "shuffle": True}
    options["persistent_workers"] = persistent
    stock = passes(data.DataLoader(Mapped(), **options))
    loader = drapps.torch.DataLoader(Mapped(), torch_order=True, **options)
    same(passes(loader, migrated_to=1), stock)
    assert len([each for each in log(loader) if "went on" in each["why"]]) >= 2


def test_a_pass_that_is_left_does_not_show_who_migrated():
    def left(loader, migrates):
        torch.manual_seed(3)
        kept = []
        for count in (5, 7, 1000):
            iterator = iter(loader)
            for number, batch in enumerate(iterator):
                if migrates and number == 3:
                    aim(iterator, 1)
                kept.append([torch.as_tensor(field) for field in batch])
                if number == count:
                    break
        return kept

    options = {"batch_size": 4, "num_workers": 3, "shuffle": True, "persistent_workers": True}
    one = drapps.torch.DataLoader(Mapped(), torch_order=True, **options)
    other = drapps.torch.DataLoader(Mapped(), torch_order=True, **options)
    same(left(one, True), left(other, False))
    assert settled(one._iterator, 1)


def test_batches_out_of_order_are_all_there():
    options = {"batch_size": 3, "num_workers": 4, "in_order": False}
    stock = passes(data.DataLoader(Stateful(), **options), 1)
    migrated = passes(drapps.torch.DataLoader(Stateful(), **options), 1, migrated_to=1)

    def numbers(batches):
        return sorted(int(number) for batch in batches for number in batch[0])

    assert numbers(migrated) == numbers(stock)


def test_what_cannot_travel_stays_and_is_named():
    lock = torch.zeros(1).share_memory_()
    for more, why in ((lambda: 0, "more"), (lock, "shared memory")):
        options = {"batch_size": 4, "num_workers": 2, "persistent_workers": True}
        stock = passes(data.DataLoader(Mapped(more), **options))
        loader = drapps.torch.DataLoader(Mapped(more), torch_order=True, **options)
        same(passes(loader, migrated_to=1), stock)
        assert len(loader._iterator._workers) == 2
        stays = [each["why"] for each in log(loader) if "stays" in each["why"]]
        assert 1 <= len(stays) <= 2
        assert all(why in each for each in stays)


def test_what_worker_init_fn_did_stays_with_its_process():
    def begin(worker):
        assert worker >= 0

    for options in ({"worker_init_fn": begin}, {"on_worker_death": "restart"}):
        loader = drapps.torch.DataLoader(Stateful(), 3, num_workers=2, **options)
        assert not isinstance(iter(loader)._processes.autoscaler, MigrationAutoscaler)


def test_a_state_that_does_not_load_is_an_error_of_its_worker():
    loader = drapps.torch.DataLoader(Stateful(fails=True), 3, num_workers=2)
    with pytest.raises(ValueError, match=r"this state is of no use[\s\S]*arrival"):
        passes(loader, 1, migrated_to=1)


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
