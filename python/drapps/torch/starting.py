"""Where the user's code runs: in processes, and how those start, or on threads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch.utils.data import _DatasetKind

from drapps.worker.launch import SlimServerContext
from drapps.worker.threads import ThreadContext

if TYPE_CHECKING:
    from drapps.torch.loader import DataLoader


def in_threads(loader: DataLoader[Any]) -> bool:
    """The dataset says ``thread_safe = True``, and nothing else needs a process."""
    safe = getattr(loader.dataset, "thread_safe", False) is True
    streams = loader._dataset_kind == _DatasetKind.Iterable
    own = loader.torch_order or loader.worker_init_fn or loader.multiprocessing_context
    return safe and not streams and not own


def context_of(loader: DataLoader[Any]) -> tuple[Any, bool]:
    """How processes start, and whether objects of ``__main__`` travel by value."""
    if in_threads(loader):
        return ThreadContext(), False
    if loader.multiprocessing_context is not None:
        return loader.multiprocessing_context, False
    # A CUDA context does not survive a fork.
    if torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        return SlimServerContext(), True
    return torch.multiprocessing.get_context(), False
