"""Python datasets in worker processes: the same data from any number of them, started anyhow."""

from __future__ import annotations

import json
import os
import random
import time

import numpy as np
import pytest
import torch
from torch.utils import data

import drapps.torch
from drapps import _core
from python.tests.cells import full

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
    loader = drapps.torch.DataLoader(Drawn(), 30, num_workers=1, seed=5)
    first, second = values(loader), values(loader)
    assert torch.equal(first[0][0], second[0][0])
    assert not torch.equal(first[0][1], second[0][1])
    loader.set_epoch(0)
    assert same(values(loader), first)
    other = values(drapps.torch.DataLoader(Drawn(), 30, num_workers=1, seed=6))
    assert not torch.equal(other[0][1], first[0][1])


def test_neighbouring_samples_draw_different_numbers():
    batch = values(drapps.torch.DataLoader(Drawn(), 90, num_workers=2, seed=5))[0]
    for field in (1, 2, 3, 4, 5):
        assert len(torch.unique(batch[field], dim=0)) == 90
    assert 0.4 < float(batch[1].mean()) < 0.6


def test_a_slow_sample_does_not_hold_up_the_others_of_its_batch(tmp_path):
    path = tmp_path / "makers"
    loader = drapps.torch.DataLoader(Slow(path), 15, num_workers=3, seed=5, persistent_workers=True)
    list(loader)  # until each process has told of its dataset, it makes whole batches alone
    path.mkdir()
    loader.set_epoch(0)
    batches = list(loader)
    assert {int(each.name) for each in path.iterdir()} == set(batches[4][8].tolist())
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


@pytest.mark.parametrize("sampler", [full("shuffle"), "custom"])
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
        head = [next(iterator).tolist(), next(iterator).tolist()]
        return head + [batch.tolist() for batch in loader]

    assert orders(2) == orders(8)


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
