"""A native stream whose batches reach their destination ahead of the step that takes them."""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch._utils import ExceptionWrapper

from drapps import _core
from drapps.batch import torch_tensors
from drapps.report import BadSample
from drapps.stream import Stream
from drapps.torch.broken_order import BrokenOrderStream
from drapps.torch.transfer import AHEAD, Transfer, TransferThread


def tensors_of(batch: _core.Batch) -> list[torch.Tensor]:
    """What the samples of a batch hold, in its memory."""
    return torch_tensors(batch, content=True)


@dataclass(frozen=True)
class _Taken:
    """A batch on its way, and where the stream stands behind it."""

    batch: Transfer
    place: tuple[int, int]
    left: int


class AheadStream:
    """As `Stream`, but for what is made of its batches, which are sent ahead where they are ready.

    Attributes:
        place: where to go on after the batches yielded: (epoch, position).
        left: steps that are still to come.
        epoch: its number.
    """

    def __init__(
        self,
        stream: Stream | BrokenOrderStream,
        transfer: TransferThread,
        make: Callable[[_core.Batch], Any] = tensors_of,
    ) -> None:
        self._stream = stream
        self._make = make
        stream.consumed_outside()
        self._transfer = transfer
        self._taken: deque[_Taken] = deque()
        self.place, self.left = stream.place, stream.left
        self.epoch = stream.epoch

    def cursors(self, position: int) -> bytes:
        """As `Stream.cursors`."""
        return (
            b"" if isinstance(self._stream, BrokenOrderStream) else self._stream.cursors(position)
        )

    def next(self) -> Any:
        """The next batch. Raises what `Stream.next` raises, or what failed on its way.

        A batch for which there is no memory when it is taken stays, for the next call.
        """
        self._stream.asks()
        try:
            return self._next()
        finally:
            self._stream.gives()

    def _next(self) -> Any:
        if not self._taken:
            self._take()
        while len(self._taken) <= AHEAD and self._stream.ready:
            self._take()
        self._taken[0].batch.wait()
        taken = self._taken.popleft()
        place = self.place, self.left
        self.place, self.left = taken.place, taken.left
        try:
            batch = taken.batch.taken()
        except torch.OutOfMemoryError:  # the batch was not given: who makes room may ask again
            self._taken.appendleft(taken)
            self.place, self.left = place
            raise
        if isinstance(batch, ExceptionWrapper):
            batch.reraise()  # type: ignore[no-untyped-call]
        return batch

    def _take(self) -> None:
        """Sends the next batch on its way; what fails is raised when its turn has come."""
        try:
            batch = self._transfer.submit(functools.partial(self._make, self._stream.next()))
        except StopIteration:
            raise
        except Exception as error:
            batch = self._transfer.failed(error)
        self._taken.append(_Taken(batch, self._stream.place, self._stream.left))

    def bad_samples(self) -> list[BadSample]:
        """As `Stream.bad_samples`; of the batches under way, too."""
        return self._stream.bad_samples()

    def large_pictures(self) -> list[int]:
        """As `Stream.large_pictures`; of the batches under way, too."""
        return self._stream.large_pictures()

    def close(self) -> None:
        """As `Stream.close`."""
        self._taken.clear()
        self._stream.close()
