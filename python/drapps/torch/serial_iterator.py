"""Batches of a map-style dataset in the stock order of random numbers (``torch_order=True``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from drapps.torch.failure import Failure
from drapps.torch.map_iterator import MapStyleIterator
from drapps.torch.map_job import MapJob
from drapps.torch.starting import serial_assignments, serial_job
from drapps.torch.window import Result
from drapps.torch.worker_reports import ReportedBatch
from drapps.worker.assignment import Assignment
from drapps.worker.process_knob import ProcessKnob

if TYPE_CHECKING:
    from drapps.torch.base import IteratedLoader


class SerialIterator(MapStyleIterator):
    """What a virtual worker makes depends on what it made before: all that it has drawn."""

    def _job_of(self, loader: IteratedLoader[Any]) -> MapJob:
        return serial_job(self, loader)

    def _assignments_of(self, loader: IteratedLoader[Any]) -> Callable[[ProcessKnob], Assignment]:
        return serial_assignments(loader)

    def _received(self, result: Result) -> Any:
        data, worker = result.value(), result.sent.worker
        if isinstance(data, (ReportedBatch, Failure)):
            self._progress.drew(worker, data.drawn)
        return self._unwrapped(data, worker)
