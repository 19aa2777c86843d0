"""What is recorded in a process, and left in a folder for whoever tells of it.

No call of this module raises, waits, or gives anything but what it was given: an error in it ends
the recording.
"""

from __future__ import annotations

import atexit
import json
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from drapps.watching.device import Idleness
from drapps.watching.machine import Machine
from drapps.watching.making import Making
from drapps.watching.sampler import Sampler, Watched
from drapps.watching.steps import LoaderSteps, Span
from drapps.watching.threads import ThreadMeter

_SPANS = 32


class Recorder:
    """What this process does with loaders, from the first one on.

    Attributes:
        folder: where it is left.
        idleness: of the device.
        loaders: their steps.
    """

    def __init__(self, folder: Path) -> None:
        """Starts a thread."""
        self.folder = folder
        self.idleness = Idleness()
        self.loaders: list[LoaderSteps] = []
        self.hooked: dict[str, str] = {}
        self._pid = os.getpid()
        self._spans: list[Span] = []
        self._local = threading.local()
        self._making: list[Making] = []
        self._machine = Machine()
        self._begun = time.perf_counter()
        self._sources: list[Callable[[], dict[str, Any] | None]] = []
        self._sampler = Sampler(self.leave)
        self._sampler.start()
        atexit.register(self.close)

    @property
    def of_this_process(self) -> bool:
        """Whether it was made here, and not in the process that this is a fork of."""
        return self._pid == os.getpid()

    def watched(self) -> Watched:
        """The calling thread, as the sampler knows it."""
        thread: Watched | None = getattr(self._local, "watched", None)
        if thread is None:
            thread = self._local.watched = self._sampler.watch()
        return thread

    def making(self) -> Making:
        """What the calling thread makes."""
        making: Making | None = getattr(self._local, "making", None)
        if making is None:
            making = self._local.making = Making(self._sampler)
            self._making.append(making)
        return making

    def span(self, what: str, owner: object = None) -> Span:
        """Something begins that is no part of a step; its end moves on with `Span.ended`."""
        span = Span(what, time.perf_counter(), owner)
        self._spans = [*self._spans[1 - _SPANS :], span]
        return span

    def tells(self, source: Callable[[], dict[str, Any] | None]) -> None:
        """Has facts added of a loader that counts for itself."""
        self._sources.append(source)

    def _queue_s(self) -> float:
        meter: ThreadMeter | None = getattr(self._local, "meter", None)
        if meter is None:
            meter = self._local.meter = ThreadMeter()
        return meter.queue_s()

    def asks(self, steps: LoaderSteps) -> tuple[float, float, Any]:
        """``next`` of a loader begins; give what it returns to `gets`."""
        asked = self.idleness.begin()
        watched = self.watched()
        watched.phase = "next"
        now = time.perf_counter()
        steps.asks(now, self._spans)
        return now, self._queue_s(), asked

    def gets(
        self,
        steps: LoaderSteps,
        token: tuple[float, float, Any],
        span: Span,
        ready: Callable[[], float | None],
    ) -> None:
        """``next`` gave a batch.

        Args:
            steps: of its loader.
            token: of `asks`.
            span: of the pass.
            ready: gives when a worker had it ready; None where that is not known.
        """
        now = time.perf_counter()
        begun, queued, asked = token
        exposed = self.idleness.end(asked, begun, now)
        torch = sys.modules.get("torch")
        training = bool(torch.is_grad_enabled()) if torch is not None else True
        steps.elsewhere += threading.current_thread() is not threading.main_thread()
        steps.device_known += asked is not None
        steps.device_busy += asked is not None and asked.busy
        if steps.gets(now, exposed, training) and exposed > 1e-4:
            steps.queue_s += self._queue_s() - queued
            at = ready()
            if at is not None:
                handed = min(exposed, now - max(at, begun))
                steps.handover_s += max(0.0, handed)
                steps.making_s += exposed - max(0.0, handed)
        span.ended = time.perf_counter()
        self.watched().phase = "step"

    def ends(self, steps: LoaderSteps, span: Span) -> None:
        """The pass is over."""
        span.ended = time.perf_counter()
        steps.ends(span.ended)
        self.watched().phase = "step"

    def facts(self) -> dict[str, Any]:
        """All that was recorded, JSON-able."""
        own = [facts for source in self._sources if (facts := source()) is not None]
        return {
            "pid": self._pid,
            "parent": _parent(),
            "rank": _number("RANK"),
            "seconds": time.perf_counter() - self._begun,
            "hooked": dict(self.hooked),
            "loaders": [each.facts() for each in list(self.loaders)],
            "making": [each.facts() for each in list(self._making)],
            "own": own,
            "seen": self._sampler.facts(),
            "machine": self._machine.facts(),
        }

    def leave(self) -> None:
        """Writes the facts, where there are any, under the process's number."""
        if not self.of_this_process or not (self.loaders or self._making):
            return
        unfinished = self.folder / f"{self._pid}.unfinished"
        unfinished.write_text(json.dumps(self.facts()), encoding="utf-8")
        unfinished.rename(self.folder / f"{self._pid}.json")

    def close(self) -> None:
        """Writes the facts for the last time."""
        if not self.of_this_process:
            return
        try:
            self._sampler.stop()
            self.leave()
        except Exception:
            return


def _parent() -> int:
    """The process that made this one: of worker processes not their fork server."""
    import multiprocessing.process

    parent = multiprocessing.process.parent_process()
    return os.getppid() if parent is None or parent.pid is None else parent.pid


def _number(name: str) -> int | None:
    value = os.environ.get(name, "")
    return int(value) if value.isdigit() else None


class Here:
    """The recorder of the process that asks; a fork has one of its own.

    Attributes:
        folder: where processes leave what they record; None before anything is watched.
    """

    def __init__(self) -> None:
        self.folder: Path | None = None
        self._recorder: Recorder | None = None
        self.hooked: dict[str, str] = {}

    def recorder(self) -> Recorder:
        """The recorder of this process, made at the first call.

        Raises:
            RuntimeError: nothing is watched.
        """
        recorder = self._recorder
        if recorder is None or not recorder.of_this_process:
            if self.folder is None:
                raise RuntimeError("nothing is watched in this process")
            recorder = self._recorder = Recorder(self.folder)
            recorder.hooked = self.hooked
        return recorder

    def ring_path(self, number: int) -> Path:
        """Where the times of the batches of an iterator of this process lie."""
        assert self.folder is not None
        return self.folder / f"{os.getpid()}-{number}.ring"


HERE = Here()
