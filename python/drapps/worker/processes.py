"""The worker processes of an iterator together with all that decides about them."""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Callable, Iterable
from typing import Any

from drapps import _core
from drapps.accelerate.acceleration import Acceleration
from drapps.errors import WorkerStartError
from drapps.worker.assignment import Assignment
from drapps.worker.autoscaler import Autoscaler
from drapps.worker.commands import ANY_PROCESS, BeginPass, MakeBatch, SentCommand, send
from drapps.worker.launch import SentJob
from drapps.worker.pool import ProcessPool, board_of
from drapps.worker.recovery import Recovery
from drapps.worker.threads import ThreadContext

_PROCESSES_PER_CORE = 64  # that there are process numbers for
_MOST_PROCESSES = 1024


class WorkerProcesses:
    """Processes that work for a number of virtual workers, from their start to their end.

    Attributes:
        board: where their tasks stand.
        pool: the processes.
        assignment: which of them makes what.
        control: the control plane.
        autoscaler: how they come and go.
        recovery: what becomes of deaths.
        looked: when they were last looked after.
        first_batch: where the time up to the first batch went, once that has come.
    """

    def __init__(
        self,
        job: SentJob,
        context: Any,
        assignment: Assignment,
        recovery: Callable[[ProcessPool, Assignment], Recovery],
        workers: int,
        window: int,
        acceleration: Acceleration | None = None,
    ) -> None:
        """Prepares what `start` needs.

        Args:
            job: what they run.
            context: of multiprocessing, which starts them.
            assignment: which of them makes what, to begin with.
            recovery: what becomes of deaths.
            workers: the number of virtual workers.
            window: batches that are asked for ahead.
            acceleration: what makes their pictures natively; None where nothing does.

        Raises:
            WorkerStartError: a limit of the system is reached.
        """
        places = min(math.ceil(_PROCESSES_PER_CORE * _core.cpu_budget()), _MOST_PROCESSES)
        numbers = 64 + 4 * workers + places  # some are of processes that are ending
        self.board = board_of(numbers, 2 * window + 4 * numbers)
        self._knob = assignment.knob
        self.control = self._knob.control
        self._acceleration = acceleration
        here = isinstance(context, ThreadContext)
        accelerated = None if acceleration is None else acceleration.for_workers(numbers, here)
        self.pool = ProcessPool(self.board, job, context, self.control, accelerated)
        self.assignment = assignment
        self.recovery = recovery(self.pool, assignment)
        self._workers = workers
        self._most = functools.partial(self.pool.most, places + workers)
        self.looked = self._began = time.monotonic()
        self.first_batch: dict[str, float] = {}

    def start(self, enough: int) -> None:
        """Starts the first processes.

        One per virtual worker, as under stock; where any will do, `enough` of them. Later passes
        begin with as many as the one before ended with, or come down to that.

        Raises:
            WorkerStartError: none could be started, or not all that are needed.
        """
        before, all_needed = self._knob.processes, self.assignment.begins_bound
        processes = self._workers if all_needed else before or min(self._workers, enough)
        self.control.attach(self.board, processes)
        self.assignment.place(self._start(processes, all_needed), self._workers)
        self.autoscaler = self._new_autoscaler()
        if before:
            self.autoscaler.resume(before)

    def _start(self, processes: int, all_needed: bool) -> list[int]:
        """Starts so many, or fewer at a limit where not all are needed; their numbers."""
        started = self.pool.running
        try:
            for worker in range(processes):
                self.pool.start(worker)
        except WorkerStartError as error:
            if not started or all_needed:
                raise
            self.control.want(len(started))
            self._knob.remark(f"{len(started)} processes instead of {processes}: {error}")
        return list(started)

    def _new_autoscaler(self) -> Autoscaler:
        new = self.assignment.autoscaler
        return new(self.pool, self._knob, self.assignment.hosts, self._most)

    def send(
        self,
        worker: int,
        command: MakeBatch | BeginPass,
        position: int = 0,
        urgent: bool = False,
        sampler_state: Any = None,
    ) -> SentCommand:
        """Asks the process of `worker`, or any, for something."""
        process = self.assignment.process_of(worker)
        ticket = send(self.board, command, worker, process, position, urgent)
        sent = SentCommand(ticket, worker, command, position, sampler_state)
        self.recovery.remember(sent)
        return sent

    def assign(self, assignment: Assignment, sent: Iterable[SentCommand]) -> None:
        """From now on `assignment` says who makes what, also of what is under way.

        Raises:
            WorkerStartError: a limit forbids a process that is needed.
        """
        self.assignment = self.recovery.assignment = assignment
        if not assignment.serial:
            self.recovery.forget_all()
        for one in sent:
            if self.board.done(one.ticket):
                continue
            if not assignment.bound:
                self.board.repin(one.ticket, ANY_PROCESS)
            elif isinstance(one.command, MakeBatch) and one.command.shared:
                self._send_again(one, one.command)
        self.autoscaler = self._new_autoscaler()

    def _send_again(self, one: SentCommand, command: MakeBatch) -> None:
        """Asks a process of the worker's own for what was not made in another worker's."""
        hosts = self.assignment.hosts
        if list(hosts.values()).count(hosts[one.worker]) > 1:
            hosts[one.worker] = self.pool.start(one.worker).number
            self.recovery.forget(one.worker)
        self.board.cancel(one.ticket)
        one.command = MakeBatch(command.epoch, command.index, command.grain)
        process = self.assignment.process_of(one.worker)
        one.ticket = send(self.board, one.command, one.worker, process, one.position)
        self.recovery.remember(one)

    def look_after(self, sent: Iterable[SentCommand]) -> None:
        """Replaces what died, and has virtual workers that migrate go on.

        Raises:
            WorkerDiedError: one died and nothing replaces it.
        """
        self.looked = time.monotonic()
        self.recovery.check(sent)
        self.autoscaler.settle(sent)

    def note_first_batch(self) -> None:
        """The first batch has come."""
        self.first_batch = self.pool.first_batch(time.monotonic() - self._began)

    def shut_down(self, grace: float) -> None:
        """Ends all processes: by force where they have not ended in so many seconds."""
        self.control.detach(self.board)
        self.pool.shut_down(grace)
        if self._acceleration is not None and self.pool.accelerated is not None:
            self._acceleration.ended(self.pool.accelerated)
