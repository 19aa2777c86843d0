"""How a worker process begins: what it is given, and how that reaches it by each start method.

* ``fork``: the child has everything already.
* ``spawn``, ``forkserver``: the job is pickled as multiprocessing does it, so that locks, queues
  and shared tensors arrive shared. Its large buffers lie in one memory file that all children map.
* the slim server: ``forkserver`` with a server that has imported torch and nothing of the user's,
  for parents that must not be forked. There ``__main__`` is never imported again, so its objects
  travel by value (cloudpickle).
"""

from __future__ import annotations

import faulthandler
import gc
import io
import mmap
import os
import pickle
import signal
from dataclasses import dataclass
from multiprocessing import context, forkserver, popen_forkserver, process, reduction, spawn, util
from typing import Any

import numpy as np

from drapps import _core
from drapps.accelerate.acceleration import Accelerated
from drapps.worker.child import Worker
from drapps.worker.descriptor import Descriptor
from drapps.worker.job import Job
from drapps.worker.limits import limits_named
from drapps.worker.serialise import UnpicklableError, describe_unpicklable

_NICER = 5  # than the training process
NOT_BEGUN = os.EX_TEMPFAIL  # the exit code of a process that has told why it could not begin
STACKS_SIGNAL = signal.SIGUSR2  # a worker answers it with the stacks of its threads


@dataclass
class Launch:
    """What a worker process is given.

    Attributes:
        memory: of the board.
        stacks: where it writes the stacks of its threads when asked.
        budget: the CPU time of all loaders of the parent together; None where it cannot be shared.
        number: its place on the board.
        worker: the virtual worker that it begins as.
        parent: pid of the process that started it, and when that began.
        die_with_parent: the kernel kills it with the thread that forked it.
        job: the user's code.
        replay: commands, and positions, that it carries out again before all else, for nobody.
        accelerated: how its pictures are made natively; None where they are not.
    """

    memory: Descriptor
    stacks: Descriptor
    budget: Descriptor | None
    number: int
    worker: int
    parent: tuple[int, int]
    die_with_parent: bool
    job: SentJob
    replay: tuple[Any, ...]
    accelerated: Accelerated | None = None

    def attach(self) -> _core.Board:
        """The worker's side of the board."""
        budget = -1 if self.budget is None else self.budget.fd
        return _core.Board.attach(self.memory.fd, self.number, budget)

    def not_begun(self, error: Exception) -> int:
        """The exit code of a process that could not begin; the parent reads why among stacks."""
        self.stacks.write(f"{error}".encode())
        return NOT_BEGUN


def main(launch: Launch) -> None:
    """Runs in the worker process until the parent says stop.

    Where it cannot begin, as a limit keeps it from that, the parent reads why and does the rest.
    """
    try:
        board = _begun(launch)
    except Exception as error:
        raise SystemExit(launch.not_begun(error)) from None
    if launch.accelerated is not None:
        launch.accelerated.begin(launch.number)
    try:
        Worker(board, launch.job.job, launch.worker).run(launch.replay)
    except KeyboardInterrupt:  # no traceback, and the parent sees which signal it was
        util._flush_std_streams()  # type: ignore[attr-defined]
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.raise_signal(signal.SIGINT)


def _begun(launch: Launch) -> _core.Board:
    """The process as it is to be, at the board."""
    # Where all cores are busy, the threads that train go first.
    os.nice(_NICER)
    _core.take_long_slices()
    _core.keep_freed_memory()
    # What was inherited stays. A full collection would visit all of it, and so copy its pages: in a
    # process that had imported torch the first one took 75 ms, and mostly came before a batch did.
    gc.freeze()
    # Before the first heartbeat: nobody sends that signal, which would end the process, earlier.
    faulthandler.register(STACKS_SIGNAL, file=launch.stacks.fd, all_threads=True)
    board = launch.attach()
    board.start_heartbeat(*launch.parent, launch.die_with_parent)
    return board


class SentJob:
    """The job, and how it is pickled for a child that is not forked."""

    def __init__(self, job: Job, by_value: bool) -> None:
        """Wraps `job`; `by_value` sends what ``__main__`` defines by value."""
        self.job = job
        self._by_value = by_value
        self._buffers = _SharedBuffers()

    def __reduce__(self) -> Any:
        data = self._pickled()
        return _sent, (data, self._buffers.memory, self._buffers.places)

    def _pickled(self) -> bytes:
        self._buffers.places = []
        if not self._by_value:
            try:
                return self._dump(_ByReference)
            except (pickle.PicklingError, AttributeError, TypeError):
                self._buffers.places = []  # a lambda or a local class: by value then
        try:
            return self._dump(_by_value)
        except UnpicklableError:
            raise
        except Exception as error:
            raise UnpicklableError(describe_unpicklable(self.job, "loader", error)) from error

    def _dump(self, make: Any) -> bytes:
        file = io.BytesIO()
        make(file, self.job, self._buffers.keep).dump(self.job)
        return file.getvalue()


