"""What is noted of an iterator: begun, failed and ended around each of its ``next``."""

from __future__ import annotations

import contextlib
import os
import sys
import time
import weakref
from collections.abc import Callable, Iterator
from functools import wraps
from types import FrameType
from typing import Any

from drapps.watching.frames import of_user
from drapps.watching.ranges import opened
from drapps.watching.recorder import HERE
from drapps.watching.steps import LoaderSteps, Span

NAMES = ("_drapps_begins", "_drapps_ends", "_drapps_fails")  # what `instrument.around` takes
_steps: dict[Any, tuple[Callable[[], Any], LoaderSteps]] = {}


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

    A loader that is made anew for each pass goes on with the steps of the one before, which is no
    more, and was iterated by the same lines.

    Args:
        loader: the loader, or the name of a line.
        about: gives what is told of it, for its first iterator.
    """
    recorder = HERE.recorder()
    key = loader if isinstance(loader, str) else id(loader)
    named = loader if isinstance(loader, str) else f"{type(loader).__qualname__} {callers()}"
    for known, same in ((_steps.get(key), loader), (_steps.get(named), None)):
        if known is not None and known[1] in recorder.loaders and known[0]() is same:
            steps = known[1]
            break
    else:
        steps = LoaderSteps(about(), time.perf_counter())
        recorder.loaders.append(steps)
    _steps[key] = _steps[named] = (_reference(loader), steps)
    return steps


def _reference(loader: Any) -> Callable[[], Any]:
    """Gives the loader while it lives; None where that is not known, as of a list or a name."""
    try:
        return weakref.ref(loader)
    except TypeError:
        return lambda: None


def _own_frames() -> Iterator[FrameType]:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if of_user(frame.f_code.co_filename):
            yield frame
        frame = frame.f_back


def callers() -> str:
    """File and line of all of the user's code that called."""
    return " ".join(_at(frame) for frame in _own_frames())


def caller() -> str:
    """File and line of the user's code that called; empty where none did."""
    return next(map(_at, _own_frames()), "")


def _at(frame: FrameType) -> str:
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
        """An exception leaves ``next``."""
        self._failed = sys.exc_info()[0]

    def ends(self) -> None:
        """``next`` has come to its end."""
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
        else:
            recorder.watched().phase = "step"


def hooks_of(make: Callable[[Any], Iteration | None]) -> dict[str, Callable[..., None]]:
    """What is called in an iterator's ``next``, by `NAMES`.

    Args:
        make: gives the iteration of an iterator of which none is known; None where it is left
            alone, such as one that was made before anything was watched.
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
        if iterator._drapps_watched is not None:
            iterator._drapps_watched.fails()

    @silent
    def ends(iterator: Any) -> None:
        if iterator._drapps_watched is not None:
            iterator._drapps_watched.ends()

    return dict(zip(NAMES, (begins, ends, fails), strict=True))
