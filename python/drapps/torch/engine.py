"""The iterator of a loader whose dataset is Python code: batches from worker processes."""

from __future__ import annotations

import atexit
import contextlib
import functools
import logging
import math
import os
import pickle
import sys
import time
import traceback
import weakref
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sized
from typing import TYPE_CHECKING, Any

import torch
from torch._utils import ExceptionWrapper
from torch.utils.data import Dataset
from torch.utils.data import _utils as stock_utils
from torch.utils.data.dataloader import _BaseDataLoaderIter

from drapps import _core
from drapps.torch.asked import Asked, Taken
from drapps.torch.failure import Failure
from drapps.torch.job import ReportedBatch
from drapps.torch.starting import context_of, job_of
from drapps.torch.streams import unsharded
from drapps.torch.transfer import AHEAD, TransferThread
from drapps.worker.binding import Binding
from drapps.worker.child import Batch, Resume
from drapps.worker.crew import GRACE, Crew, board_of
from drapps.worker.elastic import Elastic
from drapps.worker.job import END, ERROR, VALUE
from drapps.worker.launch import SentJob
from drapps.worker.lists import share_large_lists
from drapps.worker.moves import Moves, publish
from drapps.worker.recovery import Recovery, WorkerDiedError
from drapps.worker.serialise import load
from drapps.worker.threads import ThreadContext

if TYPE_CHECKING:
    from drapps.torch.base import IteratedLoader

_log = logging.getLogger("drapps")
_MAX_PIECES = 256  # that one batch is cut into
_PROCESSES_PER_CORE = 64  # that there are places for
_MOST_PROCESSES = 1024
_SLICE = 0.05  # seconds between looks at signals and at the processes
_CHECK_PERIOD = 1.0  # seconds between looks at the processes while nobody has to wait
_GRACE_AFTER_DEATH = 1.0  # seconds that the others have to end by themselves
_GRACE_AT_EXIT = 1.0
_live: weakref.WeakSet[EngineIterator] = weakref.WeakSet()


