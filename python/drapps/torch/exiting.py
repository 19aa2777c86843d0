"""Iterators over worker processes, and the threads within them, when the interpreter ends."""

from __future__ import annotations

import atexit
import contextlib
import threading
import time
import weakref
from collections.abc import Iterator
from typing import Protocol

_GRACE = 1.0  # seconds that processes have to end by themselves
_PATIENCE = 2.0  # seconds in which a thread comes out of an iterator, unless user code keeps it


class Closable(Protocol):
    """What has processes to end.

    Attributes:
        user: the thread that is within it.
    """

    user: int | None

    def _shutdown_workers(self, grace: float) -> None: ...


_ending = False
_live: weakref.WeakValueDictionary[int, Closable] = weakref.WeakValueDictionary()


def watch(iterator: Closable) -> None:
    """The iterator is closed before the interpreter ends."""
    _live[id(iterator)] = iterator
    leave_at_end()


@contextlib.contextmanager
def within(iterator: Closable) -> Iterator[None]:
    """The calling thread is within the iterator."""
    iterator.user = threading.get_ident()
    try:
        yield
    finally:
        iterator.user = None


def leave_at_end() -> None:
    """Ends the calling thread where the interpreter ends.

    Threads other than the main one are daemon threads then, which Python ends without a word. They
    would only report that their processes have gone.

    Raises:
        SystemExit: of which ``threading`` says nothing.
    """
    if _ending and threading.current_thread() is not threading.main_thread():
        raise SystemExit


@atexit.register
def _close_all() -> None:
    """Closes iterators before multiprocessing joins its children: a stopped one would never end."""
    global _ending
    _ending = True
    deadline = time.monotonic() + _PATIENCE
    for iterator in list(_live.values()):
        while iterator.user not in (None, threading.get_ident()) and time.monotonic() < deadline:
            time.sleep(0.005)
        iterator._shutdown_workers(_GRACE)
