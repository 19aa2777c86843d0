"""Single faults beyond the matrix. Each is the script of a session, and asserts what it sees."""

from __future__ import annotations

import ctypes
import gc
import io
import itertools
import logging
import os
import resource
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import Dataset

from drapps.errors import WorkerDiedError
from drapps.torch import DataLoader
from tests.fault_matrix import data


def a_silent_next_logs_all_stacks() -> None:
    text = _logged()
    loader = data.loader(data.Numbers(1.5), "fork", stall_report=0.5)
    iterator = iter(loader)
    next(iterator)
    report = text.getvalue()
    assert "no batch for" in report
    assert "a_silent_next_logs_all_stacks" in report  # where the training process waits
    for worker in (0, 1):
        assert f"worker {worker} (pid " in report, report
    assert report.count("in __getitem__") == 2, report  # the stacks of both, in the user's code


def a_stall_report_spares_what_is_starting() -> None:
    text = _logged()
    loader = data.loader(data.Numbers(), "spawn", stall_report=0.05)
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
    for _ in range(2):
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


class Pictures(Dataset[Any]):
    """Large samples of several columns, in containers."""

    def __len__(self) -> int:
        return 160

    def __getitem__(self, index: int) -> Any:
        picture = torch.full((3, 160, 160), index % 256, dtype=torch.uint8)
        return {"picture": picture, "mask": picture[0].numpy(), "at": index}


def few_descriptors_and_little_shared_memory() -> None:
    private = _private_shared_memory(64 << 20)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
    for persistent in (False, True):
        loader = DataLoader(Pictures(), batch_size=8, num_workers=16, persistent_workers=persistent)
        for _ in range(2):
            held = list(loader)
            assert [int(at) for batch in held for at in batch["at"]] == list(range(160))
            for batch in held:
                assert bool((batch["picture"][:, 0] == batch["mask"]).all())
                assert batch["mask"][:, 0, 0].tolist() == batch["at"].tolist()
    if private:
        assert not list(Path("/dev/shm").iterdir())
        usage = os.statvfs("/dev/shm")
        assert usage.f_bfree == usage.f_blocks, "something lies in shared memory"


def a_fork_of_the_parent_changes_nothing() -> None:
    iterator = iter(data.loader(data.Numbers(), "fork"))
    held = [next(iterator), next(iterator)]
    kept = [batch.clone() for batch in held]
    child = os.fork()
    if child == 0:
        held.clear()
        del iterator
        gc.collect()
        sys.exit(0)  # with its atexit handlers
    assert os.waitpid(child, 0)[1] == 0
    rest = data.values(iterator)
    assert len(rest) == data.SIZE // data.BATCH - 2
    assert all(torch.equal(k, b) for k, b in zip(kept, held, strict=True))


def a_thread_that_ends_takes_no_worker_along() -> None:
    made: list[Any] = []

    def begin() -> None:
        iterator = iter(data.loader(data.Numbers(), "fork"))
        made.extend([iterator, [next(iterator)]])

    thread = threading.Thread(target=begin)
    thread.start()
    thread.join()
    time.sleep(0.5)  # a worker that dies with the thread is dead by now
    iterator, batches = made
    made.clear()
    assert len(data.values([*batches, *iterator])) == data.SIZE // data.BATCH


class Nested(data.Numbers):
    """Makes a loader with workers inside of a worker."""

    def __getitem__(self, index: int) -> torch.Tensor:
        return next(iter(data.loader(data.Numbers(), "fork")))[0]


def workers_have_no_workers() -> None:
    try:
        next(iter(data.loader(Nested(), "fork")))
    except AssertionError as error:
        assert "daemonic processes are not allowed to have children" in str(error)
    else:
        raise SystemExit("no error")


def two_loaders_at_once() -> None:
    ours = [iter(data.loader(data.Numbers(), "fork", persistent_workers=p)) for p in (False, True)]
    expected = data.values(data.loader(data.Numbers(), "fork"))
    streams: list[list[Any]] = [[], []]
    for _ in expected:
        for stream, iterator in zip(streams, ours, strict=True):
            stream.append(next(iterator))
    assert [data.values(stream) for stream in streams] == [expected, expected]


def hundreds_of_iterators_leave_no_descriptor() -> None:
    loader = data.loader(data.Numbers(0), "fork", num_workers=1)
    next(iter(loader))
    gc.collect()
    before = data.descriptors()
    for _ in range(300):
        next(iter(loader))
    gc.collect()
    assert data.descriptors() == before


def an_exit_ends_a_stopped_worker() -> None:
    iterator = iter(data.loader(data.Marked("hit"), "fork", persistent_workers=True))
    other = iter(data.loader(data.Numbers(), "fork"))
    next(iterator), next(other)
    os.kill(data.marked_pid("hit"), signal.SIGSTOP)
    globals()["kept"] = [iterator, other]


def a_loader_in_a_daemon_thread_does_not_hold_up_the_exit() -> None:
    seen = threading.Event()

    def forever() -> None:
        while True:
            for _ in data.loader(data.Numbers(0.05), "fork"):
                seen.set()

    threading.Thread(target=forever, daemon=True).start()
    assert seen.wait(30)


def an_interrupted_shutdown_leaves_nothing() -> None:
    """Ctrl-C while the end of slow workers is waited for."""
    iterator = iter(data.loader(data.Numbers(1.0), "fork"))
    pids = [process.pid for process in iterator._workers]
    next(iterator)
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    try:
        iterator._shutdown_workers()
        time.sleep(1)
    except KeyboardInterrupt:
        pass
    for pid in pids:
        assert not Path(f"/proc/{pid}").exists()


def a_serial_pass_that_is_left_is_made_to_its_window() -> None:
    """As stock's workers do, so that the numbers drawn afterwards are stock's."""

    def streams(make: Any, **options: Any) -> list[Any]:
        generator = torch.Generator().manual_seed(3)
        loader = make(
            data.Numbers(0.01),
            batch_size=data.BATCH,
            num_workers=2,
            generator=generator,
            persistent_workers=True,
            **options,
        )
        left = [batch for batch, _ in zip(loader, range(3), strict=False)]
        return [data.values(left), data.values(loader)]

    assert streams(DataLoader, torch_order=True) == streams(torch.utils.data.DataLoader)


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


def _private_shared_memory(size: int) -> bool:
    """Gives this process and its children a small ``/dev/shm``; False where that is forbidden."""
    libc = ctypes.CDLL(None, use_errno=True)
    new_user, new_mounts, private = 0x10000000, 0x00020000, 1 << 18 | 1 << 14
    if libc.unshare(new_user | new_mounts) != 0:
        return False
    libc.mount(None, b"/", None, private, None)
    options = f"size={size}".encode()
    return bool(libc.mount(b"tmpfs", b"/dev/shm", b"tmpfs", 0, options) == 0)
