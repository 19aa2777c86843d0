"""What the parent process of each cell of the matrix does.

A scene asserts what it can see itself, prints a mark where the fault is to come from outside, and
"whole" where it has come to its good end. What is left behind is the harness's to see.
"""

from __future__ import annotations

import atexit
import functools
import gc
import itertools
import os
import signal
import time
from multiprocessing import forkserver, resource_tracker
from pathlib import Path
from typing import Any

from drapps import _core
from drapps.errors import WorkerDiedError
from drapps.monitor.folder import folders, sockets
from drapps.monitor.server import offer
from tests.fault_matrix import data

_SIGNALS = {
    "SIGKILL": (signal.SIGKILL, "is killed by signal: Killed (9)"),
    "SIGSEGV": (signal.SIGSEGV, "is killed by signal: Segmentation fault (11)"),
    "SIGSTOP": (signal.SIGSTOP, "it is stopped (SIGSTOP or SIGTSTP)"),
    "Ctrl-C": (signal.SIGINT, "is killed by signal: Interrupt (2)"),
}
_WITHIN = 120.0  # seconds from a death to its error, on a machine that does much else
_kept: list[Any] = []  # what is to live until the interpreter exits


def play(actor: str, fault: str, moment: str, method: str) -> None:
    """One cell."""
    # What lives as long as the process, whoever uses it first.
    _core.cpu_budget_fd()
    offer()
    while not any(pid == os.getpid() for place in folders() for pid, _ in sockets(place)):
        time.sleep(0.01)
    if method != "fork":
        resource_tracker.ensure_running()
    if method == "forkserver":
        forkserver.set_forkserver_preload(["tests.fault_matrix.data"])
        forkserver.ensure_running()
    name = f"_{actor}_{moment}".replace(" ", "_").replace("-", "_")
    descriptors = data.descriptors()
    globals()[name](fault, method)
    if moment != "interpreter exit":
        gc.collect()
        until = time.monotonic() + _WITHIN
        # What a thread of ours opens to read it stays for a moment.
        while (left := data.descriptors() - descriptors) > 0 and time.monotonic() < until:
            time.sleep(0.01)
        assert left == 0, f"{left} descriptors are left"
    _say("whole")


# ---- the worker is hit


def _worker_mid_epoch(fault: str, method: str) -> None:
    if fault == "unpicklable exception":
        _raises_in_a_sample(method)
        return
    cause = _SIGNALS[fault][1] if fault in _SIGNALS else "it exited with code 7"
    (expected,) = _undisturbed()

    def stream(restart: bool) -> tuple[Any, Any]:
        file = f"hit-{restart}"
        dataset = data.Marked(file) if fault in _SIGNALS else data.Fused(file, 0)
        loader = data.loader(dataset, method, on_worker_death="restart" if restart else "raise")
        iterator = iter(loader)
        batches = [next(iterator)]
        if fault in _SIGNALS:
            os.kill(data.marked_pid(file), _SIGNALS[fault][0])
        return loader, itertools.chain(batches, iterator)

    loader, batches = stream(restart=False)
    _dies(batches, cause)
    assert len(data.values(loader)) == len(expected)
    _, batches = stream(restart=True)
    assert data.values(batches) == expected


def _worker_between_epochs(fault: str, method: str) -> None:
    if fault == "unpicklable exception":
        _raises_at_a_pass(method)
        return
    cause = _SIGNALS[fault][1] if fault in _SIGNALS else "it exited with code 7"
    # Any process makes any sample, so one that only stands still between epochs harms nobody,
    # unless its virtual worker is bound to it.
    options: dict[str, Any] = {"torch_order": fault == "SIGSTOP", "persistent_workers": True}
    expected = _undisturbed(3, **options)
    for restart in (False, True):
        dataset = data.Numbers() if fault in _SIGNALS else data.Fused(f"fuse-{restart}", 1.0)
        death = "restart" if restart else "raise"
        loader = data.loader(dataset, method, on_worker_death=death, **options)
        assert data.values(loader) == expected[0]
        if fault in _SIGNALS:
            os.kill(loader._iterator._workers[0].pid, _SIGNALS[fault][0])
            time.sleep(0.2)
        else:
            time.sleep(1.5)
        if restart:
            assert data.values(loader) == expected[1]
        else:
            _dies(loader, cause)
        whole = data.values(loader)
        assert len(whole) == len(expected[2])
        # Processes that begin anew have not drawn what the others had in torch's order.
        assert whole == expected[2] or (options["torch_order"] and not restart)


