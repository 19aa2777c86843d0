"""A native pass over an order of the user's that cannot be followed everywhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from drapps import _core
from drapps.report import BadSample
from drapps.stream import Stream
from drapps.torch.native_order import NativeOrder

if TYPE_CHECKING:
    from drapps.source import Int64Array


class BrokenOrderStream:
    """As `Stream`, with each failure in the place of its batch, where stock has it.

    An index that the dataset does not have fails its batch, and the next one goes on behind it.
    Behind what the sampler raised nothing comes.

    Attributes:
        epoch: its number.
    """

    def __init__(
        self,
        open_stream: Callable[[int, Int64Array], Stream],
        order: NativeOrder,
        indices: Int64Array,
        failure: Exception | None,
        epoch: int,
        start: int,
    ) -> None:
        """`open_stream` makes a stream from a position to the end of the indices it is given."""
        self.epoch = epoch
        self._open = open_stream
        self._batch, self._size = order.batch_size, order.size
        self._start = start
        self._failure = failure
        whole, rest = divmod(max(0, len(indices) - start), self._batch)
        self._steps = whole + (rest > 0 and not order.drop_last and failure is None)
        wrong = np.flatnonzero(~self._is_there(indices))
        steps = (wrong[wrong >= start] - start) // self._batch
        self._wrong = np.unique(steps[steps < self._steps])
        self._indices = indices
        self._there = np.where(self._is_there(indices), indices, 0)
        self._step = 0
        self._stream: Stream | None = None
        self._outside = False
        self._bad_samples: list[BadSample] = []
        self._large: list[int] = []  # as large_pictures() gives them, of streams that are closed

    def _is_there(self, indices: Int64Array) -> np.ndarray[Any, np.dtype[np.bool_]]:
        return (indices >= 0) & (indices < self._size)

    def next(self) -> _core.Batch:
        """The next batch.

        Raises:
            IndexError: a sample of this batch is not there.
            Exception: what the sampler raised in its place.
            StopIteration, SampleError: as `Stream.next`.
        """
        if self._step >= self._steps:
            failure, self._failure = self._failure, None
            raise failure or StopIteration
        self._step += 1
        if self._step - 1 in self._wrong:
            first = self._position - self._batch
            named = self._indices[first : self._position]
            index = int(named[~self._is_there(named)][0])
            raise IndexError(f"the sampler named index {index} of a dataset of {self._size}")
        if self._stream is None:
            behind = self._wrong[self._wrong >= self._step]
            end = int(behind[0]) if len(behind) else self._steps
            last = len(self._indices) if end == self._steps else self._start + end * self._batch
            self._stream = self._open(self._position - self._batch, self._there[:last])
            if self._outside:
                self._stream.consumed_outside()
        try:
            return self._stream.next()
        finally:
            if self._stream.left <= 0:
                self.close()

    def consumed_outside(self) -> None:
        """As `Stream.consumed_outside`."""
        self._outside = True

    def asks(self) -> None:
        """As `Stream.asks`, where there is a stream."""
        if self._stream is not None:
            self._stream.asks()

    def gives(self) -> None:
        """As `Stream.gives`."""
        if self._stream is not None:
            self._stream.gives()

    @property
    def _position(self) -> int:
        return self._start + self._step * self._batch

    @property
    def ready(self) -> bool:
        """Whether `next` would give a batch without waiting."""
        return self._stream is not None and self._stream.ready

    @property
    def left(self) -> int:
        """Steps that are still to come, with that which fails for the sampler."""
        return self._steps - self._step + (self._failure is not None)

    @property
    def place(self) -> tuple[int, int]:
        """Where to go on after the batches yielded: (epoch, position)."""
        return (self.epoch, self._position) if self.left else (self.epoch + 1, 0)

    def bad_samples(self) -> list[BadSample]:
        """As `Stream.bad_samples`."""
        return self._bad_samples + ([] if self._stream is None else self._stream.bad_samples())

    def large_pictures(self) -> list[int]:
        """As `Stream.large_pictures`."""
        pictures, self._large = self._large, []
        return pictures + ([] if self._stream is None else self._stream.large_pictures())

    def close(self) -> None:
        """As `Stream.close`."""
        if self._stream is not None:
            self._bad_samples += self._stream.bad_samples()
            self._large += self._stream.large_pictures()
            self._stream.close()
            self._stream = None
