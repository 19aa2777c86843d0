"""A native loader's batches as tensors on a device."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch

from drapps import _core
from drapps.batch import Batch
from drapps.stream import Stream
from drapps.torch.ahead import AheadStream
from drapps.torch.transfer import TransferThread


def ahead(stream: Stream, transfer: TransferThread) -> AheadStream:
    """Its batches as dictionaries of tensors, sent ahead."""
    return AheadStream(stream, transfer, _tensors)


class DeviceIterator(Iterator[dict[str, torch.Tensor]]):
    """One pass over one epoch. Errors do not end it: the next call goes on behind the bad batch."""

    def __init__(
        self,
        stream: AheadStream,
        transfer: TransferThread,
        state_of: Callable[[int, int], dict[str, Any]],
        ended: Callable[[], None],
    ) -> None:
        self._stream = stream
        self._transfer = transfer
        self._state = state_of
        self._ended = ended

    def __del__(self) -> None:
        self.close()

    def __next__(self) -> dict[str, torch.Tensor]:
        try:
            batch: dict[str, torch.Tensor] = self._stream.next()
        except StopIteration:
            self._ended()
            raise
        return batch

    def __len__(self) -> int:
        """Steps that are still to come."""
        return max(0, self._stream.left)

    def state_dict(self) -> dict[str, Any]:
        """As `Loader.state_dict`, of this iterator."""
        return self._state(*self._stream.place)

    def close(self) -> None:
        """Stops working ahead. Batches that were yielded stay valid."""
        self._stream.close()
        self._transfer.close()


def _tensors(batch: _core.Batch) -> dict[str, torch.Tensor]:
    return Batch(batch).torch()