class EngineIterator(_BaseDataLoaderIter):
    """Passes over a dataset in worker processes; the same processes where they are persistent.

    The base class draws the base seed and iterates the sampler exactly as for the stock iterators.
    A virtual worker is *bound* to one process where its state matters: streams, ``torch_order``,
    loaders with a ``worker_init_fn``, datasets that keep state on themselves. Otherwise any process
    makes any sample.
    """

    def __init__(self, loader: IteratedLoader[Any]) -> None:
        self._maker = os.getpid()
        self._closed = True
        super().__init__(loader)
        self._prefetch_factor = int(loader.prefetch_factor or 0)
        if self._prefetch_factor <= 0:
            raise AssertionError("prefetch_factor must be greater than 0 with workers")
        self._in_order = loader.in_order
        self._stall_report = loader.stall_report
        self._shared_lists = share_large_lists(self._dataset, Dataset) if loader.share_lists else []
        self._progress = loader._begin_pass(int(self._base_seed))
        self._base_seed = self._progress.base_seed
        job = job_of(self, loader, self._progress.key)
        self._by_sample = job.by_sample
        self._watches = job.watches
        self._initialised = loader.worker_init_fn is not None
        self._context, by_value = context_of(loader)
        self._threads = isinstance(self._context, ThreadContext)
        self._job = SentJob(job, by_value)
        self._restarts = loader.on_worker_death == "restart"
        self._within_budget = loader.cpu_budget is not None or loader._auto_workers
        self._claim = loader._claimed()
        self._given_depth = loader._given_prefetch
        self._knob = loader._process_knob()
        ordered = job.seeds is None
        self._binding = Binding(self._knob, job.bound or ordered, ordered)
        self._start()

    def _start(self) -> None:
        """Starts the processes, and a pass in them."""
        places = min(math.ceil(_PROCESSES_PER_CORE * _core.cpu_budget()), _MOST_PROCESSES)
        slots = 64 + 4 * self._num_workers + places  # some are of processes that are ending
        window = self._prefetch_factor * self._num_workers
        self._board = board_of(slots, 2 * window + 4 * slots)
        self._control = self._knob.control
        self._crew = Crew(self._board, self._job, self._context, self._control)
        self._recovery = Recovery(self._crew, self._restarts, self._binding, self._knob)
        self._binding.begin()
        most = functools.partial(self._crew.most, places + self._num_workers)
        self._elastic = Elastic(self._crew, self._knob, most)
        self._died: str | None = None  # why all of it has ended; empty once that was raised
        self._checked = self._started = time.monotonic()
        self._first_batch: dict[str, float] = {}
        self._transfer = TransferThread(self._pin_memory_device) if self._pin_memory else None
        self._closed = False
        _live.add(self)
        try:
            before, processes = self._knob.processes, self._processes_at_start()
            self._control.attach(self._board, processes)
            homes = self._elastic.begin(processes, self._binding.bound)
            self._binding.started(homes, self._num_workers, self._watches)
            self._allow_moves()
            if self._moves is not None and before:
                self._control.want(min(before, self._moves.most))
                self._elastic.step()
            self._begin(first=True)
        except BaseException:
            self._shutdown_workers()
            raise

    def _allow_moves(self) -> None:
        """Processes come and go as far as what they make does not depend on them."""
        binding = self._binding
        # What worker_init_fn did to a process stays there; a restart repeats what one was asked.
        leaves = binding.serial and not (self._restarts or self._initialised)
        self._moves = Moves(self._crew, binding.slots, self._knob) if leaves else None
        self._elastic.staff(not leaves and (binding.bound or self._threads), self._moves)

    def _processes_at_start(self) -> int:
        """One per virtual worker, as under stock; where any will do, what the budget speaks for.

        Later passes begin with as many as the one before ended with, or come down to that.
        """
        bound, cores = self._binding.bound, _core.cpu_budget()
        if not bound and self._knob.processes:
            return self._knob.processes
        budget = math.ceil(cores) if self._within_budget and not bound else self._num_workers
        return min(self._num_workers, budget)

    def _begin(self, first: bool) -> None:
        """Asks for the first batches of a pass."""
        self._control.begin_pass(self._progress.epoch)
        self._asked: deque[Asked] = deque()
        self._taken: deque[Taken] = deque()  # not more than one without a transfer thread
        self._beginnings = 0  # of passes in the workers, among what was asked for
        self._pieces = self._batch_bytes = 0  # of the batch asked for last, and of that taken last
        self._active = [True] * self._num_workers
        self._turn = self._progress.turn
        self._failure: BaseException | None = None  # of the sampler, for when its turn comes
        self._order: Iterator[Any] | None = self._progress.indices(self._sampler_iter)
        self._position = self._progress.position
        for worker, start in self._progress.starts().items():
            self._active[worker] = not start.get("ended", False)
            self._resume(worker, start)
        if self._binding.bound and not first and not self._progress.is_resumed_stream:
            for worker in range(self._num_workers):
                self._resume(worker, {})
        self._fill()
        if not first:
            self._look_after()
        self._progress.own_state, self._progress.from_start = self._binding.lasting, first
        self._progress.plan = self.plan()
        self._raise_failure()

    def _reset(self, loader: IteratedLoader[Any], first_iter: bool = False) -> None:
        super()._reset(loader, first_iter)
        self._leave_pass()
        before = self._progress
        self._progress = loader._begin_pass(int(self._base_seed), before.key_epoch + 1)
        if self._closed:  # what died in the pass before is no reason not to begin another
            self._start()
            return
        self._progress.follows(before)
        self._begin(first=False)

    def _leave_pass(self) -> None:
        """Forgets what was asked for; a serial worker makes it, as what follows depends on it."""
        while self._binding.serial and (self._asked or self._taken):
            taken = self._next_taken()
            with contextlib.suppress(Exception):  # nobody wanted what has failed
                if isinstance(taken.asked.order, Resume):
                    self._resumed(taken)
                elif taken.kind != END:
                    self._received(taken)
        for asked in self._asked:
            self._board.cancel(asked.ticket)

    def plan(self) -> dict[str, Any]:
        """How it runs, for ``explain()``."""
        by = "sample" if self._by_sample else "batch"
        bound = self._binding.bound and not self._binding.untold
        return {
            "virtual_workers": self._num_workers,
            "processes": len(self._crew.active),
            "start_method": self._crew.context.get_start_method(),
            "bound": bound,
            "own_state": list(self._knob.own_state),
            "stolen_by": "nobody" if bound else by,
            "shared_lists": self._shared_lists,
            "slowest": [] if self._closed else self._board.slowest(),
            "first_batch": self._first_batch,
        }

    @property
    def _workers(self) -> list[Any]:
        return self._crew.processes

    @property
    def _window(self) -> int:
        """Batches that are asked for ahead of the one that is yielded."""
        window = int(self._prefetch_factor * self._num_workers)
        if self._given_depth or self._binding.bound or not self._progress.order.drawn_unseen:
            return window
        return max(window, self._crew.ahead(self._pieces, self._batch_bytes))

    def _resume(self, worker: int, stream: dict[str, Any]) -> None:
        self._beginnings += 1
        message = {"shared_seed": self._shared_seed, **stream}
        self._publish(worker, Resume(self._progress.key_epoch, message))

    def _ask(self, urgent: bool = False) -> bool:
        """Asks for one more batch; False where there is none."""
        worker = self._next_worker() if self._order is not None else None
        if self._order is None or worker is None:
            return False
        try:
            index = next(self._order)
            sampler_state = self._progress.drawn()
        except StopIteration:
            self._order = None
            return False
        except Exception as error:
            self._order, self._failure = None, error
            return False
        if self._by_sample and not isinstance(index, (list, tuple)):
            if isinstance(index, (set, frozenset)):  # one that was sent may have another order
                index = pickle.loads(pickle.dumps(index))
            index = list(index)  # it is cut into pieces
        self._turn = (worker + 1) % self._num_workers
        grain = -(-len(index) // _MAX_PIECES) if self._by_sample else 0
        order = Batch(self._progress.key_epoch, index, grain, self._binding.shares(worker))
        self._pieces = order.pieces
        position = self._position
        if self._auto_collation and not self._progress.is_stream and isinstance(index, Sized):
            self._position += len(index)
        else:
            self._position += 1
        self._publish(worker, order, position, urgent, sampler_state)
        return True

    def _next_worker(self) -> int | None:
        """Who makes the next batch; nobody, where all have ended or are asked for enough.

        Batches that may come in any order are not asked of a worker that is slow, as under stock.
        """
        anyone = self._in_order or not self._binding.bound
        room = self._window // max(1, sum(self._active))
        busy = Counter(one.worker for one in self._asked if isinstance(one.order, Batch))
        for step in range(self._num_workers):
            worker = (self._turn + step) % self._num_workers
            if self._active[worker] and (anyone or busy[worker] < room):
                return worker
        return None

    def _publish(
        self,
        worker: int,
        order: Batch | Resume,
        position: int = 0,
        urgent: bool = False,
        sampler_state: Any = None,
    ) -> None:
        slot = self._binding.slot_of(worker)
        ticket = publish(self._board, order, worker, slot, position, urgent)
        self._recovery.remember(worker, ticket, order, position)
        self._asked.append(Asked(ticket, worker, order, position, sampler_state))

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
        if self._died is not None:
            message, self._died = self._died, ""
            if message:
                raise WorkerDiedError(message)
            raise StopIteration
        while self._asked or self._taken:
            taken = self._next_taken()
            worker = taken.asked.worker
            if isinstance(taken.asked.order, Resume):
                self._resumed(taken)
                continue
            if taken.kind == END:
                self._active[worker] = False
                self._progress.ended(worker)
                if self._moves is not None:
                    self._moves.ended(worker)
                self._ask()
                continue
            if not self._active[worker]:  # asked for before its stream had ended
                continue
            self._fill()
            if self._progress.again:
                with contextlib.suppress(Exception):  # it failed the first time, too
                    self._given(taken)
                continue
            self._control.given()
            self._elastic.step()
            if not self._first_batch:
                self._first_batch = self._crew.first_batch(time.monotonic() - self._started)
                self._progress.plan = self.plan()
            return self._given(taken)
        self._raise_failure()
        self._progress.over = True
        if not self._persistent_workers:
            self._shutdown_workers()
        raise StopIteration

    def _fill(self) -> None:
        """Asks for batches until enough are under way."""
        if self._moves is not None:
            self._moves.settle(self._asked)
        while len(self._asked) + len(self._taken) - self._beginnings < self._window:
            if not self._ask(urgent=not self._asked):
                return

    def _next_taken(self) -> Taken:
        """The next result, in pinned memory where that is wanted; more are on their way there."""
        if not self._taken:
            self._take(self._wait())
        while self._transfer is not None and self._asked and len(self._taken) <= AHEAD:
            asked = self._finished()
            if asked is None:
                break
            self._take(asked)
        transfer = self._taken[0].transfer
        if transfer is not None:
            transfer.exception()  # waits, and may be interrupted
        return self._taken.popleft()

    def _take(self, asked: Asked) -> None:
        kind, parts = self._board.take(asked.ticket)
        self._batch_bytes = sum(part.nbytes for part in parts)
        pins = self._transfer is not None and kind == VALUE and isinstance(asked.order, Batch)
        make = functools.partial(load, parts)
        transfer = self._transfer.submit(make) if self._transfer is not None and pins else None
        self._taken.append(Taken(asked, kind, parts, transfer))

    def _given(self, taken: Taken) -> Any:
        asked = taken.asked
        assert isinstance(asked.order, Batch)
        data, place = self._received(taken), (None, False)
        if isinstance(data, ReportedBatch):
            if data.whole:
                self._report_unsharded()
            data, place = data.data, (data.state, data.ended)
        if not self._in_order:
            waiting = [*self._asked, *(taken.asked for taken in self._taken)]
            left = [one.position for one in waiting if isinstance(one.order, Batch)]
            self._progress.overtook(asked.position, left)
        self._progress.yielded(asked.order.index, asked.sampler_state, asked.worker)
        if self._progress.is_stream:
            self._progress.advanced(asked.worker, *place)
        if taken.kind == ERROR or isinstance(data, ExceptionWrapper):
            data.reraise()
        return data

    def _received(self, taken: Taken) -> Any:
        data = load(taken.parts) if taken.transfer is None else taken.transfer.result()
        if isinstance(data, (ReportedBatch, Failure)):
            self._progress.drew(taken.asked.worker, data.drawn)
        if isinstance(data, ReportedBatch) and data.changed is not None:
            if self._binding.told(taken.asked.worker, data.changed):
                self._or_end(self._recovery.settle)
                self._allow_moves()
            self._progress.own_state = self._binding.lasting
            self._progress.plan = self.plan()
        return data

    def _resumed(self, taken: Taken) -> None:
        asked = taken.asked
        self._beginnings -= 1
        if taken.kind == ERROR:
            self._active[asked.worker] = False  # it has no stream in this pass
            load(taken.parts).reraise()
        assert isinstance(asked.order, Resume)
        begun = load(taken.parts)
        self._progress.drew(asked.worker, begun.drawn)
        message = {**asked.order.message, "random": begun.data}
        self._recovery.began(asked.worker, asked.ticket, Resume(asked.order.epoch, message))

    def _raise_failure(self) -> None:
        if self._failure is not None and not self._asked:
            failure, self._failure = self._failure, None
            raise failure

    def _wait(self) -> Asked:
        """The next batch to yield, finished; not in the list any more."""
        began = time.monotonic()
        reported = False
        seen = self._board.events()
        if self._order is None or self._board.done(self._asked[-1].ticket):
            self._control.idle()
        if began - self._checked > _CHECK_PERIOD:
            self._look_after()
        self._control.waits()
        while True:
            asked = self._finished()
            if asked is not None:
                self._control.waited()
                self._recovery.progressed()
                return asked
            if self._in_order:
                self._board.wait(self._asked[0].ticket, _SLICE)
            else:
                seen = self._board.wait_event(seen, _SLICE)
            waited = time.monotonic() - began
            self._elastic.step()
            if waited >= _SLICE:
                self._look_after()
            if 0 < self._timeout <= waited:
                raise RuntimeError(f"DataLoader timed out after {self._timeout} seconds")
            if waited >= self._stall_report and not reported:
                reported = True
                self._report_stall(waited)

    def _look_after(self) -> None:
        """Replaces what died, or ends all: no batch is left out, and nobody waits for the dead."""
        self._checked = time.monotonic()
        self._or_end(self._recovery.check)
        if self._moves is not None:
            self._or_end(self._moves.settle)

    def _or_end(self, look_after: Callable[[deque[Asked]], None]) -> None:
        try:
            look_after(self._asked)
        except BaseException as error:
            told = isinstance(error, WorkerDiedError)
            self._died = "" if told else f"{error!r} came while a worker process was looked after"
            self._asked.clear()
            self._taken.clear()
            self._shutdown_workers(_GRACE_AFTER_DEATH)
            raise

    def _finished(self) -> Asked | None:
        if self._in_order:
            return self._asked.popleft() if self._board.done(self._asked[0].ticket) else None
        for asked in self._asked:
            if self._board.done(asked.ticket):
                self._asked.remove(asked)
                return asked
        return None

    def _report_stall(self, waited: float) -> None:
        _log.warning(
            "no batch for %.0f s. The training process waits in:\n%s\n%s",
            waited,
            "".join(traceback.format_stack(sys._getframe(1))),
            self._crew.stacks(),
        )

    def _report_unsharded(self) -> None:
        why = unsharded(self._dataset, self._num_workers)
        if self._knob.remark_once(why):
            _log.warning(why)

    def _shutdown_workers(self, grace: float = GRACE) -> None:
        if self._closed or self._maker != os.getpid():
            return
        if stock_utils.python_exit_status in (True, None):
            return
        self._closed = True
        if self._transfer is not None:
            self._transfer.close()
        self._control.detach(self._board)
        self._crew.shut_down(grace)

    def __del__(self) -> None:
        self._shutdown_workers()


@atexit.register
def _close_all() -> None:
    """Before multiprocessing joins its children: one that is stopped would never end."""
    for iterator in list(_live):
        iterator._shutdown_workers(_GRACE_AT_EXIT)
