"""Which iterator a loader over Python code in worker processes has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch.utils.data import _DatasetKind

from drapps.torch.map_iterator import MapIterator
from drapps.torch.serial_iterator import SerialIterator
from drapps.torch.stream_iterator import StreamIterator
from drapps.torch.worker_iterator import WorkerIterator

if TYPE_CHECKING:
    from drapps.torch.base import IteratedLoader


def worker_iterator(loader: IteratedLoader[Any]) -> WorkerIterator:
    """The iterator of `loader`, whose processes have started."""
    if loader._dataset_kind == _DatasetKind.Iterable:
        return StreamIterator(loader)
    return SerialIterator(loader) if loader.torch_order else MapIterator(loader)
