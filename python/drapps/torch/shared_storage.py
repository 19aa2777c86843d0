"""Tensors that torch makes for other processes, made in the memory that results travel in.

torch's `default_collate` stacks into new shared memory when it runs in a worker. That memory is a
file in ``/dev/shm`` per tensor; here it is a block of the loader's own, which is reused and needs
neither a file nor a descriptor. A batch is then collated by torch's own code, straight into place.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch


def share_new_storages(allocate: Callable[[int], Any]) -> None:
    """From now on in this process, new shared CPU storages lie in arrays that `allocate` gives."""
    stock: Any = torch.UntypedStorage._new_shared

    def _new_shared(size: int, *, device: Any = "cpu") -> Any:
        if size == 0 or torch.device(device).type != "cpu":
            return stock(size, device=device)
        return torch.frombuffer(allocate(size), dtype=torch.uint8).untyped_storage()

    torch.UntypedStorage._new_shared = staticmethod(_new_shared)  # type: ignore[method-assign]
