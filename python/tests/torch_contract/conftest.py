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

from python.tests.cells import full

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

# In torch_order each sample has its process, as in stock, and others draw for it: the quick run has
# that for what such things decide. Elsewhere the default mode alone speaks for both.
each_order = pytest.mark.parametrize(
    "loader_class", [STOCK, "default", "torch_order", UNLIFTED], indirect=True
)
each_own_order = pytest.mark.parametrize(
    "own_class", ["default", "torch_order", UNLIFTED], indirect=True
)


@pytest.fixture(params=[STOCK, "default", full("torch_order"), UNLIFTED])
def loader_class(request):
    return chosen(request.param)


@pytest.fixture(params=[STOCK, "torch_order"])
def serial_class(request):
    return chosen(request.param)


@pytest.fixture(params=["default", UNLIFTED])
def elastic_class(request):
    return chosen(request.param)


@pytest.fixture(params=["default", full("torch_order"), UNLIFTED])
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
    own = os.getpid()
    return {
        int(folder.name)
        for folder in Path("/proc").glob("[0-9]*")
        if parent_of(folder) == own and not is_helper(folder)
    }


def parent_of(folder):
    """The parent of a process that lives; 0 of any other."""
    try:
        state, parent = (folder / "stat").read_text().rpartition(")")[2].split()[:2]
    except OSError:
        return 0
    return 0 if state == "Z" else int(parent)


def is_helper(folder):
    """Whether multiprocessing keeps it until the end; or it has ended."""
    try:
        words = (folder / "cmdline").read_text(errors="replace")
    except OSError:
        return True
    return "multiprocessing.resource_tracker" in words or "multiprocessing.forkserver" in words