def _worker_interpreter_exit(fault: str, method: str) -> None:
    for death in ("raise", "restart"):
        if fault == "unpicklable exception":
            dataset = data.Unpicklable(after=8)
        elif fault == "exit in __del__":
            dataset = data.Fused("fuse", at=4, when="exiting")
        else:
            dataset = data.Numbers()
        iterator = iter(data.loader(dataset, method, on_worker_death=death))
        next(iterator)
        _kept.append(iterator)

    def hit() -> None:
        for iterator in _kept:
            os.kill(iterator._workers[0].pid, _SIGNALS[fault][0])

    if fault in _SIGNALS:
        atexit.register(hit)
    elif fault == "exit in __del__":
        atexit.register(time.sleep, 0.5)
        atexit.register(Path("exiting").touch)
    _say("exiting")


def _raises_in_a_sample(method: str) -> None:
    iterator = iter(data.loader(data.Unpicklable(), method))
    first = [next(iterator) for _ in range(3)]
    try:
        next(iterator)
    except RuntimeError as error:
        _tells_all(error, "sample 13")
    else:
        raise AssertionError("no error")
    rest = data.values(itertools.chain(first, iterator))
    (expected,) = _undisturbed()
    assert rest == expected[:3] + expected[4:]


def _raises_at_a_pass(method: str) -> None:
    loader = data.loader(data.BadSecondPass(), method, persistent_workers=True)
    expected = data.values(loader)
    try:
        for _ in loader:
            raise AssertionError("a batch of a stream that did not begin")
    except RuntimeError as error:
        _tells_all(error, "the beginning of a pass")
    assert data.values(loader) == expected


# ---- the transfer thread is hit


def _transfer_thread_mid_epoch(fault: str, method: str) -> None:
    (expected,) = _undisturbed()
    Path("armed").touch()
    iterator = iter(_transferring(fault, method, at=13))
    given, rest = _raises_once(iterator)
    assert given + rest == expected[:3] + expected[4:]
    assert len(given) == 3


def _transfer_thread_between_epochs(fault: str, method: str) -> None:
    expected = _undisturbed(3)
    loader = _transferring(fault, method, at=0, persistent_workers=True)
    assert data.values(loader) == expected[0]
    Path("armed").touch()
    given, rest = _raises_once(iter(loader))
    assert (given, rest) == ([], expected[1][1:])
    Path("armed").unlink()
    assert data.values(loader) == expected[2]


def _transfer_thread_interpreter_exit(fault: str, method: str) -> None:
    Path("armed").touch()
    iterator = iter(_transferring(fault, method, at=8, delay=1))
    next(iterator)
    time.sleep(0.5)
    next(iterator)  # the third batch is done, and is given to the thread now
    _kept.append(iterator)
    _say("exiting")


def _transferring(fault: str, method: str, at: int, delay: float = 0, **options: Any) -> Any:
    data.pretend_accelerator()
    fuse = None if fault == "unpicklable exception" else "fuse"
    collate = functools.partial(data.Transferred, at=at, armed="armed", fuse=fuse, delay=delay)
    return data.loader(data.Numbers(), method, pin_memory=True, collate_fn=collate, **options)


def _raises_once(iterator: Any) -> tuple[list[Any], list[Any]]:
    """The batches before an error of the transfer thread, and those behind it."""
    given: list[Any] = []
    try:
        for batch in iterator:
            given += data.values([batch])
    except RuntimeError as error:
        for part in ("LocalError", "the reason in words", "raise_unpicklable", "pin memory thread"):
            assert part in str(error), str(error)
    else:
        raise AssertionError("no error")
    return given, data.values(iterator)


