"""The worker processes of one iterator: started, watched, retired, and reaped when they die."""

from __future__ import annotations

import contextlib
import dataclasses
import multiprocessing.process
import os
import resource
import select
import signal
import threading
import time
from dataclasses import dataclass, field
from typing import Any

from drapps import _core
from drapps.accelerate.acceleration import Accelerated
from drapps.errors import PipelineError
from drapps.worker.descriptor import Descriptor
from drapps.worker.launch import STACKS_SIGNAL, Launch, SentJob, main
from drapps.worker.limits import limits_named
from drapps.worker.worker_process import (
    Death,
    WorkerProcess,
    await_end,
    cause_of,
    end_of,
    own_bytes,
    state_of,
)

_SILENCE = 5.0  # seconds without a heartbeat after which a process's state is looked up
GRACE = 5.0  # seconds that a process has to end by itself
_FILES = 4  # that are open here for each process
_AHEAD_BYTES = 128 << 20  # of batches that are made ahead for processes beyond the usual number
_LEAST_OWN = 1 << 20  # bytes of memory that each has for itself

# Processes that were not seen to end. Where a pool becomes garbage together with its processes,
# what multiprocessing knows them by is closed before anybody's __del__ can end them.
_unended: set[Any] = set()


def board_of(processes: int, tasks: int) -> _core.Board:
    """A board for so many processes and tasks.

    Raises:
        WorkerStartError: a limit of the system is reached.
        PipelineError: there are no boards for so many.
    """
    with limits_named("shared memory for workers"):
        try:
            return _core.Board.make(processes, tasks)
        except ValueError as error:
            raise PipelineError(f"num_workers is too large: {error}") from None


