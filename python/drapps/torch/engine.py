"""The iterator of a loader whose dataset is Python code: batches from worker processes."""

from __future__ import annotations

import atexit
import functools
import logging
import os
import pickle
import sys
import time
import traceback
import weakref
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch.utils.data import IterDataPipe, MapDataPipe, _DatasetKind
from torch.utils.data import _utils as stock_utils
from torch.utils.data._utils.pin_memory import pin_memory
from torch.utils.data.dataloader import _BaseDataLoaderIter, _sharding_worker_init_fn

from drapps import _core
from drapps.torch.job import StreamBatch, TorchJob
from drapps.torch.seeding import SampleSeeds
from drapps.worker.child import Batch, Resume
from drapps.worker.crew import Crew
from drapps.worker.elastic import Elastic
from drapps.worker.job import END, ERROR
from drapps.worker.launch import SentJob, SlimServerContext
from drapps.worker.recovery import Recovery
from drapps.worker.serialise import load

if TYPE_CHECKING:
    from drapps.torch.loader import DataLoader

_log = logging.getLogger("drapps")
_MAX_PIECES = 256  # that one batch is cut into
_SLICE = 0.05  # seconds between looks at signals and at the processes
_live: weakref.WeakSet[EngineIterator] = weakref.WeakSet()


@dataclass
class _Asked:
    """A batch that is being made, or the beginning of a pass."""

    ticket: int
    worker: int
    order: Batch | Resume
    sampler_state: Any = None


