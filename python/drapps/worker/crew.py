"""The worker processes of one iterator: started, watched, retired, and reaped when they die."""

from __future__ import annotations

import contextlib
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
from drapps.worker.descriptor import Descriptor
from drapps.worker.launch import STACKS_SIGNAL, Launch, SentJob, main
from drapps.worker.limits import limits_named

_SILENCE = 5.0  # seconds without a heartbeat after which a worker's state is looked up
GRACE = 5.0  # seconds that a worker has to end by itself
_FILES = 4  # that are open here for each process
_AHEAD_BYTES = 128 << 20  # of batches that are made ahead for processes beyond the usual number
_LEAST_OWN = 1 << 20  # bytes of memory that each has for itself

# Processes that were not seen to end. Where a crew becomes garbage together with its processes,
# what multiprocessing knows them by is closed before anybody's __del__ can end them.
_running: set[Any] = set()


@dataclass
class Member:
    """One process."""

    slot: int
    worker: int
    process: Any
    pidfd: int
    stacks: Descriptor
    retired: bool = False
    beat: tuple[int, float] = (-1, 0.0)  # the last one seen, and when it was first seen

    @property
    def pid(self) -> int:
        """Of the process."""
        return int(self.process.pid)


@dataclass(frozen=True)
class Death:
    """A process that ended without being asked to, or that stands still.

    Attributes:
        worker: the virtual worker that it began as.
        pid: its pid.
        slot: its place on the board.
        cause: what ended it, in words.
        status: what it did last.
        stopped: it is stopped, and was not killed yet.
        retired: it was to end.
        lost: (ticket, piece) of what is to be made again.
    """

    worker: int
    pid: int
    slot: int
    cause: str
    status: _core.ProcessStatus
    stopped: bool = False
    retired: bool = False
    lost: tuple[tuple[int, int], ...] = ()


def board_of(slots: int, tasks: int) -> _core.Board:
    """A board for so many processes and tasks. Raises `WorkerStartError` at a limit."""
    with limits_named("shared memory for workers"):
        return _core.Board.make(slots, tasks)


