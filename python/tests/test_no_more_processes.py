"""Worker processes and threads that the system does not make: a typed error, or fewer of them."""

import errno
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import thread as pools

import pytest
import torch
from torch.utils import data

import drapps
import drapps.torch
from drapps.torch.transfer import TransferThread
from drapps.worker.launch import Launch
from python.tests.cells import full

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
        time.sleep(0.01)
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
        full((Numbers(), (os, "memfd_create", 0, NO_FILE))),
        full((Numbers(), (os, "pipe", 0, NO_FILE))),
        full((Numbers(), (os, "pidfd_open", 0, NO_FILE))),
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
    rows = [next(iterator).tolist() for _ in range(2)]  # so that both have told: any may make any
    limit(os, "fork", 0, NO_FORK)
    os.kill(iterator._processes.pool.active[0].pid, signal.SIGKILL)
    rows += [batch.tolist() for batch in iterator]
    assert rows == EXPECTED
    assert any("no process can be added" in why for why in remarks(loader))


@pytest.fixture
def limit_after_fork(monkeypatch):
    """Keeps the processes of these workers from beginning, as a limit that is reached only then."""

    def of(*workers, error=NO_FILE, name="attach"):
        real = getattr(Launch, name)

        def limited(launch, *args):
            if launch.worker in workers:
                raise error
            return real(launch, *args)

        monkeypatch.setattr(Launch, name, limited)

    return of


@pytest.mark.parametrize("dataset", [Numbers(), ThreadSafe()])
@pytest.mark.parametrize("workers", [full(((0,),)), (1, 2), full(((3,),))])
def test_those_that_have_begun_make_what_is_asked_of_one_that_cannot(
    dataset, workers, limit_after_fork
):
    limit_after_fork(*workers)
    for options in ({}, {"on_worker_death": "restart"}):
        loader = drapps.torch.DataLoader(dataset, 4, num_workers=4, **options)
        assert batches(loader) == EXPECTED
        noted = any("Too many open files" in why for why in remarks(loader))
        assert noted or isinstance(dataset, ThreadSafe)  # whose threads may make all before


class Lazily(Numbers):
    """Keeps on itself which worker it is in."""

    worker = None

    def __getitem__(self, index):
        if self.worker is None:
            self.worker = data.get_worker_info().id
        return torch.tensor([index, self.worker])


def test_what_is_made_elsewhere_keeps_its_worker(limit_after_fork, monkeypatch):
    expected = batches(data.DataLoader(Lazily(), 4, num_workers=3))
    replaced = monkeypatch.context
    limit_after_fork(1)
    loader = drapps.torch.DataLoader(Lazily(), 4, num_workers=3)
    iterator = iter(loader)
    while "processes make all" not in str(remarks(loader)):
        iterator._look_after()
    with replaced():
        monkeypatch.undo()  # now there is room for a process of its own
        assert [batch.tolist() for batch in iterator] == expected


@pytest.mark.parametrize(
    ("dataset", "workers", "options"),
    [
        (Numbers(), (0, 1), {}),
        (ThreadSafe(), (0, 1), {}),
        (Stream(), (1,), {}),
        (Stream(), (1,), {"on_worker_death": "restart"}),
        (Numbers(), (1,), {"worker_init_fn": print}),
        (Numbers(), (1,), {"torch_order": True}),
    ],
)
def test_a_needed_process_that_cannot_begin_is_a_typed_error(
    dataset, workers, options, limit_after_fork
):
    limit_after_fork(*workers)
    iterator = iter(drapps.torch.DataLoader(dataset, 4, num_workers=2, **options))
    with pytest.raises(drapps.WorkerStartError, match=r"Too many open files.*\(ulimit -n\)"):
        list(iterator)
    assert list(iterator) == []
    assert not multiprocessing.active_children()


SCRIPT = """
import os, resource, sys
from torch.utils import data
import drapps, drapps.torch

class Numbers(data.Dataset):
    def __len__(self):
        return 64
    def __getitem__(self, index):
        return index

if __name__ == "__main__":
    loader = drapps.torch.DataLoader(Numbers(), 4, num_workers=3, torch_order=sys.argv[2] == "all")
    list(loader)  # what is opened once is open
    lowest = os.dup(0)
    os.close(lowest)
    resource.setrlimit(resource.RLIMIT_NOFILE, (lowest + int(sys.argv[1]),) * 2)
    try:
        print(sum(map(len, loader)))
    except drapps.WorkerStartError as error:
        print("ulimit -n" in str(error))
"""


@pytest.mark.full
@pytest.mark.parametrize("needed", ["all", "one"])
@pytest.mark.parametrize("files", range(40))
def test_any_limit_of_open_files_is_named_or_met(files, needed, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    command = [sys.executable, str(script), str(files), needed]
    run = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert run.stdout in ("64\n", "True\n"), run.stderr


def test_no_thread_that_pins_memory(limit, monkeypatch):
    monkeypatch.setattr(torch.accelerator, "current_device_index", lambda: 0)
    limit(pools.threading, "_start_new_thread", 0, NO_THREAD)
    with pytest.raises(drapps.WorkerStartError, match="pin_memory=False"):
        TransferThread(None)
