"""`drapps.cached`: items are made once, by whichever process, and are what they are without."""

from __future__ import annotations

import collections
import multiprocessing
import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from torch.utils import data

import drapps
import drapps.torch
from python.tests.cells import some_full
from python.tests.item_datasets import Counted, Killed, Several, Sized, note, noted

LOADERS = [data.DataLoader, drapps.torch.DataLoader]
# A script that is run for the keys has an item of a process that was not forked.
METHODS = some_full(["fork", "forkserver", "spawn"], "fork")


@pytest.fixture(autouse=True, scope="module")
def ready_server():
    """The server of forkserver imports torch once."""
    multiprocessing.set_forkserver_preload(["torch", "python.tests.item_datasets", "drapps.torch"])


@pytest.fixture
def notes(tmp_path):
    return tmp_path / "notes"


def flat(batches):
    """Everything that comes in batches, sample by sample, in numbers and texts."""
    return [
        (image.mean().item(), array.sum().item(), name, left.item(), right.item())
        for batch in batches
        for image, array, name, left, right in zip(
            batch["image"], batch["array"], batch["name"], *batch["pair"], strict=True
        )
    ]


@pytest.mark.parametrize("loader", LOADERS)
@pytest.mark.parametrize("method", [None, *METHODS])
def test_each_item_is_made_once_and_is_what_it_is_without(notes, tmp_path, loader, method):
    options = {"num_workers": 2, "multiprocessing_context": method} if method else {}
    expected = flat(loader(Counted(tmp_path / "other"), 7))
    dataset = drapps.cached(Counted(notes), budget=1 << 22)
    batches = loader(dataset, 7, **options)
    for _ in range(2):
        assert flat(batches) == expected
    assert sorted(noted(notes)) == list(range(60))
    stats = dataset.stats()
    assert stats["items"] == 60
    assert stats["misses"] == 60
    assert stats["hits"] == 60
    assert 0 < stats["bytes"] <= stats["budget"]


@pytest.mark.parametrize("loader", some_full(LOADERS, drapps.torch.DataLoader))
def test_what_has_no_room_is_made_each_time(notes, tmp_path, loader):
    dataset = drapps.cached(Sized(notes, 200), budget=100_000)
    plain = Sized(tmp_path / "other", 200)
    options = {"num_workers": 3, "collate_fn": list, "multiprocessing_context": "fork"}
    for _ in range(2):
        for batch in loader(dataset, 16, shuffle=True, **options):
            assert all(np.array_equal(sample, plain[int(sample[0])]) for sample in batch)
    stats = dataset.stats()
    assert 50_000 < stats["bytes"] <= stats["budget"] == 100_000
    assert stats["refused"] > 0
    counts = collections.Counter(noted(notes))
    assert sum(count == 1 for count in counts.values()) == stats["items"]
    assert all(count <= 2 for count in counts.values())


