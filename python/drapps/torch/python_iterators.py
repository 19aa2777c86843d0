"""Which iterator a loader without a native one has: over Python code, or over lifted text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch.utils.data import _DatasetKind

from drapps.torch.in_process import InProcessIterator
from drapps.torch.map_iterator import MapIterator
from drapps.torch.serial_iterator import SerialIterator
from drapps.torch.stream_iterator import StreamIterator
from drapps.torch.text.running import InProcessTextIterator, TextIterator
from drapps.torch.worker_iterator import WorkerIterator

if TYPE_CHECKING:
    from drapps.torch.base import IteratedLoader


def worker_iterator(loader: IteratedLoader[Any]) -> WorkerIterator:
    """The iterator of `loader`, whose processes or threads have started."""
    if loader._text is not None:
        return TextIterator(loader)
    loader.check_worker_number_rationality()
    if loader._dataset_kind == _DatasetKind.Iterable:
        return StreamIterator(loader)
    return SerialIterator(loader) if loader.torch_order else MapIterator(loader)


def in_process_iterator(loader: IteratedLoader[Any]) -> InProcessIterator:
    """The iterator of `loader`, which makes batches where it is asked for them."""
    return InProcessIterator(loader) if loader._text is None else InProcessTextIterator(loader)
