"""Our functions in the place of others in a process of the user's, for our samples alone.

A worker process of ours is left as it is once all is put there. In any other process all of that is
there as long as a loader that wants it has an iterator, and acts on a thread while that makes one
of our samples.
"""

from __future__ import annotations

import functools
import gc
import sys
import threading
import weakref
from collections.abc import Callable
from typing import Any

from drapps import _core
from drapps.accelerate import patching
from drapps.accelerate.late import LatePixels
from drapps.accelerate.patches import Patches
from drapps.accelerate.tally import Counts

_ALONE = 2  # references to an object that nothing but a name and a call has


class _Thread(threading.local):
    region: Region | None = None  # what is made on this thread


_thread = _Thread()


def _here_alone(native: Callable[..., Any], plain: Callable[..., Any]) -> Callable[..., Any]:
    """Calls `native` where one of our samples is made, else `plain`."""

    @functools.wraps(plain)
    def call(*args: Any, **options: Any) -> Any:
        return (plain if _thread.region is None else native)(*args, **options)

    return call


class _CountsHere(Counts):
    """The counts of the worker whose sample is made on this thread."""

    def __init__(self, hooks: Hooks) -> None:
        super().__init__([])
        self._hooks = hooks

    @property
    def indexes(self) -> _core.Indexes | None:
        """The indexes of the worker that makes the sample."""
        return None if _thread.region is None else _thread.region.counts.indexes

    def add(self, name: str) -> None:
        """Counts one more `name`."""
        if _thread.region is not None:
            _thread.region.counts.add(name)

    def note(self, name: str) -> None:
        """Notes `name` for this process; each worker that makes samples says so."""
        self._hooks.notes.add(name)
        if _thread.region is not None:
            _thread.region.counts.note(name)

    def leave_alone(self, reason: int) -> None:
        """Pillow stays as it is in this process; each worker that makes samples says so."""
        self._hooks.left_alone = reason


class Hooks:
    """All that is put in the place of something in this process.

    Attributes:
        left_alone: why Pillow is left as it is; 0 where it is not.
        notes: what else is to be counted of this process.
    """

    def __init__(self) -> None:
        self.left_alone = 0
        self.notes: set[str] = set()
        self._lock = threading.RLock()  # an iterator that is collected leaves wherever that is
        self._users = 0
        self._patches = Patches(_here_alone)
        self._put: set[str] = set()

    def join(self) -> None:
        """One user more; all that can be is put in place, of libraries imported by now."""
        with self._lock:
            self._users += 1
            for name in patching.imported():
                if name not in self._put:
                    self._put.add(name)
                    patching.put_in_place(name, _CountsHere(self), self._patches, note)

    def leave(self) -> None:
        """One user less; behind the last one all is as it was."""
        with self._lock:
            self._users -= 1
            if self._users == 0:
                self._take_away()

    def _take_away(self) -> None:
        self._patches.undo()
        self._put.clear()
        self.notes.clear()
        self.left_alone = 0

    def forget(self) -> None:
        """Forgets all in a process that was forked, where what stands here is the parent's."""
        self._lock, self._users = threading.RLock(), 0
        self._take_away()
        _thread.region = None


hooks = Hooks()


def note(late: LatePixels, image: Any) -> None:
    """The `late` pixels are made when the sample is, if they are still there."""
    if _thread.region is not None:
        _thread.region.late.append((weakref.ref(late), weakref.ref(image)))


class Region:
    """Making a sample, or a batch, on this thread; a context.

    What is late at its end is made then: nobody outside of it sees any of that.

    Attributes:
        counts: what becomes of its pictures.
        late: pixels that were not made at first, and the images that they are of.
    """

    def __init__(self, counts: Counts) -> None:
        self.counts = counts
        self.late: list[tuple[weakref.ref[LatePixels], weakref.ref[Any]]] = []
        self._outer: Region | None = None

    def __enter__(self) -> None:
        hooks.join()
        if hooks.left_alone:
            self.counts.leave_alone(hooks.left_alone)
        for name in tuple(hooks.notes):
            self.counts.note(name)
        self._outer, _thread.region = _thread.region, self

    def __exit__(self, *_: object) -> None:
        try:
            _make(self.late)
        finally:
            _thread.region = self._outer
            hooks.leave()


def _make(late: list[tuple[weakref.ref[LatePixels], weakref.ref[Any]]]) -> None:
    for to_pixels, to_image in late:
        pixels, image = to_pixels(), to_image()
        if pixels is None:
            continue
        core = pixels.core_image()
        if image is not None and image._im is pixels:
            image._im = core
        if sys.getrefcount(pixels) > _ALONE:
            _replace(pixels, core)


def _replace(pixels: LatePixels, core: Any) -> None:
    """Replaces late pixels in images that a user has given the attributes of another one."""
    image = sys.modules["PIL.Image"].Image
    for holder in gc.get_referrers(pixels):
        if isinstance(holder, dict):
            for name in ("_im", "im"):  # by the version of Pillow
                if holder.get(name) is pixels:
                    holder[name] = core
        elif isinstance(holder, image) and holder._im is pixels:
            holder._im = core
