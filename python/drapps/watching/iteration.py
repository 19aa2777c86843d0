"""What is noted of an iterator: begun, failed and ended around each of its ``next``."""

from __future__ import annotations

import contextlib
import os
import sys
import time
import weakref
from collections.abc import Callable
from functools import wraps
from typing import Any

from drapps.watching.frames import of_user
from drapps.watching.ranges import opened
from drapps.watching.recorder import HERE
from drapps.watching.steps import LoaderSteps, Span

NAMES = ("_drapps_begins", "_drapps_ends", "_drapps_fails")  # what `instrument.around` takes
_steps: dict[Any, tuple[weakref.ref[Any] | None, LoaderSteps]] = {}


def silent(function: Callable[..., None]) -> Callable[..., None]:
    """A hook that ends for good with its first error, which nobody sees."""
    broken = False

    @wraps(function)
    def hook(*arguments: Any) -> None:
        nonlocal broken
        if broken:
            return
        try:
            function(*arguments)
        except Exception:
            broken = True

    return hook


def steps_of(loader: Any, about: Callable[[], dict[str, Any]]) -> LoaderSteps:
    """The steps of a loader of this process, or of all iterators that one line makes.

    Args:
        loader: the loader, or the name of a line.
        about: gives what is told of it, for its first iterator.
    """
    key = loader if isinstance(loader, str) else id(loader)
    recorder = HERE.recorder()
    known = _steps.get(key)
    same = known is not None and known[1] in recorder.loaders
    if known is not None and same and (known[0] is None or known[0]() is loader):
        return known[1]
    steps = LoaderSteps(about(), time.perf_counter())
    try:
        reference = None if isinstance(loader, str) else weakref.ref(loader)
    except TypeError:
        reference = None
    _steps[key] = (reference, steps)
    recorder.loaders.append(steps)
    return steps


def caller() -> str:
    """File and line of the user's code that called."""
    frame = sys._getframe(1)
    while frame.f_back is not None and not of_user(frame.f_code.co_filename):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


class Iteration:
    """One iterator, of which one pass or several are taken.

    Args:
        steps: of its loader.
        ready: gives when a worker had the batch that was just taken ready, if that is known, of
            those that were begun since the time that it gets.
    """

    def __init__(
        self, steps: LoaderSteps, ready: Callable[[float], float | None] = lambda _: None
    ) -> None:
        self.steps = steps
        self._ready = ready
        self._begun = time.perf_counter()
        self._depth = 0
        self._failed: type[BaseException] | None = None
        self._token: Any = None
        self._range: contextlib.ExitStack | None = None
        self._span: Span | None = None
        self._pid = os.getpid()

    def begins(self) -> None:
        """``next`` is called, maybe within itself."""
        if self._pid != os.getpid():
            return
        self._depth += 1
        if self._depth == 1:
            self._failed = None
            self._range = opened()
            recorder = HERE.recorder()
            if self._span is None:
                self._span = recorder.span("validation", self.steps)
            self._token = recorder.asks(self.steps)

    def fails(self) -> None:
        """An exception leaves it."""
        self._failed = sys.exc_info()[0]

    def ends(self) -> None:
        """It has come to its end."""
        if self._pid != os.getpid():
            return
        self._depth -= 1
        if not self._depth and self._range is not None:
            self._range.close()
        if self._depth or self._token is None or self._span is None:
            return
        token, self._token = self._token, None
        recorder = HERE.recorder()
        if self._failed is None:
            recorder.gets(self.steps, token, self._span, lambda: self._ready(self._begun))
        elif issubclass(self._failed, StopIteration):
            recorder.ends(self.steps, self._span)
            self._span, self._begun = None, time.perf_counter()


def hooks_of(make: Callable[[Any], Iteration | None]) -> dict[str, Callable[..., None]]:
    """What is called in an iterator's ``next``, by `NAMES`.

    Args:
        make: gives the iteration of an iterator of which none is known.
    """

    @silent
    def begins(iterator: Any, *_: Any) -> None:
        known = getattr(iterator, "_drapps_watched", None)
        if known is None:
            known = iterator._drapps_watched = make(iterator)
        if known is not None:
            known.begins()

    @silent
    def fails(iterator: Any) -> None:
        iterator._drapps_watched.fails()

    @silent
    def ends(iterator: Any) -> None:
        iterator._drapps_watched.ends()

    return dict(zip(NAMES, (begins, ends, fails), strict=True))
