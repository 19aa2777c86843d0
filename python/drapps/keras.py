"""DRAPPS for Keras, on any of its backends: the batches of a loader by their number.

    train = drapps.keras.PyDataset(loader)
    model.fit(train, epochs=3, shuffle=False)

With the TensorFlow backend ``model.fit(drapps.tensorflow.dataset(loader, ("image", "label")))`` is
as good.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

try:
    import keras
except ImportError as error:
    raise ImportError("drapps.keras needs Keras: pip install keras") from error

from drapps.adapter import BatchIterator, ColumnLoader
from drapps.batch import Batch
from drapps.errors import PipelineError, SampleError


class PyDataset(keras.utils.PyDataset):  # type: ignore[misc] # Keras has no types
    """A loader as Keras' ``PyDataset``: batch `i` of the epoch, in whatever order it is asked for.

    Keras counts the epochs; each takes the loader's next one. To go on in epoch `k`, call
    ``loader.set_epoch(k)`` and give ``fit`` the same ``initial_epoch``.

    ``fit(shuffle=True)``, which is Keras' default, asks for the batches in random order. That gives
    the same batches, each by a pass of its own; ``shuffle=False`` lets the loader work ahead, whose
    order ``Pipeline.shuffle`` has shuffled anyway.
    """

    def __init__(
        self,
        loader: ColumnLoader,
        columns: Sequence[str] = ("image", "label"),
        *,
        workers: int = 1,
        max_queue_size: int = 10,
    ) -> None:
        """Starts nothing.

        Args:
            loader: what ``Pipeline.batch`` gave.
            columns: of which elements are tuples: inputs, targets and perhaps sample weights.
            workers: threads of Keras that ask; one does, since the loader has its own.
            max_queue_size: batches that Keras keeps where `workers` are several.

        Raises:
            PipelineError: the batches have no such column, or one that NumPy cannot hold.
        """
        super().__init__(workers=workers, use_multiprocessing=False, max_queue_size=max_queue_size)
        for column in loader.layout.select(columns):
            if column.dtype == "bfloat16":
                raise PipelineError(
                    f"NumPy has no bfloat16, which {column.name!r} is: use .to('float32')"
                )
        self._loader = loader
        self._columns = tuple(columns)
        self._lock = threading.Lock()  # guards all below, and the loader
        self._place: tuple[int, int] | None = None  # epoch and position of batch 0, once asked for
        self._pass: BatchIterator | None = None  # stands before batch `_next`
        self._next = 0
        self._early: dict[int, Batch | SampleError] = {}  # passed, and not asked for yet
        self._running = False

    def __len__(self) -> int:
        """Batches of the epoch."""
        with self._lock:
            return self._steps()

    def _steps(self) -> int:
        return self._loader.steps(*(self._place or self._loader.epochs.upcoming))

    def __getitem__(self, index: int) -> tuple[Any, ...]:
        """Arrays of batch `index`, writable and the caller's own. From any thread.

        Raises:
            IndexError: the epoch has fewer batches.
            SampleError: a sample of this batch is bad.
        """
        with self._lock:
            steps = self._steps()
            if not 0 <= index < steps:
                raise IndexError(f"batch {index} of an epoch of {steps}")
            if self._place is None:
                self._place = self._loader.epochs.take()
            if self._next <= index < self._next + max(1, self.workers):
                self._advance_to(index)
            if index in self._early:
                return self._arrays(self._early.pop(index))
            epoch, start = self._place
            position = start + index * self._loader.layout.global_batch
            single = self._loader.iterate(epoch, position)
        try:
            return self._arrays(next(single))
        finally:
            with self._lock:
                single.close()

    def _advance_to(self, index: int) -> None:
        """Takes the batches up to `index`: threads that share the work ask almost in order."""
        assert self._place is not None
        if self._pass is None:
            self._pass = self._loader.iterate(*self._place)
        while self._next <= index:
            try:
                self._early[self._next] = next(self._pass)
            except SampleError as error:
                self._early[self._next] = error
            self._next += 1

    def _arrays(self, taken: Batch | SampleError) -> tuple[Any, ...]:
        if isinstance(taken, SampleError):
            raise taken
        arrays = taken.numpy()
        return tuple(arrays[name] for name in self._columns)

    def on_epoch_begin(self) -> None:
        """Keras: an epoch begins; batches may have been asked for already."""
        self._running = True

    def on_epoch_end(self) -> None:
        """Keras: an epoch is over; or none has begun, and only batches' shapes were looked at."""
        with self._lock:
            epochs = self._loader.epochs
            if not self._running and self._place is not None:
                epoch, start = self._place
                if epochs.upcoming == (epoch + 1, 0):
                    epochs.resume(epoch, start)
            if self._pass is not None:
                self._pass.close()
            self._place, self._pass, self._next = None, None, 0
            self._early.clear()
            self._running = False
