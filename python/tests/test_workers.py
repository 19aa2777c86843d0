"""Python datasets in worker processes: the same data from any number of them, started anyhow."""

from __future__ import annotations

import collections.abc
import copy
import gc
import itertools
import json
import os
import random
import signal
import threading
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.utils import data

import drapps.torch
from drapps import _core
from drapps.worker.lists import SharedList, share_large_lists

DEADLINE = 600.0  # seconds, against hanging


class Drawn(data.Dataset):
    """Random numbers of all libraries, several draws each, and who made them."""

    def __len__(self):
        return 90

    def __getitem__(self, index):
        worker = data.get_worker_info()
        return (
            torch.tensor(index),
            torch.rand(3),
            torch.randn(3),
            np.random.randn(3),
            random.gauss(0, 1),
            random.random(),
            worker.id,
            torch.initial_seed() - worker.seed,
        )


class Slow(Drawn):
    """One sample takes until two processes have made samples of its batch, in a folder that is."""

    def __init__(self, folder):
        self.folder = folder

    def __getitem__(self, index):
        if 60 <= index < 75 and self.folder.is_dir():
            (self.folder / str(os.getpid())).touch()
            deadline = time.monotonic() + DEADLINE
            while index == 63 and len(list(self.folder.iterdir())) < 2:
                assert time.monotonic() < deadline, "no sample was stolen"
                time.sleep(0.001)
        return *super().__getitem__(index), os.getpid()


def values(loader):
    return [[torch.as_tensor(field) for field in batch[:8]] for batch in loader]


def same(left, right):
    return len(left) == len(right) and all(
        torch.equal(a, b)
        for one, other in zip(left, right, strict=True)
        for a, b in zip(one, other, strict=True)
    )


def with_processes(number, **options):
    """A loader of four virtual workers on `number` processes."""
    settings = json.loads(_core.settings_of_processes(number))
    options |= {"num_workers": 4, "shuffle": True, "seed": 5, "settings": settings}
    loader = drapps.torch.DataLoader(Drawn(), 16, **options)
    torch.manual_seed(2)
    iterator = iter(loader)
    assert len(iterator._processes.pool.active) == number
    return iterator


def test_the_number_of_processes_does_not_show_in_the_data():
    four = values(with_processes(4))
    assert same(values(with_processes(1)), four)
    assert same(values(with_processes(7)), four)
    assert {int(worker) for batch in four for worker in batch[6]} == {0, 1, 2, 3}
    assert all(int(gap) == 0 for batch in four for gap in batch[7])


def test_the_epoch_and_the_seed_show_in_the_random_numbers_only():
    loader = drapps.torch.DataLoader(Drawn(), 30, num_workers=2, seed=5)
    first, second = values(loader), values(loader)
    assert torch.equal(first[0][0], second[0][0])
    assert not torch.equal(first[0][1], second[0][1])
    loader.set_epoch(0)
    assert same(values(loader), first)
    other = values(drapps.torch.DataLoader(Drawn(), 30, num_workers=2, seed=6))
    assert not torch.equal(other[0][1], first[0][1])


def test_neighbouring_samples_draw_different_numbers():
    batch = values(drapps.torch.DataLoader(Drawn(), 90, num_workers=2, seed=5))[0]
    for field in (1, 2, 3, 4, 5):
        assert len(torch.unique(batch[field], dim=0)) == 90
    assert 0.4 < float(batch[1].mean()) < 0.6


def test_a_slow_sample_does_not_hold_up_the_others_of_its_batch(tmp_path):
    made = tmp_path / "makers"
    loader = drapps.torch.DataLoader(Slow(made), 15, num_workers=3, seed=5, persistent_workers=True)
    list(loader)  # until each process has told of its dataset, it makes whole batches alone
    made.mkdir()
    loader.set_epoch(0)
    batches = list(loader)
    assert {int(each.name) for each in made.iterdir()} == set(batches[4][8].tolist())
    plain = drapps.torch.DataLoader(Drawn(), 15, num_workers=1, seed=5)
    for stolen, whole in zip(batches, values(plain), strict=True):  # the ids differ: 3 and 1
        assert all(torch.equal(torch.as_tensor(stolen[f]), whole[f]) for f in range(6))


