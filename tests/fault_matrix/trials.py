"""Single faults beyond the matrix. Each is the script of a session, and asserts what it sees."""

from __future__ import annotations

import io
import itertools
import logging
import os
import signal
import sys
import threading
import time
from typing import Any

import torch

from drapps.errors import WorkerDiedError
from tests.fault_matrix import data


def a_silent_next_logs_all_stacks() -> None:
    text = _logged()
    loader = data.loader(data.Numbers(1.5), "fork", batch_size=2, stall_report=0.5)
    iterator = iter(loader)
    next(iterator)
    report = text.getvalue()
    assert "no batch for" in report
    assert "a_silent_next_logs_all_stacks" in report  # where the training process waits
    for worker in (0, 1):
        assert f"worker {worker} (pid " in report, report
    assert report.count("in __getitem__") == 2, report  # the stacks of both, in the user's code


def a_stall_report_spares_what_is_starting() -> None:
    _spares("spawn")


def a_stall_report_spares_what_is_prepared() -> None:
    _spares("fork", worker_init_fn=lambda _: time.sleep(1))


def _spares(method: str, **options: Any) -> None:
    text = _logged()
    loader = data.loader(data.Numbers(), method, num_workers=1, stall_report=0.05, **options)
    assert len(data.values(loader)) == data.SIZE // data.BATCH
    assert "it had not begun a sample" in text.getvalue()


def a_stall_report_tells_of_a_stopped_worker() -> None:
    text = _logged()
    iterator = iter(data.loader(data.Marked("hit"), "fork", stall_report=0.5))
    next(iterator)
    os.kill(data.marked_pid("hit"), signal.SIGSTOP)
    try:
        data.values(iterator)
    except WorkerDiedError as error:
        assert "stopped" in str(error)
    assert "no answer; its state is 'T'" in text.getvalue(), text.getvalue()


class Ending(data.Numbers):
    """Leaves its process at one sample."""

    def __init__(self, how: Any) -> None:
        super().__init__()
        self.how = how

    def __getitem__(self, index: int) -> torch.Tensor:
        if index == 13:
            self.how()
        return super().__getitem__(index)


def ending_a_worker_names_code_and_sample() -> None:
    for how, code in (
        (lambda: sys.exit(5), 5),
        (lambda: os._exit(6), 6),
        (lambda: sys.exit("farewell"), 1),
    ):
        try:
            data.values(data.loader(Ending(how), "fork"))
        except WorkerDiedError as error:
            assert f"it exited with code {code}" in str(error), str(error)
            assert "at position 13 of the epoch (index 13)" in str(error), str(error)
            assert 'on_worker_death="restart"' in str(error), str(error)
            assert error.worker in (0, 1)
            assert error.pid > 0
        else:
            raise AssertionError("no error")


def a_sample_that_kills_each_process_is_named() -> None:
    for options in ({}, {"torch_order": True}, {"persistent_workers": True}):
        loader = data.loader(
            Ending(lambda: os._exit(6)), "fork", on_worker_death="restart", **options
        )
        given = []
        try:
            given.extend(loader)
        except WorkerDiedError as error:
            assert "3 processes have died of it" in str(error), str(error)
            assert "13" in str(error).split("(index ")[1], str(error)
        else:
            raise AssertionError("no error")
        assert len(given) == 13 // data.BATCH


def processes_that_cannot_start_end_it() -> None:
    for how in ("raise", "restart"):
        loader = data.loader(
            data.Numbers(), "fork", worker_init_fn=lambda _: os._exit(4), on_worker_death=how
        )
        try:
            next(iter(loader))
        except WorkerDiedError as error:
            assert "it exited with code 4" in str(error)
            assert "it had not begun a sample" in str(error)
            assert ("at their start" in str(error)) == (how == "restart")
        else:
            raise AssertionError("no error")


