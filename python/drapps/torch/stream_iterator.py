"""Batches of an iterable-style dataset: a stream in each virtual worker."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from drapps.torch.failure import Failure
from drapps.torch.requests import Requests, SingleRequests
from drapps.torch.starting import serial_assignments, stream_job
from drapps.torch.stream_job import StreamJob
from drapps.torch.streams import unsharded
from drapps.torch.told_state import ToldState
from drapps.torch.window import Result
from drapps.torch.worker_iterator import WorkerIterator
from drapps.torch.worker_reports import EndedStream, StreamBatch
from drapps.worker.assignment import Assignment
from drapps.worker.commands import MakeBatch, SentCommand
from drapps.worker.process_knob import ProcessKnob

if TYPE_CHECKING:
    from drapps.torch.base import IteratedLoader

_log = logging.getLogger("drapps")


class StreamIterator(WorkerIterator):
    """Each batch tells where it has left its stream, which is what a state holds."""

    def _job_of(self, loader: IteratedLoader[Any]) -> StreamJob:
        return stream_job(self, loader, frozenset(self._progress.starts()))

    def _assignments_of(self, loader: IteratedLoader[Any]) -> Callable[[ProcessKnob], Assignment]:
        return serial_assignments(loader)

    def _requests_of(self) -> type[Requests]:
        return SingleRequests

    def _received(self, result: Result) -> Any:
        data = result.value()
        if isinstance(data, (StreamBatch, EndedStream, Failure)):
            self._progress.drew(result.sent.worker, data.drawn)
        return data

    def _give(self, sent: SentCommand, command: MakeBatch, result: Result) -> Any:
        data, ended = self._received(result), False
        state: ToldState | None = None
        if isinstance(data, StreamBatch):
            if data.whole:
                self._report_unsharded()
            data, state, ended = data.data, data.state, data.ended
        self._note_given(sent, command)
        if isinstance(data, Failure):
            self._progress.failed(sent.worker)
        else:
            self._progress.advanced(sent.worker, state, ended)
        return result.delivered(data)

    def _report_unsharded(self) -> None:
        why = unsharded(self._dataset, self._num_workers)
        if self._knob.remark_once(why):
            _log.warning(why)
