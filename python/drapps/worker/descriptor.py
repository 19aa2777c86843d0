"""A file descriptor that worker processes share, by whichever way they are started."""

from __future__ import annotations

import os
from collections.abc import Callable
from multiprocessing import reduction
from typing import Any


class Descriptor:
    """Owns a descriptor. A forked child has it already; others are sent a duplicate."""

    def __init__(self, fd: int) -> None:
        self.fd = fd

    def __del__(self, close: Callable[[int], None] = os.close) -> None:
        close(self.fd)  # held, since the module may be gone when the interpreter ends

    def write(self, data: Any) -> None:
        """Writes all of a buffer at the descriptor's place."""
        view = memoryview(data).cast("B")
        while view:
            view = view[os.write(self.fd, view) :]

    def __reduce__(self) -> Any:
        return _received, (reduction.DupFd(self.fd),)


def _received(duplicate: Any) -> Descriptor:
    return Descriptor(duplicate.detach())
