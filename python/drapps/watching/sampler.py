"""A daemon thread that looks some 20 times a second where threads of its process stand."""

from __future__ import annotations

import itertools
import os
import random
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from types import CodeType
from typing import Any

from drapps.watching.frames import Places, frames_of
from drapps.watching.stages import DATASET, STORAGE, TRANSFORM
from drapps.watching.threads import ThreadState, doing

MEAN_S = 0.05
_FIRST_FLUSH_S, _FLUSH_S = 0.5, 4.0
_MOST_LINES = 400
_MOST_OTHERS = 64
_MOST_FAILURES = 20  # one after the other


class Watched:
    """A thread that is looked at.

    Attributes:
        phase: what it does now: ``step`` (the user's code between batches), ``next``, ``items`` or
            ``collate``; None where it is not to be looked at.
        state: of the thread, as the kernel has it.
    """

    def __init__(self) -> None:
        self.ident = threading.get_ident()
        self.native_id = threading.get_native_id()
        self.state = ThreadState(self.native_id)
        self.phase: str | None = None


class Sampler(threading.Thread):
    """Counts in which stage and line the watched threads are.

    The main thread says itself which Python code it is in. Any thread that runs none, or is another
    one, is looked at once this thread has the interpreter.

    Attributes:
        counts: by phase, stage and resource, how often a thread was there.
        lines: by phase, line, text, stage and resource likewise.
    """

    def __init__(self, flush: Callable[[], None]) -> None:
        """Calls `flush` every four seconds, at first more often. It looks once it was started."""
        from drapps._core import MainThreadFrames  # which whoever watches nothing need not load

        super().__init__(name="drapps-watch", daemon=True)
        self.counts: Counter[tuple[str, str, str]] = Counter()
        self.lines: Counter[tuple[str, str, str, str, str]] = Counter()
        self._watched: list[Watched] = []
        self._flush = flush
        self._main = MainThreadFrames()
        self._places = Places()
        self._failures = 0
        self._random = random.Random(os.getpid())  # the user's generators are left alone

    def watch(self) -> Watched:
        """Looks at the calling thread from now on."""
        watched = Watched()
        self._watched = [*self._watched, watched]
        return watched

    def stop(self) -> None:
        """Ends the thread, which nobody waits for longer than a moment."""
        self._main.stop()
        if self.is_alive() and threading.current_thread() is not self:
            self.join(0.3)

    def run(self) -> None:
        """Looks until it is stopped; errors of its own end it, and nothing else."""
        pause = _FIRST_FLUSH_S
        due = time.monotonic() + pause
        while not self._main.wait(MEAN_S * self._random.uniform(0.6, 1.4)):
            done = self._tried(self.look)
            if time.monotonic() >= due:
                done = self._tried(self._flush) and done
                pause = min(_FLUSH_S, 2 * pause)
                due = time.monotonic() + pause
            self._failures = 0 if done else self._failures + 1
            if self._failures == _MOST_FAILURES:
                return

    def _tried(self, function: Callable[[], None]) -> bool:
        try:
            function()
        except Exception:
            return False
        return True

    def look(self) -> None:
        """Looks at each thread once."""
        frames, main, call = sys._current_frames(), self._main.take(), self._main.call()
        for watched in self._watched:
            phase, frame = watched.phase, frames.get(watched.ident)
            if frame is None:  # it has ended
                watched.state.close()
            if phase is None or frame is None:
                continue
            seen: Iterable[tuple[CodeType, int | None, int]]
            is_main = watched.ident == threading.main_thread().ident
            if main is not None and is_main:
                seen, resource = main, "cpu"
            else:
                known = call if is_main else None
                seen, resource = frames_of(frame), watched.state.doing(call=known)
            if phase == "next" and resource in ("lock", "wait"):
                self._look_at_others()
            place = self._places.of(seen, resource)
            if seen is main and place.stage == DATASET:  # Python code of no other stage
                place = place._replace(stage=TRANSFORM)
            self.counts[phase, place.stage, resource] += 1
            key = (phase, place.line, place.text, place.stage, resource)
            if key in self.lines or len(self.lines) < _MOST_LINES:
                self.lines[key] += 1

    def _look_at_others(self) -> None:
        """While ``next`` waits for threads that run no Python code: what these are about."""
        known = {threading.get_native_id(), *(each.native_id for each in self._watched)}
        for task in itertools.islice(os.scandir("/proc/self/task"), _MOST_OTHERS):
            if int(task.name) in known:
                continue
            resource = doing(int(task.name), idle="poll")
            if resource in ("cpu", "io", "fault"):
                stage = DATASET if resource == "cpu" else STORAGE
                self.counts["others", stage, resource] += 1

    def facts(self) -> dict[str, Any]:
        """What was counted, JSON-able."""
        lines = self.lines.copy().most_common(80)
        return {
            "counts": [[*key, count] for key, count in self.counts.copy().items()],
            "lines": [[*key, count] for key, count in lines],
        }
