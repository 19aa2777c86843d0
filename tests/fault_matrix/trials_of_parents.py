"""Trials of the process that has the loaders: its resources, forks, threads, and its exit."""

from __future__ import annotations

import ctypes
import gc
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

from drapps.torch import DataLoader
from tests.fault_matrix import data


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
    pair: list[Any] = []

    def begin() -> None:
        iterator = iter(data.loader(data.Numbers(), "fork"))
        pair.extend([iterator, [next(iterator)]])

    thread = threading.Thread(target=begin)
    thread.start()
    thread.join()
    time.sleep(0.5)  # a worker that dies with the thread is dead by now
    iterator, batches = pair
    pair.clear()
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
    iterator = iter(data.loader(data.Numbers(1.0), "fork", batch_size=1))
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


def _private_shared_memory(size: int) -> bool:
    """Gives this process and its children a small ``/dev/shm``; False where that is forbidden."""
    libc = ctypes.CDLL(None, use_errno=True)
    new_user, new_mounts, private = 0x10000000, 0x00020000, 1 << 18 | 1 << 14
    if libc.unshare(new_user | new_mounts) != 0:
        return False
    libc.mount(None, b"/", None, private, None)
    options = f"size={size}".encode()
    return bool(libc.mount(b"tmpfs", b"/dev/shm", b"tmpfs", 0, options) == 0)