class EngineIterator(_BaseDataLoaderIter):
    """Passes over a dataset in worker processes; the same processes where they are persistent.

    The base class draws the base seed and iterates the sampler exactly as for the stock iterators.
    A virtual worker is *bound* to one process where its state matters: streams, ``torch_order``,
    and loaders with a ``worker_init_fn``. Otherwise any process makes any sample.
    """

    def __init__(self, loader: DataLoader[Any]) -> None:
        self._maker = os.getpid()
        self._closed = True
        super().__init__(loader)
        self._prefetch_factor = loader.prefetch_factor
        self._in_order = loader.in_order
        self._stall_report = loader.stall_report
        self._progress = loader._begin_pass(int(self._base_seed))
        self._base_seed = self._progress.base_seed
        job = self._job_of(loader)
        self._bound = job.bound or loader.torch_order
        self._by_sample = not self._bound and job.by_sample
        window = self._prefetch_factor * self._num_workers
        self._board = _core.Board.make(max(64, 2 * self._num_workers), 2 * window + 256)
        context, by_value = context_of(loader)
        self._crew = Crew(self._board, SentJob(job, by_value), context)
        restarts = loader.on_worker_death == "restart"
        self._recovery = Recovery(self._crew, restarts, self._bound, job.seeds is None)
        self._elastic = Elastic(self._crew, loader.cpu_budget, not self._bound)
        self._recovery.log = self._elastic.log = self._progress.decisions
        self._given_depth = loader._given_prefetch
        self._closed = False
        _live.add(self)
        try:
            for worker in range(self._num_workers):
                self._recovery.place(worker, self._crew.hire(worker).slot)
            self._begin(first=True)
        except BaseException:
            self._shutdown_workers()
            raise

    def _job_of(self, loader: DataLoader[Any]) -> TorchJob:
        init = loader.worker_init_fn
        if isinstance(self._dataset, (IterDataPipe, MapDataPipe)):
            init = functools.partial(_sharding_worker_init_fn, init, self._world_size, self._rank)
        streams = self._dataset_kind == _DatasetKind.Iterable
        base = int(self._base_seed)
        reseeds = not (streams or loader.torch_order)
        return TorchJob(
            dataset=self._dataset,
            kind=self._dataset_kind,
            auto_collation=self._auto_collation,
            collate_fn=self._collate_fn,
            drop_last=self._drop_last,
            batch_size=loader.batch_size or 1,
            base_seed=base,
            worker_init_fn=init,
            workers=self._num_workers,
            shared_seed=self._shared_seed,
            seeds=SampleSeeds(self._progress.key, base) if reseeds else None,
            keeps_random=loader.on_worker_death == "restart",
        )

    def _begin(self, first: bool) -> None:
        """Asks for the first batches of a pass."""
        self._asked: deque[_Asked] = deque()
        self._active = [True] * self._num_workers
        self._counts = [0] * self._num_workers  # batches asked of each virtual worker
        self._turn = self._progress.turn
        self._failure: BaseException | None = None  # of the sampler, for when its turn comes
        self._order: Iterator[Any] | None = self._progress.indices(self._sampler_iter)
        self._position = self._progress.position
        for worker, stream in self._progress.stream_starts().items():
            self._active[worker] = not stream.get("ended", False)
            self._counts[worker] = stream.get("batches", 0)
            self._resume(worker, stream)
        if self._bound and not first and not self._progress.is_resumed_stream:
            for worker in range(self._num_workers):
                self._resume(worker, {})
        while len(self._asked) < self._window and self._ask(urgent=not self._asked):
            pass
        self._raise_failure()

    def _reset(self, loader: DataLoader[Any], first_iter: bool = False) -> None:
        super()._reset(loader, first_iter)
        for asked in self._asked:
            self._board.cancel(asked.ticket)
        self._progress = loader._begin_pass(int(self._base_seed))
        self._recovery.log = self._elastic.log = self._progress.decisions
        self._begin(first=False)

    @property
    def _workers(self) -> list[Any]:
        return self._crew.processes

    @property
    def _window(self) -> int:
        """Batches that are asked for ahead of the one that is yielded."""
        window = int(self._prefetch_factor * self._num_workers)
        if self._given_depth or self._bound:
            return window
        return max(window, 2 * len(self._crew.members))

    def _resume(self, worker: int, stream: dict[str, Any]) -> None:
        message = {"shared_seed": self._shared_seed, **stream}
        self._publish(worker, Resume(self._progress.epoch, message), 0, 0)

    def _ask(self, urgent: bool = False) -> bool:
        """Asks for one more batch; False where there is none."""
        if self._order is None:
            return False
        try:
            index = next(self._order)
            sampler_state = self._progress.drawn()
        except StopIteration:
            self._order = None
            return False
        except BaseException as error:
            self._order, self._failure = None, error
            return False
        if not any(self._active):
            return False
        while not self._active[self._turn]:
            self._turn = (self._turn + 1) % self._num_workers
        worker = self._turn
        self._turn = (self._turn + 1) % self._num_workers
        grain = -(-len(index) // _MAX_PIECES) if self._by_sample and len(index) > 0 else 0
        order = Batch(self._progress.epoch, index, grain)
        pieces = -(-len(index) // grain) if grain else 0
        position = self._position
        if self._auto_collation and not self._progress.is_stream:
            self._position += len(index)
        else:
            self._position += 1
        self._counts[worker] += 1
        self._publish(worker, order, pieces, position, urgent, sampler_state)
        return True

    def _publish(
        self,
        worker: int,
        order: Batch | Resume,
        pieces: int,
        position: int,
        urgent: bool = False,
        sampler_state: Any = None,
    ) -> None:
        slot = self._recovery.slot_of(worker)
        ticket = self._board.publish(
            pickle.dumps(order, protocol=5),
            worker=worker,
            process=slot,
            pieces=pieces,
            urgent=urgent,
            position=position,
        )
        assert ticket >= 0, "the board is larger than the window"
        self._recovery.remember(worker, ticket, order)
        self._asked.append(_Asked(ticket, worker, order, sampler_state))

    def _next_data(self) -> Any:
        while self._asked:
            asked = self._wait()
            kind, parts = self._board.take(asked.ticket)
            if isinstance(asked.order, Resume):
                self._resumed(asked, kind, parts)
                continue
            if kind == END:
                self._active[asked.worker] = False
                self._progress.ended(asked.worker)
                self._ask()
                continue
            if not self._active[asked.worker]:  # asked for before its stream had ended
                continue
            while len(self._asked) < self._window and self._ask():
                pass
            self._elastic.step()
            return self._given(asked, kind, parts)
        self._raise_failure()
        self._progress.over = True
        if not self._persistent_workers:
            self._shutdown_workers()
        raise StopIteration

    def _given(self, asked: _Asked, kind: int, parts: list[Any]) -> Any:
        assert isinstance(asked.order, Batch)
        data = load(parts)
        stream_state = None
        if isinstance(data, StreamBatch):
            data, stream_state = data.data, data.state
        self._progress.yielded(asked.order.index, asked.sampler_state)
        if self._progress.is_stream:
            self._progress.advanced(asked.worker, stream_state, self._num_workers)
        if kind == ERROR:
            data.reraise()
        return pin_memory(data, self._pin_memory_device) if self._pin_memory else data

    def _resumed(self, asked: _Asked, kind: int, parts: list[Any]) -> None:
        if kind == ERROR:
            load(parts).reraise()
        assert isinstance(asked.order, Resume)
        message = {**asked.order.message, "random": load(parts)}
        self._recovery.began(asked.worker, asked.ticket, Resume(asked.order.epoch, message))

    def _raise_failure(self) -> None:
        failure, self._failure = self._failure, None
        if failure is not None and not self._asked:
            raise failure
        self._failure = failure

    def _wait(self) -> _Asked:
        """The next batch to yield, finished; not in the list any more."""
        began = time.monotonic()
        reported = False
        seen = self._board.events()
        while True:
            asked = self._finished()
            if asked is not None:
                self._elastic.waited(time.monotonic() - began)
                return asked
            self._recovery.check((asked.ticket, asked.worker) for asked in self._asked)
            if self._in_order:
                self._board.wait(self._asked[0].ticket, _SLICE)
            else:
                seen = self._board.wait_event(seen, _SLICE)
            waited = time.monotonic() - began
            if 0 < self._timeout <= waited:
                raise RuntimeError(f"DataLoader timed out after {self._timeout} seconds")
            if waited >= self._stall_report and not reported:
                reported = True
                self._report_stall(waited)

    def _finished(self) -> _Asked | None:
        if self._in_order:
            return self._asked.popleft() if self._board.done(self._asked[0].ticket) else None
        for asked in self._asked:
            if self._board.done(asked.ticket):
                self._asked.remove(asked)
                return asked
        return None

    def _report_stall(self, waited: float) -> None:
        frame = sys._getframe(1)
        _log.warning(
            "no batch for %.0f s. The training process waits in:\n%s\n%s",
            waited,
            "".join(traceback.format_stack(frame)),
            self._crew.stacks(),
        )

    def _shutdown_workers(self) -> None:
        if self._closed or self._maker != os.getpid():
            return
        if stock_utils.python_exit_status in (True, None):
            return
        self._closed = True
        self._crew.shut_down()

    def __del__(self) -> None:
        self._shutdown_workers()


@atexit.register
def _close_all() -> None:
    """Before multiprocessing joins its children: one that is stopped would never end."""
    for iterator in list(_live):
        iterator._crew.shut_down(grace=1.0) if not iterator._closed else None
        iterator._closed = True


def context_of(loader: DataLoader[Any]) -> tuple[Any, bool]:
    """How processes start, and whether objects of ``__main__`` travel by value."""
    if loader.multiprocessing_context is not None:
        return loader.multiprocessing_context, False
    if torch.cuda.is_initialized():  # a CUDA context does not survive a fork
        return SlimServerContext(), True
    return torch.multiprocessing.get_context(), False
