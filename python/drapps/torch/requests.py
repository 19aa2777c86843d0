"""What is asked of the virtual workers: which batch next, of whom, and how many ahead."""

from __future__ import annotations

import contextlib
import pickle
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sized
from typing import Any, ClassVar

from drapps.torch.progress import Progress
from drapps.torch.window import CommandWindow, Result
from drapps.torch.worker_reports import BegunPass
from drapps.worker.commands import BeginPass, MakeBatch, SentCommand
from drapps.worker.job import ResultKind
from drapps.worker.pool import ProcessPool
from drapps.worker.processes import WorkerProcesses

_MAX_PIECES = 256  # that one batch is cut into


class Depth:
    """How many batches are asked for ahead of the one that is yielded: always the same number."""

    def __init__(self, batches: int, pool: ProcessPool) -> None:
        self._batches = batches
        self._pool = pool

    def __call__(self, pieces: int, batch_bytes: int) -> int:  # noqa: ARG002
        """The number, of batches of so many pieces and bytes."""
        return self._batches


class DepthByProcesses(Depth):
    """More batches where there are more processes, any of which makes any batch."""

    def __call__(self, pieces: int, batch_bytes: int) -> int:
        """The number, of batches of so many pieces and bytes."""
        return max(self._batches, self._pool.ahead(pieces, batch_bytes))


class Requests:
    """Asks for the batches of one pass, of one virtual worker after the other.

    Attributes:
        taken_by: what one process may take over from another.
        depth: how many batches are asked for ahead.
        active: by virtual worker, whether it has batches to come.
        exhausted: there is no more to ask for.
        window: what was asked for.
    """

    taken_by: ClassVar[str] = "batch"

    def __init__(
        self,
        progress: Progress,
        indices: Iterator[Any],
        processes: WorkerProcesses,
        window: CommandWindow,
        depth: Depth,
        workers: int,
    ) -> None:
        """Nothing was asked for yet.

        Args:
            progress: of the pass.
            indices: what is asked for.
            processes: that are asked.
            window: where commands go.
            depth: how many batches are asked for ahead.
            workers: the number of virtual workers.
        """
        self.depth = depth
        self.active = [True] * workers
        self.exhausted = False
        self._progress = progress
        self._indices = indices
        self._processes = processes
        self.window = window
        self._workers = workers
        self._turn = progress.turn
        self._position = progress.position
        self._pieces = 0  # of the batch asked for last
        self._failure: BaseException | None = None  # of the sampler, for when its turn comes

    def begin(self, shared_seed: int | None, anew: bool) -> None:
        """Asks workers to begin the pass, or to go on within it.

        Args:
            shared_seed: of DataPipes.
            anew: the processes have ended a pass before, so bound workers are to begin another.
        """
        for worker, start in self._progress.starts().items():
            self.active[worker] = not start.get("ended", False)
            self._begin(worker, {"shared_seed": shared_seed, **start})
        bound = self._processes.assignment.bound
        if anew and bound and not self._progress.is_resumed_stream:
            for worker in range(self._workers):
                self._begin(worker, {"shared_seed": shared_seed})

    def _begin(self, worker: int, message: dict[str, Any]) -> None:
        command = BeginPass(self._progress.key_epoch, message)
        self.window.add(self._processes.send(worker, command))

    def begun(self, sent: SentCommand, command: BeginPass, result: Result) -> None:
        """A worker has begun, or failed to, which is raised."""
        if result.kind == ResultKind.ERROR:
            self.active[sent.worker] = False  # it has no stream in this pass
            result.value().reraise()
        begun: BegunPass = result.value()
        self._progress.drew(sent.worker, begun.drawn)
        message = {**command.message, "random": begun.random}
        self._processes.recovery.began(sent, BeginPass(command.epoch, message))

    def ended(self, worker: int) -> None:
        """The stream of `worker` has no more batches: another is asked for one."""
        self.active[worker] = False
        self._progress.ended(worker)
        self._processes.autoscaler.ended(worker)
        self.ask()

    def leave(self, wait: Callable[[], SentCommand], received: Callable[[Result], Any]) -> None:
        """Forgets what was asked for; a serial worker makes it, as what follows depends on it."""
        window = self.window
        while self._processes.assignment.serial and (window.sent or window.taken):
            result = window.next(wait)
            command = result.sent.command
            with contextlib.suppress(Exception):  # nobody wanted what has failed
                if isinstance(command, BeginPass):
                    self.begun(result.sent, command, result)
                else:
                    received(result)
        window.cancel()
        window.clear()

    def fill(self) -> None:
        """Asks for batches until enough are under way."""
        window = self.window
        self._processes.autoscaler.settle(window.sent)
        while window.batches < self.depth(self._pieces, window.batch_bytes):
            if not self.ask(urgent=not window.sent):
                return

    def ask(self, urgent: bool = False) -> bool:
        """Asks for one more batch; False where there is none, or nobody to make it."""
        worker = None if self.exhausted else self._next_worker()
        if worker is None:
            return False
        try:
            index = next(self._indices)
            sampler_state = self._progress.drawn()
        except StopIteration:
            self.exhausted = True
            return False
        except Exception as error:
            self.exhausted, self._failure = True, error
            return False
        processes, position = self._processes, self._position
        command = self._command(index, processes.assignment.shares(worker))
        self._turn = (worker + 1) % self._workers
        self.window.add(processes.send(worker, command, position, urgent, sampler_state))
        return True

    def _next_worker(self) -> int | None:
        """Who makes the next batch; nobody, where all have ended or are asked for enough."""
        anyone = not self._processes.assignment.bound
        for step in range(self._workers):
            worker = (self._turn + step) % self._workers
            if self.active[worker] and (anyone or self.window.has_room(worker, self._room())):
                return worker
        return None

    def _room(self) -> int:
        """Batches that one worker may have under way where they come in any order."""
        depth = self.depth(self._pieces, self.window.batch_bytes)
        return depth // max(1, sum(self.active))

    @abstractmethod
    def _command(self, index: Any, shared: bool) -> MakeBatch:
        """What is asked for; it takes positions of the epoch."""

    def raise_failure(self) -> None:
        """Raises what the sampler has raised, once all before it has come."""
        if self._failure is not None and not self.window.sent:
            failure, self._failure = self._failure, None
            raise failure


class SingleRequests(Requests):
    """An index takes one position: a sample, or a batch of a stream."""

    def _command(self, index: Any, shared: bool) -> MakeBatch:
        self._position += 1
        return MakeBatch(self._progress.key_epoch, index, 0, shared)


class BatchRequests(Requests):
    """An index is a batch, which is made as a whole."""

    def _command(self, index: Any, shared: bool) -> MakeBatch:
        self._position += len(index) if isinstance(index, Sized) else 1
        return MakeBatch(self._progress.key_epoch, index, 0, shared)


class PieceRequests(Requests):
    """An index is a batch, which is made in pieces that several processes may take."""

    taken_by = "sample"

    def _command(self, index: Any, shared: bool) -> MakeBatch:
        if not isinstance(index, (list, tuple)):
            if isinstance(index, (set, frozenset)):  # one that was sent may have another order
                index = pickle.loads(pickle.dumps(index))
            index = list(index)
        self._position += len(index)
        grain = -(-len(index) // _MAX_PIECES)
        self._pieces = -(-len(index) // grain) if grain else 0
        return MakeBatch(self._progress.key_epoch, index, grain, shared)
