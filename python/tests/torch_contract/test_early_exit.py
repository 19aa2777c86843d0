"""Leaving early, and leaving nothing behind."""

import gc
import os
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import torch

from python.tests.cells import some_full
from python.tests.torch_contract.conftest import children, each_order, left_over
from python.tests.torch_contract.forks import begin_child, received
from python.tests.torch_contract.modes import MODES
from python.tests.torch_contract.samples import Calls, Counting, Squares, plain, process

datasets = pytest.mark.parametrize("dataset", [Squares(100), Counting(100)], ids=["map", "stream"])


def ends(before, patience=10.0):
    gc.collect()
    return not left_over(before, patience)


@each_order
@datasets
def test_workers_end_with_their_epoch(loader_class, dataset):
    before = children()
    iterator = iter(loader_class(dataset, 10, num_workers=2))
    assert children() - before
    list(iterator)
    assert ends(before)
    del iterator


@datasets
@pytest.mark.parametrize("taken", some_full([0, 1, 3], 0, 3))
def test_workers_end_with_an_iterator_that_is_dropped(loader_class, dataset, taken):
    before = children()
    loader = loader_class(dataset, 2, num_workers=2)
    iterator = iter(loader)
    for _ in range(taken):
        next(iterator)
    del iterator
    assert ends(before)


def test_workers_end_after_a_break(loader_class):
    before = children()
    loader = loader_class(Squares(100), 2, num_workers=2)
    for _ in range(3):
        for _ in loader:
            break
    assert ends(before)
    assert len(list(loader)) == 50


def test_workers_end_after_an_error_in_the_loop(loader_class):
    before = children()

    def train():
        for _ in loader_class(Squares(100), 2, num_workers=2):
            raise ArithmeticError("nan")

    with pytest.raises(ArithmeticError):
        train()
    assert ends(before)


@each_order
def test_persistent_workers_end_with_their_loader(loader_class):
    before = children()
    loader = loader_class(Squares(10), 2, num_workers=2, persistent_workers=True)
    list(loader)
    assert children() - before
    del loader
    assert ends(before)


def test_persistent_workers_can_be_shut_down_as_trainers_do(loader_class):
    before = children()
    loader = loader_class(Squares(4), 2, num_workers=1, persistent_workers=True)
    list(loader)
    loader._iterator._shutdown_workers()
    loader._iterator = None
    assert ends(before)
    assert plain(loader) == [[0, 1], [4, 9]]


def held():
    """Descriptors and threads of this process."""
    gc.collect()
    return len(os.listdir("/proc/self/fd")), threading.active_count()  # noqa: PTH208


def shared():
    """Files of shared memory; not those that are named after a process that lives, and is another.

    Other tests have theirs at the same time.
    """

    def is_foreign(name):
        maker = re.match(r"torch_(\d+)_", name)
        return maker and int(maker[1]) != os.getpid() and Path(f"/proc/{maker[1]}").exists()

    return {path.name for path in Path("/dev/shm").iterdir() if not is_foreign(path.name)}


def test_many_loaders_leave_nothing_open(own_class):
    def run():
        for number in range(4):
            loader = own_class(Calls(large, 8), 2, num_workers=1)
            if number % 2:
                list(loader)
            else:
                next(iter(loader))

    def left():
        """What is there beyond what the first run has left; that of others comes and goes."""
        more = [now > then for now, then in zip(held(), before, strict=True)]
        return any(more), shared() - files

    run()
    before, files = held(), shared()
    run()
    end = time.monotonic() + 60
    while left() != (False, set()) and time.monotonic() < end:
        time.sleep(0.1)
    assert left() == (False, set())


def large(index):
    return torch.full((100_000,), index)


def test_workers_end_when_the_training_process_is_killed(loader_class):
    def train():
        iterator = iter(loader_class(Calls(process, 1000), batch_size=None, num_workers=2))
        kept.append(iterator)
        return [next(iterator) for _ in range(4)]

    kept = []
    reading, pid = begin_child(train)
    workers = set(received(reading))
    os.close(reading)
    assert workers
    assert all(Path(f"/proc/{worker}").exists() for worker in workers)
    os.kill(pid, 9)
    os.waitpid(pid, 0)
    until = time.monotonic() + 10
    while any(alive(worker) for worker in workers) and time.monotonic() < until:
        time.sleep(0.02)
    assert not any(alive(worker) for worker in workers)


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


# One interpreter per way of leaving, forked from one that has imported torch.
LEAVE = """
import os, sys, time
import torch
from python.tests.torch_contract.modes import MODES
from python.tests.torch_contract.samples import Squares

def leave(kind, way):
    global loader, iterator
    arguments = {"num_workers": 1, "persistent_workers": way == "persistent"}
    loader = kind(Squares(100), 2, **arguments)
    iterator = iter(loader)
    next(iterator)
    if way == "raise":
        raise SystemExit(7)
    if way == "done":
        list(iterator)

for way in ("hold", "persistent", "raise", "done"):
    pid = os.fork()
    if pid == 0:
        leave(MODES[sys.argv[1]], way)
        break
    ends = time.monotonic() + 15
    while (gone := os.waitpid(pid, os.WNOHANG))[0] == 0 and time.monotonic() < ends:
        time.sleep(0.01)
    if gone[0] == 0:
        os.kill(pid, 9)
        os.waitpid(pid, 0)
    print(way, os.waitstatus_to_exitcode(gone[1]) if gone[0] else "hangs", flush=True)
"""


# In the full run alone for the same reasons as in conftest.py.
@pytest.fixture(
    scope="module",
    params=some_full(MODES, "default"),
)
def exits(request):
    command = [sys.executable, "-c", LEAVE, request.param]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    return done


@pytest.mark.parametrize("way", ["hold", "persistent", "raise", "done"])
def test_an_interpreter_ends_whatever_is_still_under_way(exits, way):
    assert f"{way} {7 if way == 'raise' else 0}" in exits.stdout.splitlines(), exits.stderr


def test_an_interpreter_ends_without_a_word(exits):
    assert exits.stderr == ""