def test_workers_that_are_killed_leave_the_rest_as_it_is(notes, tmp_path):
    dataset = drapps.cached(Killed(notes), budget=1 << 22)
    loader = drapps.torch.DataLoader(dataset, 5, num_workers=3, on_worker_death="restart")
    expected = flat(data.DataLoader(Counted(tmp_path / "other"), 5))
    assert flat(loader) == expected
    before = len(noted(notes))
    assert before >= 63
    assert flat(loader) == expected
    assert len(noted(notes)) == before
    assert dataset.stats()["items"] == 60
    dataset._keeper.cache.reclaim()
    sizes = [len(dataset._keeper.cache.get(index)) for index in range(60)]
    assert dataset.stats()["bytes"] == sum(-(-size // 16) * 16 for size in sizes)


class Slow(Counted):
    def __getitem__(self, index):
        time.sleep(0.3)
        return super().__getitem__(index)


def read_first(dataset):
    assert dataset[0]["name"] == "sample 0"


def test_an_item_that_another_process_makes_is_waited_for(notes):
    dataset = drapps.cached(Slow(notes), budget=1 << 22)
    context = multiprocessing.get_context("fork")
    children = [context.Process(target=read_first, args=(dataset,)) for _ in range(4)]
    for child in children:
        child.start()
    for child in children:
        child.join()
        assert child.exitcode == 0
    assert noted(notes) == [0]


class Stopped(Counted):
    """A child of the process that made it is stopped while it makes a sample."""

    def __init__(self, notes):
        super().__init__(notes)
        self.process = os.getpid()

    def __getitem__(self, index):
        sample = super().__getitem__(index)
        if os.getpid() != self.process:
            os.kill(os.getpid(), signal.SIGSTOP)
        return sample


def test_nobody_waits_for_a_process_that_is_stopped(notes):
    dataset = drapps.cached(Stopped(notes), budget=1 << 22)
    child = multiprocessing.get_context("fork").Process(target=read_first, args=(dataset,))
    child.start()
    os.waitpid(child.pid, os.WUNTRACED)
    began = time.monotonic()
    for _ in range(6):
        read_first(dataset)
    assert time.monotonic() - began < 40, "it waited for what may never come"
    assert dataset.stats()["items"] == 0, "the item is still the other's"
    os.kill(child.pid, signal.SIGCONT)
    child.join()
    assert child.exitcode == 0
    read_first(dataset)
    assert dataset.stats()["items"] == 1
    assert noted(notes) == [0] * 7


def test_threads_make_each_item_once(notes):
    dataset = drapps.cached(Counted(notes), budget=1 << 22, frozen=True)
    with ThreadPoolExecutor(4) as pool:
        for name in pool.map(lambda index: dataset[index % 60]["name"], range(240)):
            assert name.startswith("sample")
    assert sorted(noted(notes)) == list(range(60))


class Chained(data.Dataset):
    """A sample that needs the sample before it, from the same cache."""

    whole = None

    def __init__(self, notes):
        self.notes = str(notes)

    def __len__(self):
        return 20

    def __getitem__(self, index):
        note(self.notes, index)
        time.sleep(0.02)
        return self.whole[index - 1] + 1 if index else 0


def read_all(dataset, order):
    Chained.whole = dataset
    assert [dataset[index] for index in order] == list(order)


def test_samples_that_need_one_another_wait_for_nobody(notes):
    dataset = drapps.cached(Chained(notes), 1, budget=1 << 20)
    context = multiprocessing.get_context("fork")
    began = time.monotonic()
    orders = (range(20), range(19, -1, -1))
    children = [context.Process(target=read_all, args=(dataset, order)) for order in orders]
    for child in children:
        child.start()
    for child in children:
        child.join()
        assert child.exitcode == 0
    assert time.monotonic() - began < 50, "two waited for each other"
    assert dataset.stats()["items"] == 20


@pytest.mark.parametrize("loader", LOADERS)
@pytest.mark.parametrize("workers", [0, 2])
def test_several_items_are_fetched_together(notes, tmp_path, loader, workers):
    dataset = drapps.cached(Several(notes), budget=1 << 22)
    expected = flat(loader(Counted(tmp_path / "other"), 7))
    for _ in range(2):
        assert flat(loader(dataset, 7, num_workers=workers)) == expected
    assert sorted(noted(notes)) == list(range(60))
    again = dataset.__getitems__([5, np.int64(5), 5, np.int64(1)])
    assert [sample["name"] for sample in again] == ["sample 5"] * 3 + ["sample 1"]
    assert not hasattr(drapps.cached(Counted(notes), budget=1 << 20), "__getitems__")


def test_a_dataset_that_gives_whole_batches_is_left_alone(notes, caplog):
    class Batches(Several):
        def __getitems__(self, indices):
            return {"sum": sum(indices), "single": [self[i]["name"] for i in indices]}

    dataset = drapps.cached(Batches(notes), budget=1 << 22)
    dataset[2]
    for _ in range(2):
        assert dataset.__getitems__([1, 2, 3])["sum"] == 6
    assert dataset.stats()["items"] == 1
    assert caplog.text.count("no list of samples") == 1
