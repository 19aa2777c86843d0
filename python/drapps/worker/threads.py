"""Worker threads in the place of worker processes, for datasets that say they are thread-safe."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import traceback
from contextlib import AbstractContextManager
from typing import Any

from drapps.errors import WorkerStartError
from drapps.worker.child import Worker
from drapps.worker.descriptor import Descriptor
from drapps.worker.launch import Launch


class WorkerThread(threading.Thread):
    """A thread with what a pool asks of a `multiprocessing.Process`.

    Attributes:
        ended: a descriptor that is readable from the end of the thread on.
        exitcode: None while it runs, 1 where it failed.
    """

    def __init__(self, target: Any, args: tuple[Launch], daemon: bool) -> None:  # noqa: ARG002
        super().__init__(name=f"drapps-worker-{args[0].worker}", daemon=daemon)
        self._launch = args[0]
        self.pid: int | None = os.getpid()
        self.ended = Descriptor(os.eventfd(0, os.EFD_CLOEXEC))
        self.exitcode: int | None = None

    def start(self) -> None:
        """Begins to work.

        Raises:
            WorkerStartError: the system makes no thread.
        """
        try:
            super().start()
        except RuntimeError as error:
            self.pid = None  # there is nothing to end
            raise WorkerStartError(
                f"the system makes no thread for worker {self._launch.worker} of a dataset with "
                f"thread_safe=True ({error}): lower num_workers, or raise the limit on threads"
            ) from error

    def run(self) -> None:
        """Works until the parent says stop."""
        launch = self._launch
        code = 1
        try:
            try:
                board = launch.attach()
            except Exception as error:
                code = launch.not_begun(error)
                return
            job = launch.job.job.in_thread(self._within)
            Worker(board, job, launch.worker).run(launch.replay)
            code = 0
        finally:
            self.exitcode = code
            os.eventfd_write(self.ended.fd, 1)

    def _within(self) -> AbstractContextManager[None]:
        accelerated = self._launch.accelerated
        if accelerated is None:
            return contextlib.nullcontext()
        return accelerated.sample(self._launch.number)

    def kill(self) -> None:
        """Nothing: a thread ends after its sample."""

    terminate = kill

    def stack(self) -> str:
        """What it does now."""
        frame = sys._current_frames().get(self.ident or 0)
        return "" if frame is None else "".join(traceback.format_stack(frame))


class ThreadContext:
    """What a pool asks of a multiprocessing context."""

    Process = WorkerThread

    @staticmethod
    def get_start_method() -> str:
        """The start method as reports name it."""
        return "thread"
