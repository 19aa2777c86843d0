"""When the device had nothing to do: a wait for data counts from there on.

An event is recorded on the device when ``next`` begins. It completes when all that was launched
before has; a wait that is over by then has cost nothing. A helper thread polls the event, so that
nothing is asked of the thread that waits.
"""

from __future__ import annotations

import queue
import sys
import threading
import time
from typing import Any, Protocol

_FIRST_S, _MOST_S = 50e-6, 1e-3  # between two polls


class Event(Protocol):
    """What was recorded on a device."""

    def query(self) -> bool:
        """Whether all that was launched before it is done."""


class Device(Protocol):
    """Something that works beside the training loop."""

    def record(self) -> Event:
        """An event behind all that was launched until now."""


class Cuda:
    """The current stream of torch's current CUDA device."""

    def record(self) -> Event:
        """An event on the current stream."""
        event: Event = sys.modules["torch"].cuda.Event()
        event.record()  # type: ignore[attr-defined]
        return event


class EmulatedDevice:
    """A device that is not there: work is launched at once, and done one after the other later."""

    def __init__(self) -> None:
        self._free = 0.0

    def launch(self, seconds: float) -> None:
        """Adds so many seconds of work."""
        self._free = max(self._free, time.perf_counter()) + seconds

    def ahead_s(self) -> float:
        """Seconds of work that it still has."""
        return max(0.0, self._free - time.perf_counter())

    def synchronize(self) -> None:
        """Waits until all is done."""
        while left := self.ahead_s():
            time.sleep(left)

    def record(self) -> Event:
        """An event behind what was launched."""
        return _Until(self._free)


class _Until:
    def __init__(self, end: float) -> None:
        self._end = end

    def query(self) -> bool:
        return time.perf_counter() >= self._end


class Asked:
    """An event of one ``next``.

    Attributes:
        busy: the device had something to do when it was asked.
        idle_at: when it was seen to be done; None while it is not.
        over: ``next`` has ended.
    """

    __slots__ = ("busy", "event", "idle_at", "over")

    def __init__(self, event: Event) -> None:
        self.event = event
        self.busy = not event.query()
        self.idle_at: float | None = None
        self.over = False


class Idleness:
    """Says, of a wait, which part of it the device stood idle."""

    def __init__(self) -> None:
        self._given: Device | None = None
        self._queue: queue.SimpleQueue[Asked] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    def use(self, device: Device) -> None:
        """Asks this device from now on."""
        self._given = device

    def begin(self) -> Asked | None:
        """A wait begins; None where no device works beside the loop."""
        device = self._given or _cuda()
        if device is None:
            return None
        asked = Asked(device.record())
        if asked.busy:
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._poll, name="drapps-watch-device", daemon=True
                )
                self._thread.start()
            self._queue.put(asked)
        return asked

    def end(self, asked: Asked | None, begun: float, ended: float) -> float:
        """Seconds of the wait in which the device had nothing to do."""
        if asked is None or not asked.busy:
            return ended - begun
        asked.over = True
        if asked.idle_at is None and not asked.event.query():
            return 0.0
        # Where the thread that polls has not seen it, it became idle at an unknown time.
        return max(0.0, ended - (begun if asked.idle_at is None else asked.idle_at))

    def _poll(self) -> None:
        while True:
            asked = self._queue.get()
            pause = _FIRST_S
            while not asked.over:
                if asked.event.query():
                    asked.idle_at = time.perf_counter()
                    break
                time.sleep(pause)
                pause = min(_MOST_S, 2 * pause)


def _cuda() -> Device | None:
    cuda: Any = sys.modules.get("torch.cuda")
    if cuda is None or not cuda.is_initialized():
        return None
    return Cuda()
