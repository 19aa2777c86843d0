"""The transfer thread: it copies batches into pinned memory ahead of the step that takes them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import torch
from torch._utils import ExceptionWrapper
from torch.utils.data._utils.pin_memory import pin_memory

from drapps.errors import WorkerStartError
from drapps.torch.worker_reports import ReportedBatch

AHEAD = 2  # batches in pinned memory that nobody has asked for yet


class TransferThread:
    """Makes batches and pins them, one after the other, beside the training step."""

    def __init__(self, device: str | None) -> None:
        """Pins for the current device, whose type is `device`.

        Raises:
            WorkerStartError: the system makes no thread.
        """
        index = torch.accelerator.current_device_index()
        self._device = device
        self._where = f"in pin memory thread for device {index}"
        self._thread = ThreadPoolExecutor(1, "drapps-transfer", _begin, (index,))
        try:
            self._thread.submit(int)  # makes the thread, while there is no batch to lose
        except RuntimeError as error:
            raise WorkerStartError(
                f"the system makes no thread that pins memory ({error}): set pin_memory=False, or "
                "raise the limit on processes (ulimit -u)"
            ) from error

    def submit(self, make: Callable[[], Any]) -> Future[Any]:
        """Begins with what `make` gives: a batch, or a `ReportedBatch` with it.

        The result is the same in pinned memory; an ``ExceptionWrapper`` takes the place of a batch
        that does not let itself be pinned.
        """
        return self._thread.submit(self._transfer, make)

    def _transfer(self, make: Callable[[], Any]) -> Any:
        data = make()
        if isinstance(data, ReportedBatch):
            return dataclasses.replace(data, data=self._pinned(data.data))
        return self._pinned(data)

    def _pinned(self, data: Any) -> Any:
        try:
            return pin_memory(data, self._device)  # type: ignore[no-untyped-call]
        except Exception:
            return ExceptionWrapper(where=self._where)  # type: ignore[no-untyped-call]

    def close(self) -> None:
        """Forgets what it has not begun."""
        self._thread.shutdown(wait=False, cancel_futures=True)


def _begin(device_index: int) -> None:
    torch.set_num_threads(1)  # of this thread: the copy shall not take all cores
    torch.accelerator.set_device_index(device_index)