def test_what_does_not_pickle_is_made_where_it_is_needed():
    class Awkward(Drawn):
        def __getitem__(self, index):
            if index == 63:
                time.sleep(0.3)  # others are idle meanwhile
            item = super().__getitem__(index)
            return lambda: item

    def collate(samples):
        return torch.stack([sample()[0] for sample in samples])

    loader = drapps.torch.DataLoader(Awkward(), 30, num_workers=3, collate_fn=collate)
    assert torch.cat(list(loader)).tolist() == list(range(90))


def test_more_samples_than_pieces_in_a_batch():
    wide = data.TensorDataset(torch.arange(2000))
    loader = drapps.torch.DataLoader(wide, 700, num_workers=2, lift=False)
    assert torch.cat([batch[0] for batch in loader]).tolist() == list(range(2000))


class Plain(data.Dataset):
    def __init__(self, big=False):
        self.table = torch.arange(100_000.0).reshape(100, 1000)
        self.names = np.arange(100)
        self.big = big

    def __len__(self):
        return 40

    def __getitem__(self, index):
        return self.table[index].clone(), int(self.names[index])


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_start_methods_give_the_same(method):
    loader = drapps.torch.DataLoader(Plain(), 8, num_workers=2, multiprocessing_context=method)
    expected = drapps.torch.DataLoader(Plain(), 8, num_workers=2)
    for ours, theirs in zip(loader, expected, strict=True):
        assert torch.equal(ours[0], theirs[0])
        assert torch.equal(ours[1], theirs[1])


def test_lambdas_and_local_classes_reach_spawned_workers():
    class Local(Plain):
        def __getitem__(self, index):
            return index

    loader = drapps.torch.DataLoader(
        Local(), 8, num_workers=1, multiprocessing_context="spawn", collate_fn=lambda batch: batch
    )
    assert list(itertools.chain(*loader)) == list(range(40))


