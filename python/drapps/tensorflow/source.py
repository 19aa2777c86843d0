"""A loader as a source of ``tf.data``.

Batches cross through ``Dataset.from_generator``, which takes an array's memory as a tensor's
without a copy where it is aligned to 64 bytes, as the columns of a batch are. A crossing costs some
0.1 ms of Python for each column: ask for those that are used.
"""

from __future__ import annotations

import atexit
import threading
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import tensorflow as tf

from drapps.adapter import ColumnLoader
from drapps.errors import PipelineError

if TYPE_CHECKING:
    from drapps import _core
    from drapps.report import Column

Arrays = dict[str, Any] | tuple[Any, ...]


def dataset(loader: ColumnLoader, columns: Sequence[str] | None = None) -> tf.data.Dataset:
    """The batches of a loader, as a dataset that composes with the rest of ``tf.data``.

    Every pass over it takes the loader's next epoch, and several may live at once. Its element spec
    is exact: the number of rows is left open only where a batch can have fewer. Tensors share the
    memory of the batch, which is theirs alone and outlives the loader. What a sample has wrong is
    raised by ``tf.data`` as one of its own errors, whose text is that of `SampleError`; the pass
    goes on behind that batch.

    Args:
        loader: what ``Pipeline.batch`` gave.
        columns: yield tuples of these columns, as ``("image", "label")`` is for Keras; absent, the
            elements are dictionaries of all columns.

    Raises:
        PipelineError: the batches have no such column.
    """
    rows = _rows(loader)
    chosen = loader.layout.columns if columns is None else loader.layout.select(columns)
    specs = {
        column.name: tf.TensorSpec(_shape(column, rows), tf.as_dtype(column.dtype))
        for column in chosen
    }
    names = None if columns is None else tuple(columns)
    signature = specs if names is None else tuple(specs[name] for name in names)

    def begin() -> Pass:
        if rows is not None and _rows(loader) is None:
            raise PipelineError(
                "the state that was loaded ends its epoch in a smaller batch, which this dataset's "
                "element spec excludes: call drapps.tensorflow.dataset after load_state_dict"
            )
        return Pass(loader, names)

    return tf.data.Dataset.from_generator(begin, output_signature=signature)


def _shape(column: Column, rows: int | None) -> list[int | None]:
    return [rows, *column.row_shape] if column.axes is None else [None] * column.axes


def _rows(loader: ColumnLoader) -> int | None:
    """How many rows every batch has, from where the loader stands on; None where that varies."""
    layout = loader.layout
    _, start = loader.epochs.upcoming
    if layout.on_error == "skip" or layout.left_over() or layout.left_over(start):
        return None
    return layout.batch_size


class Pass(Iterator[Arrays]):
    """One pass over one epoch, as ``from_generator`` takes it: arrays in the memory of the batch.

    It is no generator, because an error must not end it.
    """

    def __init__(self, loader: ColumnLoader, columns: Sequence[str] | None) -> None:
        self._iterator = iter(loader)
        self._columns = columns

    def __next__(self) -> Arrays:
        with _exit:
            if _exit.begun:
                raise StopIteration
            return self._next()

    def _next(self) -> Arrays:
        batch = next(self._iterator)
        if self._columns is None:
            return {name: array_of(tensor) for name, tensor in batch.items()}
        return tuple(array_of(batch[name]) for name in self._columns)


class _Exit:
    """Ends all passes before the interpreter ends.

    TensorFlow's threads call Python for the next batch, and its iterators wait for these threads
    when they are destroyed. A thread that is in Python, or comes to it, once the interpreter has
    begun to end never returns: the process would hang.
    """

    QUIET = 0.2  # seconds without a call after which no thread is on its way
    PATIENCE = 5.0

    def __init__(self) -> None:
        self.begun = False
        self._lock = threading.Lock()
        self._inside = 0
        self._latest: float | None = None  # when a call returned

    def __enter__(self) -> None:
        with self._lock:
            self._inside += 1

    def __exit__(self, *_error: object) -> None:
        with self._lock:
            self._inside -= 1
            self._latest = time.monotonic()

    def end(self) -> None:
        """Lets every pass end with its next call, and waits for the calls under way."""
        if self._latest is None and not self._inside:
            return
        self.begun = True
        start = time.monotonic()
        while time.monotonic() < start + self.PATIENCE:
            if not self._inside and time.monotonic() > max(start, self._latest or 0) + self.QUIET:
                return
            time.sleep(0.01)


_exit = _Exit()
atexit.register(_exit.end)


def array_of(tensor: _core.Tensor) -> Any:
    """A column as an array in the same memory, bfloat16 as TensorFlow's extension of NumPy."""
    if tensor.dtype == "bfloat16":
        return np.asarray(tf.experimental.dlpack.from_dlpack(tensor.__dlpack__()))
    return np.asarray(tensor)
