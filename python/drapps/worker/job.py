"""What a framework's adapter gives to the worker processes."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from enum import IntEnum
from typing import Any, Protocol

from drapps.worker.serialise import Reduce


class ResultKind(IntEnum):
    """What came of a command."""

    VALUE = 0
    ERROR = 1
    END = 2  # of a stream


class EndOfStream(Exception):  # noqa: N818
    """A virtual worker's stream has no more batches.

    Attributes:
        report: what the parent is to know of it; pickles.
    """

    def __init__(self, report: Any) -> None:
        super().__init__()
        self.report = report


class Job(Protocol):
    """The user's code as a worker process runs it, on one thread.

    One object per process, but for virtual workers that came from another one: they have one each.
    """

    def in_thread(self, within: Callable[[], AbstractContextManager[None]]) -> Job:
        """This job for one thread, where threads take the place of processes.

        Args:
            within: gives what samples are made in.
        """

    def start(self, worker: int, allocate: Callable[[int], Any]) -> None:
        """Prepares the process, which begins as this virtual worker.

        Args:
            worker: the virtual worker; the process stays this one where it is bound to it.
            allocate: gives a uint8 array of so many bytes in memory that results travel in.
        """

    @property
    def keeps_state(self) -> bool:
        """What it made first has shown that what it makes depends on what it made before."""

    def whole(self, index: Any, worker: int, epoch: int, position: int) -> Any:
        """A batch that is made at once. Raises `EndOfStream` where there is none."""

    def begin_pass(self, epoch: int, message: Any) -> Any:
        """A pass begins, or goes on at a place. Gives what the parent is to know of it."""

    def leave(self, worker: int) -> tuple[str, Any] | None:
        """How `worker` can go to another process now, and what it takes along; None: it cannot."""

    def join(self, worker: int, carried: Any) -> Job:
        """A job beside this one for `worker`, which comes from another process; its turn begins."""

    def pause(self) -> None:
        """The turn of another job begins: keeps what is global to the process."""

    def go_on(self) -> None:
        """The turn of this job begins."""

    def failure(self, error: Exception, worker: int, sample: str) -> Any:
        """What is sent in the place of a result; always pickles."""

    def reducer(self) -> Reduce | None:
        """How objects of the framework are reduced, for one pickle."""

    def packer(self) -> Reduce | None:
        """How what a virtual worker takes to another process is reduced; refuses what is shared."""

    def sender(self) -> Reduce | None:
        """How this job itself is reduced where a process is not forked."""


class SampleJob(Job, Protocol):
    """A job whose batches may be made sample by sample, then also by several processes."""

    def sample(self, index: Any, worker: int, epoch: int, position: int) -> Any:
        """One sample of a batch of the virtual worker `worker`."""

    def collate(self, samples: list[Any], worker: int, epoch: int, position: int) -> Any:
        """The batch of `samples`, the first of which stands at `position` of the epoch."""
