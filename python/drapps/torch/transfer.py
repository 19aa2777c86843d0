"""The transfer thread: it brings batches where they are used ahead of the step that takes them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import torch

from drapps.errors import WorkerStartError
from drapps.torch.destination import Destination
from drapps.torch.worker_reports import ReportedBatch

AHEAD = 2  # batches at their destination that nobody has asked for yet


@dataclasses.dataclass(frozen=True)
class Transfer:
    """A batch on its way."""

    batch: Future[Any]
    destination: Destination

    def wait(self) -> None:
        """Waits until the batch is at its destination, or has failed. May be interrupted."""
        self.batch.exception()

    def taken(self) -> Any:
        """The batch, for the calling thread. Raises what making it raised.

        An ``ExceptionWrapper`` takes the place of a batch that cannot be brought there.
        """
        return _within(self.batch.result(), self.destination.take)


class TransferThread:
    """Makes batches and brings them to their destination, one after the other."""

    def __init__(self, destination: Destination) -> None:
        """Begins with the first batch.

        Raises:
            WorkerStartError: the system makes no thread.
        """
        self._destination = destination
        self._thread = ThreadPoolExecutor(1, "drapps-transfer", _begin, (destination,))
        try:
            self._thread.submit(int)  # makes the thread, while there is no batch to lose
        except RuntimeError as error:
            raise WorkerStartError(
                f"the system makes no thread that pins memory ({error}): set pin_memory=False and "
                "no device, or raise the limit on processes (ulimit -u)"
            ) from error

    def submit(self, make: Callable[[], Any]) -> Transfer:
        """Begins with what `make` gives: a batch, or a `ReportedBatch` with it."""
        put = self._thread.submit(lambda: _within(make(), self._destination.put))
        return Transfer(put, self._destination)

    def failed(self, error: BaseException) -> Transfer:
        """What stands in the place of a batch whose making has failed."""
        batch: Future[Any] = Future()
        batch.set_exception(error)
        return Transfer(batch, self._destination)

    def close(self) -> None:
        """Forgets what it has not begun."""
        self._thread.shutdown(wait=False, cancel_futures=True)


def _within(data: Any, act: Callable[[Any], Any]) -> Any:
    if isinstance(data, ReportedBatch):
        return dataclasses.replace(data, data=act(data.data))
    return act(data)


def _begin(destination: Destination) -> None:
    torch.set_num_threads(1)  # of this thread: the copy shall not take all cores
    destination.begin()
