"""The loop of a stock worker, with the time at which each batch was begun and ready."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

from drapps.watching.recorder import HERE
from drapps.watching.ring import Ring


class WatchedLoop:
    """Runs torch's ``_worker_loop``; it may be sent to a process that was not forked."""

    # Makes a loop in a process that was not forked, of the names of the ring and of the folder.
    remake: ClassVar[tuple[Callable[[str, str], WatchedLoop], ...]] = ()

    def __init__(self, loop: Callable[..., None], ring: Path) -> None:
        self._loop, self._ring = loop, ring

    @classmethod
    def around(cls, loop: Callable[..., None], ring: Path) -> WatchedLoop:
        """Watches torch's loop, or one that is watched already for another iterator."""
        return cls(loop._loop if isinstance(loop, cls) else loop, ring)

    def __reduce__(self) -> Any:
        return self.remake[0], (str(self._ring), str(HERE.folder))

    def __call__(self, *arguments: Any) -> None:
        """Runs the loop to its end."""
        names = list(inspect.signature(self._loop).parameters)
        given = list(arguments)
        try:
            times = _Times(Ring(self._ring))
            for name, kind in (("index_queue", _Tasks), ("data_queue", _Results)):
                given[names.index(name)] = kind(given[names.index(name)], times)
        except (OSError, ValueError, IndexError):
            given = list(arguments)
        try:
            self._loop(*given)
        finally:
            if HERE.folder is not None:
                HERE.recorder().close()


class _Times:
    """When the batch that is made now was begun."""

    def __init__(self, ring: Ring) -> None:
        self.ring = ring
        self.begun = 0.0


class _Queue:
    """A queue of torch's, whose every other method is its own."""

    def __init__(self, queue: Any, times: _Times) -> None:
        self._queue, self._times = queue, times

    def __getattr__(self, name: str) -> Any:
        return getattr(self._queue, name)


class _Tasks(_Queue):
    def get(self, *arguments: Any, **options: Any) -> Any:
        task = self._queue.get(*arguments, **options)
        self._times.begun = time.perf_counter()
        return task


class _Results(_Queue):
    def put(self, result: Any, *arguments: Any, **options: Any) -> None:
        if isinstance(result, tuple) and isinstance(result[0], int):
            self._times.ring.put(result[0], self._times.begun, time.perf_counter())
        self._queue.put(result, *arguments, **options)
