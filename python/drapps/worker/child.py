"""What runs in a worker process: claim a batch, make its samples, help others, send results."""

from __future__ import annotations

import contextlib
import functools
import pickle
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from drapps.worker.commands import BeginPass, JoinProcess, LeaveProcess, MakeBatch
from drapps.worker.hosted import HostedWorkers
from drapps.worker.job import EndOfStream, Job, ResultKind, SampleJob
from drapps.worker.serialise import UnpicklableError, dump, load

if TYPE_CHECKING:
    from drapps import _core

_PATIENCE = 5.0  # seconds between looks at nothing; every event on the board ends a wait at once


@dataclass
class _Failed:
    """In the place of samples: the pickle of a failure."""

    pickled: bytes


@dataclass
class _Task:
    """A batch that this process owns, and makes in pieces."""

    job: SampleJob
    ticket: int
    worker: int
    position: int
    pieces: int
    batch: MakeBatch
    outputs: dict[int, Any] = field(default_factory=dict)  # per piece: samples, or _Failed


class Worker:
    """The loop of one process."""

    def __init__(self, board: _core.Board, job: Job, worker: int) -> None:
        self._board = board
        self._job = job
        self._worker = worker
        self._broken: bytes | None = None  # the pickle of what the start of the job raised
        self._lost: dict[int, bytes] = {}  # pickles of why virtual workers could not join
        self._pending: list[_Task] = []  # owned, and waiting for samples that others make
        self._left_behind: list[int] = []  # owned tickets, of virtual workers that have left
        self._hosted = HostedWorkers(job, worker)

    def run(self, replay: tuple[tuple[MakeBatch | BeginPass, int], ...] = ()) -> None:
        """Makes `replay`, commands and positions, for nobody; then works until it shall stop."""
        try:
            self._job.start(self._worker, self._board.allocate)
            for command, position in replay:
                self._repeat(command, position)
        except Exception as error:
            self._broken = pickle.dumps(self._job.failure(error, self._worker, "its start"))
        while True:
            self._collect()
            work = self._board.next(_PATIENCE, bool(self._pending or self._left_behind))
            if work.kind == "stop":
                return
            if work.kind == "task":
                self._own(work)
            elif work.kind == "piece":
                self._help(work)

    def _repeat(self, command: MakeBatch | BeginPass, position: int) -> None:
        job, place = self._job, (self._worker, command.epoch, position)
        if isinstance(command, BeginPass):
            job.begin_pass(command.epoch, command.message)
            return
        with contextlib.suppress(Exception):  # it failed the first time, too
            if command.grain == 0:
                job.whole(command.index, *place)
                return
            by_sample, at = cast(SampleJob, job), enumerate(command.index, position)
            samples = [by_sample.sample(index, *place[:2], here) for here, index in at]
            by_sample.collate(samples, *place)

    def _own(self, work: _core.Work) -> None:
        if self._broken is not None:
            self._board.deliver(work.ticket, ResultKind.ERROR, [self._broken])
            return
        command = load([work.input])
        if isinstance(command, JoinProcess):
            self._join(work, command)
            return
        if work.worker in self._lost:
            self._board.deliver(work.ticket, ResultKind.ERROR, [self._lost[work.worker]])
            return
        job = self._hosted.turn_to(work.worker)
        shared = isinstance(command, MakeBatch) and command.shared
        if job is None or (shared and job.keeps_state):
            # The batch is asked of another process, as soon as the parent knows.
            self._left_behind.append(work.ticket)
        elif isinstance(command, LeaveProcess):
            self._leave(work)
        elif isinstance(command, BeginPass):
            begin = functools.partial(job.begin_pass, command.epoch, command.message)
            self._send(work.ticket, work.worker, begin, "the beginning of a pass")
        elif command.grain == 0:
            place = (work.worker, command.epoch, work.position)
            make = functools.partial(job.whole, command.index, *place)
            named = f"batch {command.index!r}"
            if not command.has_index:
                named = f"the batch at position {work.position} of the epoch"
            self._send(work.ticket, work.worker, make, named)
        else:
            place = (work.ticket, work.worker, work.position)
            self._advance(_Task(cast(SampleJob, job), *place, command.pieces, command))

    def _leave(self, work: _core.Work) -> None:
        try:
            self._board.deliver(work.ticket, ResultKind.VALUE, self._hosted.leave(work.worker))
        except Exception as error:  # of the user's state_dict, too
            self._board.deliver(work.ticket, ResultKind.VALUE, [str(error).encode()])

    def _join(self, work: _core.Work, command: JoinProcess) -> None:
        try:
            self._hosted.join(work.worker, command.carried)
        except Exception as error:  # of the user's load_state_dict
            failure = self._job.failure(error, work.worker, "its arrival in another process")
            self._lost[work.worker] = pickle.dumps(failure)
        self._board.deliver(work.ticket, ResultKind.VALUE, [b""])

    def _advance(self, task: _Task) -> None:
        """Makes what is left of a batch; what others make is waited for among the pending."""
        for piece in range(task.pieces):
            if piece in task.outputs or not self._board.begin(task.ticket, piece):
                continue
            place = (task.batch, piece, task.worker, task.position)
            task.outputs[piece] = self._samples(task.job, *place)
            self._board.finish(task.ticket, piece)
            self._collect()
            if self._board.cancelled(task.ticket):
                self._board.drop(task.ticket)
                return
        if self._board.ready(task.ticket):
            self._collate(task)
        else:
            self._pending.append(task)

    def _samples(
        self, job: SampleJob, batch: MakeBatch, piece: int, worker: int, position: int
    ) -> list[Any] | _Failed:
        first = piece * batch.grain
        make, samples = job.sample, []
        try:
            for offset, index in enumerate(batch.index[first : first + batch.grain], first):
                samples.append(make(index, worker, batch.epoch, position + offset))
        except Exception as error:
            place = first + len(samples)
            what = f"sample {batch.index[place]!r} at position {position + place}"
            return _Failed(pickle.dumps(self._job.failure(error, worker, what)))
        return samples

    def _help(self, work: _core.Work) -> None:
        batch, place = load([work.input]), (work.piece, work.worker, work.position)
        samples = self._samples(cast(SampleJob, self._job), batch, *place)
        if isinstance(samples, _Failed):
            self._board.deliver_piece(work.ticket, work.piece, ResultKind.ERROR, [samples.pickled])
            return
        try:
            parts = dump(samples, self._job.reducer())
        except UnpicklableError:  # what cannot travel is made where it is needed
            self._board.reopen_piece(work.ticket, work.piece)
            return
        self._board.deliver_piece(work.ticket, work.piece, ResultKind.VALUE, parts)

    def _collect(self) -> None:
        """Finishes what waited for others: their samples have come, or are to be made here."""
        for ticket in filter(self._board.cancelled, tuple(self._left_behind)):
            self._left_behind.remove(ticket)
            self._board.drop(ticket)
        waiting, self._pending = self._pending, []
        for task in waiting:
            if self._board.cancelled(task.ticket):
                self._board.drop(task.ticket)
            else:
                self._advance(task)

    def _collate(self, task: _Task) -> None:
        samples: list[Any] = []
        for piece in range(task.pieces):
            output = task.outputs.get(piece)
            if output is None:
                delivered = self._board.delivered(task.ticket, piece)
                assert delivered is not None  # a ready task lacks nothing
                kind, parts = delivered
                output = _Failed(bytes(parts[0])) if kind == ResultKind.ERROR else load(parts)
            if isinstance(output, _Failed):  # the first one of the batch, whoever was first to fail
                self._board.deliver(task.ticket, ResultKind.ERROR, [output.pickled])
                return
            samples.extend(output)
        self._board.phase("collate")
        place = (task.worker, task.batch.epoch, task.position)
        what = f"the batch at position {task.position}"
        collate = functools.partial(task.job.collate, samples, *place)
        self._send(task.ticket, task.worker, collate, what)

    def _send(self, ticket: int, worker: int, make: Callable[[], Any], what: str) -> None:
        """Sends what `make` gives, or how it failed."""
        try:
            parts = dump(make(), self._job.reducer(), "the batch")
            self._board.deliver(ticket, ResultKind.VALUE, parts)
        except EndOfStream as end:
            self._board.deliver(ticket, ResultKind.END, [pickle.dumps(end.report)])
        except Exception as error:  # of the user's code, or no room for what it made
            failure = pickle.dumps(self._job.failure(error, worker, what))
            self._board.deliver(ticket, ResultKind.ERROR, [failure])
