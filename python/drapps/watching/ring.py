"""When each batch of a pass was begun and ready, in a file that all its processes map."""

from __future__ import annotations

import mmap
import os
import struct
from pathlib import Path

SLOTS = 1024
_BATCH = struct.Struct("<qdd")


class Ring:
    """The latest batches of one iterator, by index; others write, one reads."""

    def __init__(self, path: Path) -> None:
        """Opens or makes the file.

        Raises:
            OSError: it cannot be made.
        """
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.truncate(file, SLOTS * _BATCH.size)
            self._memory = mmap.mmap(file, SLOTS * _BATCH.size)
        finally:
            os.close(file)

    def put(self, index: int, begun: float, ready: float) -> None:
        """Notes the times of a batch."""
        _BATCH.pack_into(self._memory, index % SLOTS * _BATCH.size, index + 1, begun, ready)

    def get(self, index: int, since: float) -> tuple[float, float] | None:
        """When a batch was begun and ready; None where none is known that began after `since`."""
        number, begun, ready = _BATCH.unpack_from(self._memory, index % SLOTS * _BATCH.size)
        return (begun, ready) if number == index + 1 and begun >= since else None
