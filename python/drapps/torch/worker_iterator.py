"""The iterator of a loader whose dataset is Python code: batches from worker processes."""

from __future__ import annotations

import contextlib
import os
import threading
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch.utils.data import Dataset, IterDataPipe
from torch.utils.data import _utils as stock_utils
from torch.utils.data.dataloader import _BaseDataLoaderIter

from drapps.item_cache.dataset import uncached
from drapps.torch.destination import destination_of
from drapps.torch.exiting import leave_at_end, watch, within
from drapps.torch.job import TorchJob
from drapps.torch.requests import Depth, Requests
from drapps.torch.starting import context_of, first_processes
from drapps.torch.transfer import TransferThread
from drapps.torch.waiting import Ended, ResultWaiter
from drapps.torch.window import AnyOrderWindow, InOrderWindow, Result
from drapps.worker.assignment import Assignment
from drapps.worker.commands import BeginPass, MakeBatch, SentCommand
from drapps.worker.job import ResultKind
from drapps.worker.launch import SentJob
from drapps.worker.lists import share_large_lists
from drapps.worker.pool import GRACE
from drapps.worker.process_knob import ProcessKnob
from drapps.worker.processes import WorkerProcesses
from drapps.worker.recovery import RECOVERIES

if TYPE_CHECKING:
    from drapps.monitor.observing import Observer
    from drapps.torch.base import IteratedLoader

_GRACE_AFTER_DEATH = 1.0  # seconds that the other processes have to end by themselves