def test_a_parent_that_cannot_be_forked_uses_a_server(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    seen = set()
    loader = drapps.torch.DataLoader(Plain(), 8, num_workers=2, collate_fn=lambda batch: len(batch))
    for _ in range(2):
        iterator = iter(loader)
        seen |= {process.pid for process in iterator._workers}
        assert sum(iterator) == 40
    assert len(seen) == 4
    assert loader.explain()["plan"]["start_method"] == "forkserver"


@pytest.mark.parametrize("method", ["fork", "forkserver"])
def test_a_stopped_worker_of_an_iterator_that_is_garbage_ends(method):
    loader = drapps.torch.DataLoader(Plain(), 8, num_workers=1, multiprocessing_context=method)
    iterator = iter(loader)
    next(iterator)
    (process,) = iterator._workers
    pid = process.pid
    os.kill(pid, signal.SIGSTOP)
    iterator.itself = iterator
    del iterator, process
    gc.collect()
    end = time.monotonic() + 10
    while _runs(pid) and time.monotonic() < end:  # a fork server reaps its children when it can
        time.sleep(0.01)
    assert not _runs(pid)


def _runs(pid):
    try:
        return "zombie" not in Path(f"/proc/{pid}/status").read_text().splitlines()[2]
    except OSError:
        return False


def test_an_unpicklable_dataset_is_named_by_its_path():
    dataset = Plain()
    dataset.lock = threading.Lock()
    loader = drapps.torch.DataLoader(dataset, 8, num_workers=1, multiprocessing_context="spawn")
    with pytest.raises(TypeError, match=r"dataset\.lock \(_thread\.lock\) cannot be sent"):
        iter(loader)


def test_large_lists_are_shared_and_the_data_is_the_same():
    class Listed(data.Dataset):
        def __init__(self):
            self.items = [{"name": f"{i:050d}", "label": i} for i in range(200_000)]

        def __len__(self):
            return 64

        def __getitem__(self, index):
            return self.items[index]["label"], self.items[-1]["label"], len(self.items)

    dataset = Listed()
    loader = drapps.torch.DataLoader(dataset, 16, num_workers=2)
    rows = torch.cat([torch.stack(batch, 1) for batch in loader])
    assert rows.tolist() == [[i, 199_999, 200_000] for i in range(64)]
    assert isinstance(dataset.items, SharedList)
    assert loader.explain()["plan"]["shared_lists"] == ["dataset.items"]
    kept = Listed()
    list(drapps.torch.DataLoader(kept, 16, num_workers=1, share_lists=False))
    assert type(kept.items) is list


def test_shared_lists_are_like_lists():
    items = [{"a": i} for i in range(10)]
    shared = SharedList.of(items)
    assert list(shared) == items
    assert shared[2:8:3] == items[2:8:3]
    assert shared[-1] == {"a": 9}
    assert {"a": 4} in shared
    shared[3] = "other"
    assert shared[3] == "other"
    with pytest.raises(IndexError):
        shared[10]
    with pytest.raises(TypeError, match="share_lists=False"):
        shared.append(1)
    assert len(SharedList.of([])) == 0
    items[3] = "other"
    for same in (shared, copy.copy(shared), copy.deepcopy(shared), _through_pickle(shared)):
        assert isinstance(same, collections.abc.MutableSequence)
        assert same == items
        assert items == same
        assert same != items[1:]
        assert same != tuple(items)
        assert same + [1] == [*items, 1]  # noqa: RUF005
        assert [1] + same == [1, *items]  # noqa: RUF005
        assert str(same) == str(items)
        assert json.loads(json.dumps(same, default=list)) == items
    copied = shared.copy()
    copied.sort(key=str, reverse=True)
    assert copied == sorted(items, key=str, reverse=True)
    assert shared == items


def _through_pickle(shared):
    """As a process that is not forked gets it."""
    loader = drapps.torch.DataLoader(
        Handing(shared), None, num_workers=1, multiprocessing_context="spawn"
    )
    (found,) = loader
    return found


class Handing(data.Dataset):
    def __init__(self, shared):
        self.shared = shared

    def __len__(self):
        return 1

    def __getitem__(self, index):
        return self.shared[: len(self.shared)]


@pytest.mark.parametrize(("element", "told"), [({"a": 1}, True), (("a.jpg", 1), False)])
def test_elements_that_can_change_in_place_are_warned_of(element, told, caplog):
    class Holder:
        def __init__(self):
            self.items = [element] * 100

    assert share_large_lists(Holder(), data.Dataset, large=1000) == ["dataset.items"]
    assert ("dataset.items has moved to shared memory" in caplog.text) == told


def test_lists_that_cannot_be_shared_stay():
    class Holder:
        def __init__(self):
            self.locks = [threading.Lock() for _ in range(10)]
            self.small = [1, 2, 3]

    holder = Holder()
    assert share_large_lists(holder, data.Dataset, large=1000) == []
    assert type(holder.locks) is list
    assert type(holder.small) is list


def test_a_batch_is_the_users_alone():
    loader = drapps.torch.DataLoader(Plain(), 4, num_workers=2)
    held = []
    for _ in range(5):
        for batch in loader:
            held.append((batch[0], batch[0].clone()))
            batch[1].fill_(-1)
    del loader
    assert len(held) == 50
    for batch, cloned in held:
        assert torch.equal(batch, cloned)
        batch += 1


def test_arrays_of_a_custom_collate_are_writable():
    def collate(samples):
        return {"x": np.stack([np.full(300, name) for _, name in samples]), "n": len(samples)}

    for batch in drapps.torch.DataLoader(Plain(), 4, num_workers=2, collate_fn=collate):
        batch["x"] += 1
        assert batch["n"] == 4


def test_memory_is_used_again():
    loader = drapps.torch.DataLoader(Plain(), 8, num_workers=2, persistent_workers=True)
    for _ in range(3):
        list(loader)
    board = loader._iterator._processes.board
    before = board.resident()
    for _ in range(10):
        for _batch in loader:
            pass
    assert board.resident() <= before + (1 << 20)


def test_lifting_in_torch_order_takes_what_draws_nothing():
    arrays = data.TensorDataset(torch.arange(20), torch.arange(20) * 2)
    shuffled = drapps.torch.DataLoader(arrays, 4, shuffle=True, torch_order=True)
    assert not shuffled.lifted()
    assert "torch's own shuffled order" in shuffled.lifted().reasons[0]
    assert drapps.torch.DataLoader(arrays, 4, torch_order=True).lifted()
    torch.manual_seed(4)
    ours = list(shuffled)
    torch.manual_seed(4)
    stock = list(data.DataLoader(arrays, 4, shuffle=True))
    assert all(torch.equal(a[0], b[0]) for a, b in zip(ours, stock, strict=True))


def test_num_workers_auto_never_shows_the_machine():
    loader = drapps.torch.DataLoader(Drawn(), 16, num_workers="auto", seed=1)
    assert loader.num_workers == 8
    assert len(iter(loader)._workers) == min(8, len(os.sched_getaffinity(0)))
    frugal = drapps.torch.DataLoader(Drawn(), 16, num_workers=4, cpu_budget=1.5)
    assert len(iter(frugal)._workers) == 2
    assert {int(w) for batch in values(loader) for w in batch[6]} <= set(range(8))
    with pytest.raises(ValueError, match='number of workers or "auto"'):
        drapps.torch.DataLoader(Drawn(), 16, num_workers="many")


@pytest.mark.parametrize("sampler", ["shuffle", "custom"])
def test_the_order_after_a_pass_that_was_left_does_not_show_the_number_of_processes(sampler):
    class Halves(data.Sampler):
        """Draws anew after half of the samples."""

        def __init__(self, generator):
            self.generator = generator

        def __len__(self):
            return 80

        def __iter__(self):
            for first in (0, 40):
                yield from (torch.randperm(40, generator=self.generator) + first).tolist()

    def orders(processes):
        generator = torch.Generator().manual_seed(5)
        order = {"shuffle": True} if sampler == "shuffle" else {"sampler": Halves(generator)}
        loader = drapps.torch.DataLoader(
            list(range(80 if sampler == "custom" else 40)),
            batch_size=5,
            num_workers=2,
            generator=generator,
            persistent_workers=True,
            **order,
        )
        iterator = iter(loader)
        for _ in range(processes - 2):
            iterator._processes.pool.start(0)
        found = [next(iterator).tolist(), next(iterator).tolist()]
        return found + [batch.tolist() for batch in loader]

    assert orders(2) == orders(8)


class Late(data.Dataset):
    """The first sample takes long."""

    def __len__(self):
        return 8

    def __getitem__(self, index):
        time.sleep(0.3 if index == 0 else 0.0)
        return index


@pytest.mark.parametrize("persistent", [False, True])
def test_the_time_to_the_first_batch_is_broken_down(persistent):
    began = time.monotonic()
    loader = drapps.torch.DataLoader(
        Late(),
        1,
        num_workers=1,
        persistent_workers=persistent,
        worker_init_fn=lambda _: time.sleep(0.2),
    )
    assert loader.explain()["plan"].get("first_batch") is None
    iterator = iter(loader)
    next(iterator)
    took = time.monotonic() - began
    first = loader.explain()["plan"]["first_batch"]
    assert 0.2 <= first["start_dataset_s"] < took
    assert 0.3 <= first["first_sample_s"] < took
    assert first["start_process_s"] > 0
    assert sum(first.values()) <= took
    list(iterator)
    assert loader.explain()["plan"]["first_batch"] == first


class Safe(data.Dataset):
    """A dataset for threads; its random numbers are those of its worker."""

    thread_safe = True

    def __len__(self):
        return 40

    def __getitem__(self, index):
        rng = drapps.torch.get_worker_info().rng
        if index == 13:
            time.sleep(0.1)
        return (
            index,
            torch.rand(2, generator=rng.torch_generator),
            rng.random_generator.random(),
            rng.numpy_generator.random(),
            os.getpid(),
        )


def test_a_thread_safe_dataset_runs_on_threads_of_this_process():
    torch.manual_seed(0)
    before = torch.get_rng_state()
    one = list(drapps.torch.DataLoader(Safe(), 8, num_workers=1, seed=3))
    torch.set_rng_state(before)
    loader = drapps.torch.DataLoader(Safe(), 8, num_workers=4, seed=3)
    four = list(loader)
    for left, right in zip(one, four, strict=True):
        assert all(torch.equal(left[field], right[field]) for field in range(4))
        assert set(right[4].tolist()) == {os.getpid()}
    assert loader.explain()["plan"]["start_method"] == "thread"
    drawn = torch.get_rng_state()
    torch.set_rng_state(before)
    iter(data.DataLoader(Safe(), 8))
    assert torch.equal(drawn, torch.get_rng_state()), "threads drew from the global generator"
    assert drapps.torch.get_worker_info() is None


def test_threads_are_asked_for_by_the_dataset_alone():
    class Seeded(Safe):
        def __getitem__(self, index):
            return index, os.getpid()

    for options in ({"torch_order": True}, {"worker_init_fn": print}):
        batches = drapps.torch.DataLoader(Seeded(), 8, num_workers=1, **options)
        assert os.getpid() not in {int(pid) for batch in batches for pid in batch[1]}


def test_the_error_of_a_dead_worker_is_found_under_its_old_name():
    with pytest.warns(DeprecationWarning, match=r"is drapps\.WorkerDiedError"):
        from drapps.worker.recovery import WorkerDiedError
    assert WorkerDiedError is drapps.WorkerDiedError
