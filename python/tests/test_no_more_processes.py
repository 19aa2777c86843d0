"""Worker processes and threads that the system does not make: a typed error, or fewer of them."""

import errno
import multiprocessing
import os
import signal
import threading
import time
from concurrent.futures import thread as pools

import pytest
import torch
from torch.utils import data

import drapps
import drapps.torch
from drapps.torch.transfer import TransferThread

EXPECTED = [list(range(first, first + 4)) for first in range(0, 64, 4)]


class Numbers(data.Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, index):
        return torch.tensor(index)


class ThreadSafe(Numbers):
    thread_safe = True


class Slow(Numbers):
    def __getitem__(self, index):
        time.sleep(0.03)
        return super().__getitem__(index)


class Stream(data.IterableDataset):
    def __iter__(self):
        return iter(range(8))


@pytest.fixture
def limit(monkeypatch):
    """Lets so many calls of a function through; the later ones raise."""

    def to(module, name, calls, error):
        real, left = getattr(module, name), [calls]

        def limited(*args, **kwargs):
            left[0] -= 1
            if left[0] < 0:
                raise error
            return real(*args, **kwargs)

        monkeypatch.setattr(module, name, limited)

    return to


NO_FORK = BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")
NO_FILE = OSError(errno.EMFILE, "Too many open files")
NO_THREAD = RuntimeError("can't start new thread")


def remarks(loader):
    return [entry["why"] for entry in loader.explain()["decisions"]["entries"]]


def batches(loader):
    return [batch.tolist() for batch in loader]


@pytest.mark.parametrize(
    ("dataset", "what"),
    [
        (Numbers(), (os, "fork", 0, NO_FORK)),
        (Numbers(), (os, "memfd_create", 0, NO_FILE)),
        (Numbers(), (os, "pipe", 0, NO_FILE)),
        (Numbers(), (os, "pidfd_open", 0, NO_FILE)),
        (ThreadSafe(), (os, "eventfd", 0, NO_FILE)),
        (ThreadSafe(), (threading, "_start_new_thread", 0, NO_THREAD)),
        (Stream(), (os, "fork", 2, NO_FORK)),
    ],
)
def test_a_pass_without_the_processes_it_needs_is_a_typed_error(dataset, what, limit, monkeypatch):
    loader = drapps.torch.DataLoader(dataset, 4, num_workers=4)
    with monkeypatch.context():
        limit(*what)
        with pytest.raises(drapps.WorkerStartError, match=r"lower num_workers.*raise the limit"):
            iter(loader)
        monkeypatch.undo()
    assert not multiprocessing.active_children()
    assert len(batches(loader)) == (8 if isinstance(dataset, Stream) else 16)


def test_a_spawned_process_too(limit):
    loader = drapps.torch.DataLoader(Numbers(), 4, num_workers=2, multiprocessing_context="spawn")
    limit(os, "pipe", 0, NO_FILE)
    with pytest.raises(drapps.PipelineError, match="ulimit -n"):
        iter(loader)


@pytest.mark.parametrize(
    ("dataset", "what"),
    [
        (Numbers(), (os, "fork", 2, NO_FORK)),
        (Numbers(), (os, "memfd_create", 8, NO_FILE)),
        (ThreadSafe(), (threading, "_start_new_thread", 2, NO_THREAD)),
    ],
)
def test_fewer_make_the_same_batches_where_any_will_do(dataset, what, limit):
    loader = drapps.torch.DataLoader(dataset, 4, num_workers=16)
    limit(*what)
    assert batches(loader) == EXPECTED
    assert any("processes instead of 16: the system makes no" in why for why in remarks(loader))
    assert loader.explain()["plan"]["processes"] < 16


def test_what_a_dead_process_had_is_made_by_those_that_are_left(limit):
    loader = drapps.torch.DataLoader(Slow(), 4, num_workers=2, on_worker_death="restart")
    iterator = iter(loader)
    made = [next(iterator).tolist() for _ in range(2)]  # so that both have told: any may make any
    limit(os, "fork", 0, NO_FORK)
    os.kill(iterator._processes.pool.active[0].pid, signal.SIGKILL)
    made += [batch.tolist() for batch in iterator]
    assert made == EXPECTED
    assert any("no process can be added" in why for why in remarks(loader))


def test_no_thread_that_pins_memory(limit, monkeypatch):
    monkeypatch.setattr(torch.accelerator, "current_device_index", lambda: 0)
    limit(pools.threading, "_start_new_thread", 0, NO_THREAD)
    with pytest.raises(drapps.WorkerStartError, match="pin_memory=False"):
        TransferThread(None)