class _ByReference(pickle.Pickler):
    """Pickles as multiprocessing does, with large buffers apart."""

    def __init__(self, file: io.BytesIO, job: Job, keep: Any) -> None:
        super().__init__(file, protocol=5, buffer_callback=keep)
        self.dispatch_table = _multiprocessing_table()
        own = job.sender()
        if own is not None:
            self.reducer_override = own  # type: ignore[method-assign]


def _by_value(file: io.BytesIO, job: Job, keep: Any) -> pickle.Pickler:
    """A pickler that sends the code of ``__main__``, of lambdas and of local classes along."""
    try:
        import cloudpickle  # type: ignore[import-untyped]
    except ImportError:
        raise UnpicklableError(
            "objects of __main__, lambdas and local classes reach worker processes that are not "
            "forked by value, which needs cloudpickle: pip install cloudpickle"
        ) from None

    class ByValue(cloudpickle.Pickler):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__(file, protocol=5, buffer_callback=keep)
            table = cloudpickle.Pickler.dispatch_table
            self.dispatch_table = table.new_child(_multiprocessing_table())
            self._own = job.sender() or (lambda _: NotImplemented)

        def reducer_override(self, value: Any) -> Any:
            reduced = self._own(value)
            return super().reducer_override(value) if reduced is NotImplemented else reduced

    pickler: pickle.Pickler = ByValue()
    return pickler


def _multiprocessing_table() -> Any:
    return reduction.ForkingPickler(io.BytesIO()).dispatch_table


class _SharedBuffers:
    """Large buffers of a job, each written once for all the processes of a pool."""

    def __init__(self) -> None:
        with limits_named("file in memory for what workers run"):
            self.memory = Descriptor(os.memfd_create("drapps-job", os.MFD_CLOEXEC))
        self.places: list[tuple[int, int]] = []
        self._known: dict[tuple[int, int], int] = {}
        self._end = 0

    def keep(self, buffer: pickle.PickleBuffer) -> bool:
        with buffer.raw() as raw:
            if raw.nbytes < mmap.PAGESIZE:
                return True
            key = (np.frombuffer(raw, np.uint8).ctypes.data, raw.nbytes)
            if key not in self._known:
                self._known[key] = self._end
                os.lseek(self.memory.fd, self._end, os.SEEK_SET)
                self.memory.write(raw)
                self._end += -(-raw.nbytes // mmap.PAGESIZE) * mmap.PAGESIZE
            self.places.append((self._known[key], raw.nbytes))
        return False


def _sent(data: bytes, shared: Descriptor, places: list[tuple[int, int]]) -> SentJob:
    maps = [mmap.mmap(shared.fd, size, mmap.MAP_PRIVATE, offset=offset) for offset, size in places]
    return SentJob(pickle.loads(data, buffers=maps), by_value=False)


class SlimServerProcess(process.BaseProcess):
    """A process forked by a server that has imported the adapter, and nothing of the user's."""

    _start_method = "forkserver"

    @staticmethod
    def _Popen(process_obj: Any) -> Any:  # noqa: N802
        return _SlimPopen(process_obj)


class SlimServerContext(context.ForkServerContext):
    """A multiprocessing context whose children never import ``__main__``."""

    Process = SlimServerProcess  # type: ignore[assignment]


_server = forkserver.ForkServer()
_server.set_forkserver_preload(["drapps.torch.map_job", "drapps.torch.stream_job"])


class _SlimPopen(popen_forkserver.Popen):
    def _launch(self, process_obj: Any) -> None:
        preparation = spawn.get_preparation_data(process_obj._name)
        for name in ("init_main_from_name", "init_main_from_path"):
            preparation.pop(name, None)
        data = io.BytesIO()
        context.set_spawning_popen(self)
        try:
            reduction.dump(preparation, data)
            reduction.dump(process_obj, data)
        finally:
            context.set_spawning_popen(None)
        self.sentinel, pipe = _server.connect_to_new_process(self._fds)  # type: ignore[attr-defined]
        close: Any = util.close_fds  # type: ignore[attr-defined]
        self.finalizer = util.Finalize(self, close, (os.dup(pipe), self.sentinel))
        with os.fdopen(pipe, "wb") as file:
            file.write(data.getbuffer())
        self.pid = forkserver.read_signed(self.sentinel)