@dataclass
class Crew:
    """Processes that work on one board. Made and used by one thread of one process.

    Attributes:
        board: where their work stands.
        job: what they run.
        context: of multiprocessing, which starts them.
        control: is told who comes and who goes.
        processes: of the members; after the end those that were the last.
    """

    board: _core.Board
    job: SentJob
    context: Any
    control: _core.ProcessControl
    members: dict[int, Member] = field(default_factory=dict)  # by slot
    processes: list[Any] = field(default_factory=list)
    _poll: Any = field(default_factory=select.poll)
    _looked: float = 0.0

    def hire(self, worker: int, replay: tuple[Any, ...] = ()) -> Member:
        """Starts a process that begins as the virtual worker `worker`.

        Args:
            worker: the virtual worker.
            replay: what it makes again first, to arrive where a lost process was, see `Launch`.

        Raises:
            WorkerStartError: a limit forbids it; nothing of it is left.
        """
        with limits_named(f"process for worker {worker}"):
            slot = self.board.enlist()
            try:
                member = self._started(slot, worker, replay)
            except BaseException:
                self.board.reap(slot)
                raise
        self._poll.register(member.pidfd, select.POLLIN)
        self.members[slot] = member
        self.control.joined(slot, member.pid)
        self._list_processes()
        return member

    def _started(self, slot: int, worker: int, replay: tuple[Any, ...]) -> Member:
        stacks = Descriptor(os.memfd_create("drapps-stacks", os.MFD_CLOEXEC))
        me, budget = os.getpid(), _core.cpu_budget_fd()
        launch = Launch(
            memory=Descriptor(os.dup(self.board.fd)),
            stacks=stacks,
            budget=None if budget < 0 else Descriptor(os.dup(budget)),
            slot=slot,
            worker=worker,
            parent=(me, _core.process_start_time(me)),
            die_with_parent=self._forks_from_main(),
            job=self.job,
            replay=replay,
        )
        process = self.context.Process(target=main, args=(launch,), daemon=True)
        try:
            process.start()
            pidfd = _end_of(process)
        except BaseException:
            if process.pid is not None:
                process.kill()
                process.join()
            raise
        # multiprocessing would end it where a fork of this process exits by sys.exit.
        multiprocessing.process._children.discard(process)  # type: ignore[attr-defined]
        if not isinstance(process, threading.Thread):
            _running.add(process)
        return Member(slot, worker, process, pidfd, stacks)

    def _list_processes(self) -> None:
        by_worker = sorted(self.members.values(), key=lambda member: member.worker)
        self.processes = [member.process for member in by_worker]

    def _forks_from_main(self) -> bool:
        forks = self.context.get_start_method() == "fork"
        return forks and threading.get_native_id() == os.getpid()

    def retire(self, slot: int) -> None:
        """The process ends when it has finished what it holds."""
        if slot in self.members:
            self.members[slot].retired = True
            self.board.retire(slot)
            self.control.retired(slot)

    def note_retired(self) -> None:
        """Takes note of processes that a decision has retired."""
        for slot in self.control.take_retired():
            self.retire(slot)

    @property
    def active(self) -> list[Member]:
        """Those that are not retired."""
        return [member for member in self.members.values() if not member.retired]

    def ahead(self, pieces: int, batch_bytes: int) -> int:
        """Batches of so many pieces and bytes to ask for, for each process to have work.

        That is two pieces for each; and two batches, so that work goes on while some wait for a
        slow sample, as far as those take little memory.
        """
        two = 2 * len(self.members)
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
        own = max((_own_bytes(member.pid) for member in self.active[:1]), default=0)
        room = _core.available_memory() // 2 // max(own, _LEAST_OWN)
        return min(places, len(self.members) + room)

    def first_batch(self, seconds: float) -> dict[str, float]:
        """Where the time up to the first batch, so many seconds, went.

        By the process that has made a sample first: ``start_process_s`` (imports included),
        ``start_dataset_s`` (``worker_init_fn``, the beginning of streams), ``first_sample_s``, and
        ``rest_s``: the other samples of the batch, its way.
        """
        each = [self.board.status(slot) for slot in self.members]
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
        """Reaps the dead; one that ended badly, or those that stand still.

        Not two at once: what is pinned to the slot of one must not wait there for whoever takes
        the place of the other.
        """
        deaths = []
        ended = {fd for fd, _ in self._poll.poll(0)}
        for member in [m for m in self.members.values() if m.pidfd in ended]:
            death = self._reap(member)
            if death is not None:
                return [death]
        if time.monotonic() - self._looked > 1.0:
            self._looked = time.monotonic()
            deaths = [self._stopped(m) for m in self.members.values() if self._is_stopped(m)]
        return deaths

    def _reap(self, member: Member) -> Death | None:
        self.note_retired()
        status = self.board.status(member.slot)
        member.process.join()
        cause = _cause_of(member.pid, member.process.exitcode)
        lost = tuple(self.board.reap(member.slot))
        self._forget(member)
        self._list_processes()
        if member.retired and not lost:
            return None
        return Death(
            member.worker,
            member.pid,
            member.slot,
            cause,
            status,
            retired=member.retired,
            lost=lost,
        )

    def _forget(self, member: Member) -> None:
        del self.members[member.slot]
        self.control.left(member.slot)
        _running.discard(member.process)
        self._poll.unregister(member.pidfd)
        os.close(member.pidfd)

    def _is_stopped(self, member: Member) -> bool:
        beat, now = self.board.status(member.slot).heartbeats, time.monotonic()
        if beat != member.beat[0]:
            member.beat = (beat, now)
        return now - member.beat[1] > _SILENCE and _state_of(member.pid) == "T"

    def _stopped(self, member: Member) -> Death:
        cause = "it is stopped (SIGSTOP or SIGTSTP)"
        status = self.board.status(member.slot)
        return Death(member.worker, member.pid, member.slot, cause, status, stopped=True)

    def kill(self, slot: int) -> Death | None:
        """Kills a process and reaps it."""
        member = self.members[slot]
        member.process.kill()
        return self._reap(member)

    def stacks(self) -> str:
        """What the processes do now: their phases, and the stacks of their threads."""
        asked = [m for m in self.members.values() if self.board.status(m.slot).heartbeats > 0]
        for member in asked:
            os.ftruncate(member.stacks.fd, 0)
            os.lseek(member.stacks.fd, 0, os.SEEK_SET)
            with contextlib.suppress(OSError):  # it ended just now
                signal.pidfd_send_signal(member.pidfd, STACKS_SIGNAL)
        deadline = time.monotonic() + 1.0
        missing = asked
        while missing and time.monotonic() < deadline:
            time.sleep(0.02)
            missing = [m for m in missing if os.fstat(m.stacks.fd).st_size == 0]
        return "\n".join(self._stack_of(member) for member in self.members.values())

    def _stack_of(self, member: Member) -> str:
        status = self.board.status(member.slot)
        size = os.fstat(member.stacks.fd).st_size
        stack = os.pread(member.stacks.fd, size, 0).decode(errors="replace")
        if hasattr(member.process, "stack"):
            stack = member.process.stack()
        return (
            f"worker {member.worker} (pid {member.pid}): {status.phase} for "
            f"{status.since_seconds:.1f} s; {last_act(status)}\n"
            + (stack or f"  no answer; its state is {_state_of(member.pid)!r}\n")
        )

    def shut_down(self, grace: float = GRACE) -> None:
        """Ends all processes: those that do not stop by themselves in `grace` seconds by force."""
        self.board.stop()
        members = list(self.members.values())
        try:
            _await([m for m in members if _state_of(m.pid) != "T"], grace)
        finally:  # Ctrl-C ends the waiting, not the cleaning
            for member in members:
                if member.process.is_alive():
                    member.process.kill()
            for member in members:
                self._end(member)

    def _end(self, member: Member) -> None:
        killable = not isinstance(member.process, threading.Thread)
        member.process.join(None if killable else 0.0)
        if not member.process.is_alive():  # a thread ends when its sample does
            self.board.reap(member.slot)
        self._forget(member)