# ---- the parent is hit


def _parent_mid_epoch(fault: str, method: str) -> None:
    if fault == "unpicklable exception":
        sampler = data.BadSampler(at_iter=False)
        loader = data.loader(data.Numbers(), method, sampler=sampler)
        _raises_in_the_parent(loader, before=5 // data.BATCH)
        return
    (expected,) = _undisturbed()
    iterator = iter(data.loader(data.Numbers(0.1), method))
    batches = [next(iterator)]
    if fault == "exit in __del__":
        fuse = data.Fuse("fuse")
        del fuse
    _say("now")
    try:
        assert data.values(itertools.chain(batches, iterator)) == expected
    except KeyboardInterrupt:
        assert fault == "Ctrl-C"
        del iterator
        assert data.values(data.loader(data.Numbers(), method)) == expected
    else:
        assert fault != "Ctrl-C", "it was not interrupted"


def _parent_between_epochs(fault: str, method: str) -> None:
    if fault == "unpicklable exception":
        sampler = data.BadSampler(at_iter=True)
        loader = data.loader(data.Numbers(), method, sampler=sampler, persistent_workers=True)
        _raises_in_the_parent(loader, before=0)
        return
    restarts = {"on_worker_death": "restart"} if fault == "Ctrl-C" else {}
    loader = data.loader(data.Numbers(), method, persistent_workers=True, **restarts)
    expected = _undisturbed(2, persistent_workers=True)
    assert data.values(loader) == expected[0]
    if fault == "exit in __del__":
        fuse = data.Fuse("fuse")
        del fuse
    _say("now")
    try:
        time.sleep(4)
    except KeyboardInterrupt:
        assert fault == "Ctrl-C"
    else:
        assert fault != "Ctrl-C", "it was not interrupted"
    assert data.values(loader) == expected[1]


def _parent_interpreter_exit(fault: str, method: str) -> None:
    iterator = iter(data.loader(data.Numbers(0.4), method))
    next(iterator)
    _kept.append(iterator)
    _say("exiting")
    if fault == "unpicklable exception":
        data.raise_unpicklable()
    if fault == "exit in __del__":
        _kept.append(data.Fuse("fuse"))
        atexit.register(_kept.pop)
    atexit.register(_say, "now")


def _raises_in_the_parent(loader: Any, before: int) -> None:
    expected = data.values(loader)
    given: list[Any] = []
    try:
        given.extend(loader)
    except Exception as error:
        assert type(error).__qualname__ == "raise_unpicklable.<locals>.LocalError"
        assert error.code == 3
        assert error.payload() is None
    else:
        raise AssertionError("no error")
    assert len(given) == before
    assert len(data.values(loader)) == len(expected)


# ---- what scenes share


def _undisturbed(epochs: int = 1, **options: Any) -> list[Any]:
    """The oracle: the streams of such a loader without faults, which no start method changes."""
    loader = data.loader(data.Numbers(0), "fork", **options)
    return [data.values(loader) for _ in range(epochs)]


def _dies(batches: Any, cause: str) -> None:
    """Soon after a death there is an error that names it; each later call says so again."""
    began = time.monotonic()
    iterator = None
    try:
        iterator = iter(batches)
        data.values(iterator)
    except WorkerDiedError as error:
        took, message = time.monotonic() - began, str(error)
        assert cause in message, message
        assert cause in error.cause, error.cause
        assert "as worker " in message, message
        assert "at position " in message or "had not begun a sample" in message, message
        assert took < _WITHIN, took
    else:
        raise AssertionError("no error")


def _tells_all(error: BaseException, place: str) -> None:
    message = str(error)
    for part in ("LocalError", "the reason in words", "data.py", "raise_unpicklable", place):
        assert part in message, f"{part!r} is not in: {message}"
    assert "in DataLoader worker process" in message


def _say(mark: str) -> None:
    print(mark, flush=True)