class WorkerIterator(_BaseDataLoaderIter):
    """Passes over a dataset in worker processes; the same processes where they are persistent.

    The base class draws the base seed and iterates the sampler exactly as for the stock iterators.

    Attributes:
        user: the thread that is within it.
        observer: of the loader.
    """

    user: int | None = None
    observer: Observer | None = None

    def __init__(self, loader: IteratedLoader[Any]) -> None:
        self._maker = os.getpid()
        self._closed = True
        super().__init__(loader)
        if loader.torch_order or isinstance(self._dataset, IterDataPipe):
            self._iterate_again(loader)
        self._prefetch_factor = int(loader.prefetch_factor or 0)
        self._prefetch = self._prefetch_factor * self._num_workers  # batches
        held = uncached(self._dataset)
        self._shared_lists = share_large_lists(held, Dataset) if loader.share_lists else []
        self._destination = destination_of(loader._device, self)
        self._progress = loader._begin_pass(int(self._base_seed))
        self._base_seed = self._progress.base_seed
        self._share_seed()
        self._context, by_value = context_of(loader)
        self._job = SentJob(self._job_of(loader), by_value)
        self._assignment = self._assignments_of(loader)
        self._requests_type = self._requests_of()
        self._recovery = RECOVERIES[loader.on_worker_death]
        self._window_type = InOrderWindow if loader.in_order else AnyOrderWindow
        self._enough = first_processes(loader)
        self._limit = loader._limited()
        self._knob = loader._process_knob()
        self._samples = loader.batch_size or 0
        self._acceleration = loader._accelerated()
        self._waiter = ResultWaiter(self._timeout, loader.stall_report)
        with within(self):
            self._start()

    def _iterate_again(self, loader: IteratedLoader[Any]) -> None:
        """Iterates anew, as stock does with workers: a sampler may draw each time, and so do pipes.

        The seed that was drawn for pipes before is the one that workers are given.
        """
        shared = self._shared_seed
        super()._reset(loader, first_iter=True)
        self._shared_seed = shared

    @abstractmethod
    def _job_of(self, loader: IteratedLoader[Any]) -> TorchJob:
        """What the workers run."""

    @abstractmethod
    def _assignments_of(self, loader: IteratedLoader[Any]) -> Callable[[ProcessKnob], Assignment]:
        """What gives which process makes what, whenever processes start."""

    @abstractmethod
    def _requests_of(self) -> type[Requests]:
        """How batches are asked for."""

    def _depth(self) -> Depth:
        """How many batches are asked for ahead."""
        return Depth(self._prefetch, self._processes.pool)

    def _start(self) -> None:
        """Starts the processes, and a pass in them; `within` the iterator."""
        watch(self)
        self._control = self._knob.control
        self._control.set_batch(self._samples)
        self._processes = WorkerProcesses(
            self._job,
            self._context,
            self._assignment(self._knob),
            self._recovery,
            self._num_workers,
            self._prefetch,
            self._acceleration,
        )
        self._ended: Ended | None = None
        self._transfer = None if self._destination is None else TransferThread(self._destination)
        self._closed = False
        try:
            self._processes.start(self._enough())
            self._begin(first=True)
        except BaseException:
            self._shutdown_workers()
            raise

    def _begin(self, first: bool) -> None:
        """Asks for the first batches of a pass."""
        progress, processes = self._progress, self._processes
        self._control.begin_pass(progress.epoch)
        window = self._window_type(processes.board, self._transfer)
        indices = progress.indices(self._sampler_iter)
        self._requests = self._requests_type(
            progress, indices, processes, window, self._depth(), self._num_workers
        )
        self._requests.begin(self._shared_seed, anew=not first)
        self._requests.fill()
        if not first:
            self._look_after()
        progress.own_state, progress.from_start = self._knob.lasting_state, first
        progress.plan = self.plan()
        self._requests.raise_failure()

    def _reset(self, loader: IteratedLoader[Any], first_iter: bool = False) -> None:
        super()._reset(loader, first_iter)
        with within(self):
            self._begin_next(loader)

    def _begin_next(self, loader: IteratedLoader[Any]) -> None:
        """Ends the pass before, whose batches nobody asks for any more, and begins another."""
        self._requests.leave(self._wait, self._received)
        before = self._progress
        self._progress = loader._begin_pass(int(self._base_seed), before.key_epoch + 1)
        self._share_seed()
        if self._closed:  # what died in the pass before is no reason not to begin another
            self._start()
            return
        self._progress.follows(before)
        self._begin(first=False)

    def _share_seed(self) -> None:
        if self._shared_seed is not None:
            self._shared_seed = self._progress.shared_seed(self._shared_seed)

    def plan(self) -> dict[str, Any]:
        """How it runs, for ``explain()``."""
        processes = self._processes
        bound = processes.assignment.decided_bound
        return {
            "virtual_workers": self._num_workers,
            "processes": len(processes.pool.active),
            "start_method": self._context.get_start_method(),
            "bound": bound,
            "own_state": list(self._knob.own_state),
            "stolen_by": "nobody" if bound else self._requests_type.taken_by,
            "shared_lists": self._shared_lists,
            "slowest": self.slowest(),
            "first_batch": processes.first_batch,
        }

    def slowest(self) -> Sequence[tuple[float, int]]:
        """Seconds and position of the slowest samples of the processes that are there."""
        others = self._closed or self._maker != os.getpid()
        return [] if others else self._processes.board.slowest()

    @property
    def _workers(self) -> list[Any]:
        return self._processes.pool.processes

    def __next__(self) -> Any:
        # The base class makes a profiler range per batch, which takes as long as all that is here.
        # Of more batches than a stream has said that it has, the base class warns.
        counted = self._IterableDataset_len_called is not None
        if counted or torch._C._autograd._profiler_enabled():
            return super().__next__()
        data = self._next_data()
        self._num_yielded += 1
        return data

    def _next_data(self) -> Any:
        self.user = threading.get_ident()
        self._control.asks()
        try:
            leave_at_end()
            data = self._next_batch()
        except StopIteration:
            self._control.ends()
            raise
        except BaseException:
            self._control.gives()
            raise
        finally:
            self.user = None
        self._control.gives()
        return data

    def _next_batch(self) -> Any:
        if self._ended is not None:
            self._ended.raise_next()
        requests, processes = self._requests, self._processes
        window = requests.window
        while window.sent or window.taken:
            result = window.next(self._wait)
            sent = result.sent
            command = sent.command
            if isinstance(command, BeginPass):
                requests.begun(sent, command, result)
                continue
            if result.kind == ResultKind.END:
                self._received(result)
                requests.ended(sent.worker)
                continue
            if not requests.active[sent.worker]:  # asked for before its stream had ended
                continue
            requests.fill()
            if self._progress.again:
                with contextlib.suppress(Exception):  # it failed the first time, too
                    self._give(sent, command, result)
                continue
            processes.autoscaler.step()
            if not processes.first_batch:
                processes.note_first_batch()
                self._progress.plan = self.plan()
            return self._give(sent, command, result)
        requests.raise_failure()
        self._progress.over = True
        if not self._persistent_workers:
            self._shutdown_workers()
        raise StopIteration

    def _give(self, sent: SentCommand, command: MakeBatch, result: Result) -> Any:
        data = self._received(result)
        self._note_given(sent, command)
        return result.delivered(data)

    def _note_given(self, sent: SentCommand, command: MakeBatch) -> None:
        self._requests.window.given(sent, self._progress)
        self._progress.yielded(command.index, sent.sampler_state, sent.worker)

    @abstractmethod
    def _received(self, result: Result) -> Any:
        """A batch, or a failure, once what the process tells of itself is noted."""

    def _wait(self) -> SentCommand:
        return self._waiter.wait(self._requests, self._processes, self._look_after)

    def _look_after(self) -> None:
        """Replaces what died, or ends all: no batch is left out, and nobody waits for the dead."""
        leave_at_end()
        self._or_end(self._processes.look_after)

    def _or_end(self, act: Callable[[Any], None]) -> None:
        try:
            act(self._requests.window.sent)
        except BaseException as error:
            self._ended = Ended(error)
            self._requests.window.clear()
            self._shutdown_workers(_GRACE_AFTER_DEATH)
            raise

    def _shutdown_workers(self, grace: float = GRACE) -> None:
        if self._closed or self._maker != os.getpid():
            return
        if stock_utils.python_exit_status in (True, None):
            return
        self._closed = True
        if self._transfer is not None:
            self._transfer.close()
        self._processes.shut_down(grace)

    def __del__(self) -> None:
        self._shutdown_workers()