def _await(members: list[Member], seconds: float) -> None:
    """Waits until the members have ended, at most so long."""
    poll, deadline = select.poll(), time.monotonic() + seconds
    for member in members:
        poll.register(member.pidfd, select.POLLIN)
    left = len(members)
    while left > 0 and time.monotonic() < deadline:
        for fd, _ in poll.poll(1e3 * max(0.0, deadline - time.monotonic())):
            poll.unregister(fd)
            left -= 1


def last_act(status: _core.ProcessStatus, sample: str = "") -> str:
    """What a process did last, in words; `sample` says more of the sample where that is known."""
    if status.ticket < 0:
        return "it had not begun a sample"
    what = "sample is the one" if status.piece >= 0 else "batch is the one"
    return (
        f"its last {what} at position {status.position + max(status.piece, 0)} of the epoch{sample}"
    )


def _end_of(process: Any) -> int:
    """A descriptor that is readable as soon as the process, or thread, has ended."""
    if hasattr(process, "ended"):
        return os.dup(process.ended.fd)
    try:
        return os.pidfd_open(process.pid)
    except ProcessLookupError:  # a fork server's child may end, and be waited for, at any time
        return os.eventfd(1, os.EFD_CLOEXEC)


def _cause_of(pid: int, code: int | None) -> str:
    """What an exit code says, in torch's words where it has some."""
    if code is not None and code < 0:
        text = signal.strsignal(-code) or "unknown"
        return f"DataLoader worker (pid {pid}) is killed by signal: {text} ({-code})"
    return f"it exited with code {code}"


def _own_bytes(pid: int) -> int:
    """Memory that no other process shares; 0 where the kernel does not tell."""
    try:
        with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:  # noqa: PTH123
            own = [line.split()[1] for line in file if line.startswith("Private_")]
    except (OSError, IndexError):
        return 0
    return 1024 * sum(map(int, own))


def _state_of(pid: int) -> str:
    """The letter of ``/proc/pid/stat``: T is stopped by a signal, t by a debugger."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:  # noqa: PTH123
            return file.read().rsplit(")", 1)[1].split()[0]
    except (OSError, IndexError):
        return "?"
