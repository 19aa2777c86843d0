"""The virtual workers that are bound to one process: each has a job of its own, and its turn."""

from __future__ import annotations

from typing import Any

from drapps.worker.job import Job
from drapps.worker.lists import elements_mapped_here, keeping_lists_shared
from drapps.worker.serialise import UnpicklableError, dump, load

_MOST_BYTES = 64 << 20  # that a virtual worker takes along; more is cheaper where it is


class HostedWorkers:
    """Who is hosted in this process, and whose random states are the global ones now."""

    def __init__(self, job: Job, worker: int) -> None:
        self._first = job
        self._jobs = {worker: job}
        self._at = job
        self._gone: set[int] = set()
        self._lists = elements_mapped_here()  # for who joins, where nobody here uses them any more

    def turn_to(self, worker: int) -> Job | None:
        """The job of `worker`, with its random states; None where it has left.

        Where workers are not bound, they have one job.
        """
        if worker in self._gone:
            return None
        job = self._jobs.get(worker, self._first)
        if job is not self._at:
            self._at.pause()
            job.go_on()
            self._at = job
        return job

    def leave(self, worker: int) -> list[Any]:
        """What `worker` takes to another process: how it goes there, a pickle, its buffers.

        Raises:
            UnpicklableError: it stays.
        """
        job = self.turn_to(worker)
        assert job is not None  # only who is here is asked to leave
        leaving = job.leave(worker)
        if leaving is None:
            raise UnpicklableError("its stream has no state_dict")
        way, carried = leaving
        parts = dump(carried, keeping_lists_shared(job.packer()), "what it would take along")
        if sum(memoryview(part).nbytes for part in parts) > _MOST_BYTES:
            raise UnpicklableError("what it would take along is too large")
        del self._jobs[worker]
        self._gone.add(worker)
        return [way.encode(), *parts]

    def join(self, worker: int, parts: list[Any]) -> None:
        """`worker` goes on here."""
        self._at.pause()
        try:
            job = self._first.join(worker, load(parts))
        except BaseException:
            self._at.go_on()
            raise
        self._at = self._jobs[worker] = job
        self._gone.discard(worker)