@dataclass
class ProcessPool:
    """Processes that work on one board. Made and used by one thread of one process.

    Attributes:
        board: where their work stands.
        job: what they run.
        context: of multiprocessing, which starts them.
        control: is told who comes and who goes.
        accelerated: what they are given to make pictures natively; None where they do not.
        running: the processes by their numbers, with those that are ending.
        processes: the same as multiprocessing has them; after the end those that were the last.
    """

    board: _core.Board
    job: SentJob
    context: Any
    control: _core.ProcessControl
    accelerated: Accelerated | None = None
    running: dict[int, WorkerProcess] = field(default_factory=dict)
    processes: list[Any] = field(default_factory=list)
    _poll: Any = field(default_factory=select.poll)
    _looked: float = 0.0

    def start(self, worker: int, replay: tuple[Any, ...] = ()) -> WorkerProcess:
        """Starts a process that begins as the virtual worker `worker`.

        Args:
            worker: the virtual worker.
            replay: what it makes again first, to arrive where a lost process was, see `Launch`.

        Raises:
            WorkerStartError: a limit forbids it; nothing of it is left.
        """
        with limits_named(f"process for worker {worker}"):
            number = self.board.enlist()
            try:
                started = self._started(number, worker, replay)
            except BaseException:
                self.board.reap(number)
                raise
        self._poll.register(started.pidfd, select.POLLIN)
        self.running[number] = started
        self.control.joined(number, started.pid)
        self._list_processes()
        return started

    def _started(self, number: int, worker: int, replay: tuple[Any, ...]) -> WorkerProcess:
        stacks = Descriptor(os.memfd_create("drapps-stacks", os.MFD_CLOEXEC))
        me, budget = os.getpid(), _core.cpu_budget_fd()
        launch = Launch(
            memory=Descriptor(os.dup(self.board.fd)),
            stacks=stacks,
            budget=None if budget < 0 else Descriptor(os.dup(budget)),
            number=number,
            worker=worker,
            parent=(me, _core.process_start_time(me)),
            die_with_parent=self._forks_from_main(),
            job=self.job,
            replay=replay,
            accelerated=self.accelerated,
        )
        process = self.context.Process(target=main, args=(launch,), daemon=True)
        try:
            process.start()
            pidfd = end_of(process)
        except BaseException:
            if process.pid is not None:
                process.kill()
                process.join()
            raise
        # multiprocessing would end it where a fork of this process exits by sys.exit.
        multiprocessing.process._children.discard(process)  # type: ignore[attr-defined]
        if not isinstance(process, threading.Thread):
            _unended.add(process)
        return WorkerProcess(number, worker, process, pidfd, stacks)

    def _list_processes(self) -> None:
        by_worker = sorted(self.running.values(), key=lambda each: each.worker)
        self.processes = [each.process for each in by_worker]

    def _forks_from_main(self) -> bool:
        forks = self.context.get_start_method() == "fork"
        return forks and threading.get_native_id() == os.getpid()

    def retire(self, number: int) -> None:
        """The process ends when it has finished what it holds."""
        if number in self.running:
            self.running[number].retired = True
            self.board.retire(number)
            self.control.retired(number)

    def note_retired(self) -> None:
        """Takes note of processes that a decision has retired."""
        for number in self.control.take_retired():
            self.retire(number)

    @property
    def active(self) -> list[WorkerProcess]:
        """The processes that are not retired."""
        return [each for each in self.running.values() if not each.retired]

    def ahead(self, pieces: int, batch_bytes: int) -> int:
        """Batches of so many pieces and bytes to ask for, for each process to have work.

        That is two pieces for each; and two batches, so that work goes on while some wait for a
        slow sample, as far as those take little memory.
        """
        two = 2 * len(self.running)
        cheap = _AHEAD_BYTES // batch_bytes if batch_bytes else 0
        return max(-(-two // max(1, pieces)), min(two, cheap))

    def most(self, places: int) -> int:
        """How many processes there may be: not more than `places`, and as files and memory allow.

        They may have half of the files that may be open. What each has for itself may fill half of
        the memory that is free, by what one of them has now.
        """
        files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        if files != resource.RLIM_INFINITY:
            places = min(places, files // 2 // _FILES)
        own = max((own_bytes(each.pid) for each in self.active[:1]), default=0)
        room = _core.available_memory() // 2 // max(own, _LEAST_OWN)
        return min(places, len(self.running) + room)

    def first_batch(self, seconds: float) -> dict[str, float]:
        """Where the time up to the first batch, so many seconds, went.

        By the process that has made a sample first: ``start_process_s`` (imports included),
        ``start_dataset_s`` (``worker_init_fn``, the beginning of streams), ``first_sample_s``, and
        ``rest_s``: the other samples of the batch, its way.
        """
        each = [self.board.status(number) for number in self.running]
        ways = [
            (status.launch_seconds, status.setup_seconds, status.first_sample_seconds)
            for status in each
            if status.first_sample_seconds >= 0
        ]
        way = min(ways, key=sum, default=(0.0, 0.0, 0.0))
        names = ("start_process_s", "start_dataset_s", "first_sample_s", "rest_s")
        parts = (*way, max(0.0, seconds - sum(way)))
        return {name: round(part, 4) for name, part in zip(names, parts, strict=True)}

    def check(self) -> list[Death]:
        """Reaps the dead; gives one that ended badly, or those that stand still.

        Not two at once: what is pinned to the process number of one must not wait there for
        whoever takes the place of the other.
        """
        ended = {fd for fd, _ in self._poll.poll(0)}
        for each in [each for each in self.running.values() if each.pidfd in ended]:
            death = self._reap(each)
            if death is not None:
                return [death]
        if time.monotonic() - self._looked <= 1.0:
            return []
        self._looked = time.monotonic()
        if self.accelerated is not None:
            self.accelerated.look()
        return [self._stopped(each) for each in self.running.values() if self._is_stopped(each)]

    def _reap(self, dead: WorkerProcess) -> Death | None:
        self.note_retired()
        status = self.board.status(dead.number)
        dead.process.join()
        cause = cause_of(dead.pid, dead.process.exitcode)
        lost = tuple(self.board.reap(dead.number))
        self._forget(dead)
        self._list_processes()
        if dead.retired and not lost:
            return None
        not_begun = dead.not_begun if status.phase == "starting" else ""
        death = Death(dead.worker, dead.pid, dead.number, cause, status, lost=lost)
        return dataclasses.replace(death, retired=dead.retired, not_begun=not_begun)

    def _forget(self, ended: WorkerProcess) -> None:
        del self.running[ended.number]
        self.control.left(ended.number)
        _unended.discard(ended.process)
        self._poll.unregister(ended.pidfd)
        os.close(ended.pidfd)

    def _is_stopped(self, process: WorkerProcess) -> bool:
        return process.is_stopped(self.board.status(process.number).heartbeats, _SILENCE)

    def _stopped(self, process: WorkerProcess) -> Death:
        cause = "it is stopped (SIGSTOP or SIGTSTP)"
        number = process.number
        status = self.board.status(number)
        return Death(process.worker, process.pid, number, cause, status, stopped=True)

    def kill(self, number: int) -> Death | None:
        """Kills a process and reaps it."""
        self.running[number].process.kill()
        return self._reap(self.running[number])

    def stacks(self) -> str:
        """What the processes do now: their phases, and the stacks of their threads."""
        asked = [
            each for each in self.running.values() if self.board.status(each.number).heartbeats > 0
        ]
        for each in asked:
            os.ftruncate(each.stacks.fd, 0)
            os.lseek(each.stacks.fd, 0, os.SEEK_SET)
            with contextlib.suppress(OSError):  # it ended just now
                signal.pidfd_send_signal(each.pidfd, STACKS_SIGNAL)
        deadline = time.monotonic() + 1.0
        missing = asked
        while missing and time.monotonic() < deadline:
            time.sleep(0.02)
            missing = [each for each in missing if os.fstat(each.stacks.fd).st_size == 0]
        return "\n".join(e.stack(self.board.status(e.number)) for e in self.running.values())

    def shut_down(self, grace: float = GRACE) -> None:
        """Ends all processes: those that do not stop by themselves in `grace` seconds by force."""
        self.board.stop()
        left = list(self.running.values())
        try:
            await_end([each for each in left if state_of(each.pid) != "T"], grace)
        finally:  # Ctrl-C ends the waiting, not the cleaning
            for each in left:
                if each.process.is_alive():
                    each.process.kill()
            for each in left:
                self._end(each)

    def _end(self, ending: WorkerProcess) -> None:
        killable = not isinstance(ending.process, threading.Thread)
        ending.process.join(None if killable else 0.0)
        if not ending.process.is_alive():  # a thread ends when its sample does
            self.board.reap(ending.number)
        self._forget(ending)