def workers_that_die_together_are_not_confused() -> None:
    """Each process is another virtual worker, with random numbers of its own."""
    options: dict[str, Any] = {"num_workers": 4, "torch_order": True, "batch_size": 2}
    expected = data.values(data.loader(data.Numbers(0.01), "fork", **options))
    loader = data.loader(data.Numbers(0.01), "fork", on_worker_death="restart", **options)
    iterator = iter(loader)
    start = iterator._processes.pool.start

    def slowly(*arguments: Any, start: Any = start) -> Any:
        started = start(*arguments)
        time.sleep(0.3)  # the first successor is at work before there is a second one
        return started

    iterator._processes.pool.start = slowly
    given: list[Any] = []
    for hit in ((0,), (0, 1), (2, 1, 0, 3)):
        given += data.values(itertools.islice(iterator, 2))
        for worker in hit:
            os.kill(iterator._workers[worker].pid, signal.SIGKILL)
    assert given + data.values(iterator) == expected


class RequiredArguments(Exception):  # noqa: N818
    """An exception that its message alone does not make."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(f"{message} {code}")


class BadReduce(Exception):  # noqa: N818
    """An exception whose pickling fails."""

    def __reduce__(self) -> Any:
        raise RuntimeError("not so")


class Raising(data.Numbers):
    """Raises at one sample."""

    def __init__(self, error: BaseException) -> None:
        super().__init__()
        self.error = error

    def __getitem__(self, index: int) -> torch.Tensor:
        if index == 13:
            raise self.error
        return super().__getitem__(index)


def exceptions_keep_type_and_traceback() -> None:
    cases: list[tuple[BaseException, type[BaseException]]] = [
        (RequiredArguments("reason", 3), RuntimeError),  # as stock: it cannot be made again
        (BadReduce("reason"), BadReduce),
        (KeyError("reason"), KeyError),
        (ValueError("reason"), ValueError),
        (FileNotFoundError(2, "reason", "x.png"), FileNotFoundError),
    ]
    for error, kind in cases:
        for options in ({}, {"torch_order": True}):
            iterator = iter(data.loader(Raising(error), "fork", **options))
            given = [next(iterator) for _ in range(3)]
            try:
                next(iterator)
            except Exception as caught:
                assert type(caught) is kind, type(caught)
                text = str(caught)
                assert type(error).__name__ in text, text
                assert "reason" in text
                assert "trials.py" in text
                *_, place, last = text.strip().splitlines()
                assert "while making" in place, text
                assert "13" in place, text
                assert type(error).__name__ in last, text
            else:
                raise AssertionError("no error")
            given.extend(iterator)
            assert len(given) == data.SIZE // data.BATCH - 1


class Locked(data.Numbers):
    """Each sample holds what cannot be sent."""

    def __getitem__(self, index: int) -> Any:
        return {"image": super().__getitem__(index), "meta": [index, {"lock": threading.Lock()}]}


def what_cannot_be_sent_is_named_by_its_path() -> None:
    for options in ({}, {"torch_order": True}):
        loader = data.loader(Locked(), "fork", collate_fn=lambda samples: samples, **options)
        try:
            next(iter(loader))
        except TypeError as error:
            assert "the batch[0]['meta'][1]['lock'] (_thread.lock)" in str(error), str(error)
        else:
            raise AssertionError("no error")


class FirstSlow(data.Numbers):
    """Two bad samples in one batch, the first of which takes longer."""

    def __getitem__(self, index: int) -> torch.Tensor:
        if index in (0, 2):
            time.sleep(0 if index else 0.3)
            raise ValueError(f"bad {index}")
        return super().__getitem__(index)


def the_first_bad_sample_of_a_batch_is_raised() -> None:
    for workers in (1, 4):
        try:
            next(iter(data.loader(FirstSlow(), "fork", num_workers=workers)))
        except ValueError as error:
            assert "bad 0" in str(error), str(error)
        else:
            raise AssertionError("no error")


def _logged() -> io.StringIO:
    text = io.StringIO()
    logging.getLogger("drapps").addHandler(logging.StreamHandler(text))
    return text
