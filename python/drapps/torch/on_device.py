"""A native loader's batches as tensors on a device."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch

from drapps import _core
from drapps.batch import Batch
from drapps.pass_iterator import PassIterator
from drapps.stream import Stream
from drapps.torch.ahead import AheadStream
from drapps.torch.resident import ResidentBatches
from drapps.torch.transfer import TransferThread


def ahead(stream: Stream, transfer: TransferThread) -> AheadStream:
    """The batches of `stream` as dictionaries of tensors, sent ahead."""
    return AheadStream(stream, transfer, _tensors)


def there(
    batches: Iterator[Batch], device: torch.device | None
) -> Iterator[dict[str, torch.Tensor]]:
    """The batches of arrays that live on a device; not copied, where it is `device`."""
    place = device or torch.device("cpu")
    return ({name: each.to(place) for name, each in batch.torch().items()} for batch in batches)


def copied(batches: Iterator[Batch], device: torch.device) -> Iterator[dict[str, torch.Tensor]]:
    """Batches that a device has finished, in memory of torch's own there."""
    copies = ResidentBatches(device)
    for batch in batches:
        yield dict(zip(batch, copies.taken(list(batch.values())), strict=True))


class DeviceIterator(PassIterator[AheadStream, dict[str, torch.Tensor]]):
    """One pass over one epoch. Errors do not end it: the next call goes on behind the bad batch."""

    def __init__(
        self,
        stream: AheadStream,
        transfer: TransferThread,
        state_of: Callable[[int, int], dict[str, Any]],
        ended: Callable[[], None],
    ) -> None:
        super().__init__(stream, state_of, ended)
        self._transfer = transfer

    def _item(self, taken: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        return taken

    def close(self) -> None:
        """Stops working ahead. Batches that were yielded stay valid."""
        super().close()
        self._transfer.close()


def _tensors(batch: _core.Batch) -> dict[str, torch.Tensor]:
    return Batch(batch).torch()
