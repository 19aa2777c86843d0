"""Fixtures of the contract: loader classes, a deadline, and no process left behind."""

import contextlib
import faulthandler
import gc
import importlib.util
import os
import signal
import time
from pathlib import Path

import pytest

collect_ignore_glob = [] if importlib.util.find_spec("torch") else ["test_*.py"]

DEADLINE = 600  # seconds of one test, which takes one or two on an idle machine
GIVE_UP = 900  # for code that no signal reaches


def chosen(mode):
    from python.tests.torch_contract.modes import MODES

    return MODES[mode]


# Most datasets of these tests are not lifted in any case. Whether the tests are true of the stock
# loader changes with them and with torch alone.
UNLIFTED = pytest.param("unlifted", marks=pytest.mark.full)
STOCK = pytest.param("stock", marks=pytest.mark.full)


@pytest.fixture(params=[STOCK, "default", "torch_order", UNLIFTED])
def loader_class(request):
    return chosen(request.param)


@pytest.fixture(params=[STOCK, "torch_order"])
def serial_class(request):
    return chosen(request.param)


@pytest.fixture(params=["default", UNLIFTED])
def elastic_class(request):
    return chosen(request.param)


@pytest.fixture(params=["default", "torch_order", UNLIFTED])
def own_class(request):
    return chosen(request.param)


@pytest.fixture(autouse=True)
def deadline():
    """Fails a test that hangs, and one that leaves a child process behind."""

    def give_up(*_):
        raise TimeoutError(f"the test took more than {DEADLINE} s")

    before = children()
    previous = signal.signal(signal.SIGALRM, give_up)
    signal.setitimer(signal.ITIMER_REAL, DEADLINE, 5)
    faulthandler.dump_traceback_later(GIVE_UP, exit=True)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
        faulthandler.cancel_dump_traceback_later()
    left = left_over(before)
    for pid in left:
        # stock has a handler of SIGCHLD, which raises in the middle of anything
        with contextlib.suppress(ProcessLookupError, RuntimeError):
            os.kill(pid, signal.SIGKILL)
            time.sleep(0.1)
    assert not left, f"processes left behind: {left}"


def left_over(before, patience=15.0):
    """Children that are not in `before`, after some seconds to end."""
    ends = time.monotonic() + patience
    while True:
        left = children() - before
        if not left:
            return left
        gc.collect()
        if time.monotonic() > ends:
            return left
        time.sleep(0.01)


def children():
    """Live child processes, without the helpers that multiprocessing keeps until the end."""
    pids = set()
    for folder in Path("/proc").glob("[0-9]*"):
        state, parent, words = described(folder)
        helper = (
            "multiprocessing.resource_tracker" in words or "multiprocessing.forkserver" in words
        )
        if parent == os.getpid() and state != "Z" and not helper:
            pids.add(int(folder.name))
    return pids


def described(folder):
    """State, parent and command line of a process, which may have ended."""
    try:
        state, parent = (folder / "stat").read_text().rpartition(")")[2].split()[:2]
        return state, int(parent), (folder / "cmdline").read_text(errors="replace")
    except OSError:
        return "Z", 0, ""
