"""Batches of a map-style dataset, of which any process makes any sample.

Whether it keeps state on itself, so that each virtual worker needs a process, is found out behind
the first batches: then another assignment of workers to processes takes the place of the first.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from drapps.torch.map_job import MapJob, gives_samples
from drapps.torch.requests import (
    BatchRequests,
    Depth,
    DepthByProcesses,
    PieceRequests,
    Requests,
    SingleRequests,
)
from drapps.torch.starting import map_assignments, map_job
from drapps.torch.window import Result
from drapps.torch.worker_iterator import WorkerIterator
from drapps.torch.worker_reports import ReportedBatch
from drapps.worker.assignment import Assignment
from drapps.worker.process_knob import ProcessKnob

if TYPE_CHECKING:
    from drapps.torch.base import IteratedLoader


class MapStyleIterator(WorkerIterator):
    """Batches are made of the samples that a sampler names."""

    def _requests_of(self) -> type[Requests]:
        return BatchRequests if self._auto_collation else SingleRequests

    def _unwrapped(self, data: Any, worker: int) -> Any:
        """The batch that `worker` has sent, or a failure."""
        if not isinstance(data, ReportedBatch):
            return data
        if data.changed is not None:
            self._note_changed(worker, data.changed)
        return data.data

    def _note_changed(self, worker: int, changed: dict[str, bool]) -> None:
        """The process of `worker` tells what its batches have changed in its dataset."""
        before = self._processes.assignment
        after = before.learn(worker, changed)
        if after is not before:
            self._or_end(functools.partial(self._processes.assign, after))
            self._requests.depth = self._depth()
        self._progress.own_state = self._knob.lasting_state
        self._progress.plan = self.plan()


class MapIterator(MapStyleIterator):
    """The random numbers of a sample are those of its place, whoever makes it."""

    def __init__(self, loader: IteratedLoader[Any]) -> None:
        self._depth_by_processes = Depth if loader._given_prefetch else DepthByProcesses
        super().__init__(loader)

    def _job_of(self, loader: IteratedLoader[Any]) -> MapJob:
        return map_job(self, loader, self._progress.key)

    def _assignments_of(self, loader: IteratedLoader[Any]) -> Callable[[ProcessKnob], Assignment]:
        return map_assignments(loader)

    def _requests_of(self) -> type[Requests]:
        by_sample = self._auto_collation and gives_samples(self._dataset)
        return PieceRequests if by_sample else super()._requests_of()

    def _received(self, result: Result) -> Any:
        return self._unwrapped(result.value(), result.sent.worker)

    def _depth(self) -> Depth:
        # A sampler that has run ahead farther than under stock may be seen to have.
        if self._processes.assignment.bound or not self._progress.drawn_unseen:
            return super()._depth()
        return self._depth_by_processes(self._prefetch, self._processes.pool)
