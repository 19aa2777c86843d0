"""The steps of a training loop as a loader sees them: from the end of one ``next`` to the next."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from drapps.watching.times import Spread, Timeline

_MOST_PASSES = 200
_WAITED_S = 1e-3  # a shorter wait is none


class Span:
    """From when to when something took place, beside the steps of a loader."""

    __slots__ = ("begun", "ended", "owner", "what")

    def __init__(self, what: str, begun: float, owner: object = None) -> None:
        self.what, self.begun, self.ended, self.owner = what, begun, begun, owner


class LoaderSteps:
    """Counts the steps of one loader; the time of what takes place within a step is apart.

    Attributes:
        about: what is told of the loader.
        training: how many of its batches were taken while gradients were wanted.
    """

    def __init__(self, about: dict[str, Any], begun: float) -> None:
        self.about = about
        self.training = 0
        self.steps, self.waits, self.exposed = Spread(), Spread(), Spread()
        self.body = Spread()
        self.waited = 0
        self.elsewhere = 0  # batches that another thread than the main one took
        self.handover_s = self.making_s = self.queue_s = 0.0
        self.device_known = self.device_busy = 0
        self.apart: dict[str, float] = {}
        self.starts: list[float] = []
        self.gaps: list[float] = []
        self.passes = 0
        self.timeline = Timeline(begun)
        self._ended = 0.0  # of the next() before
        self._begun = 0.0  # of the pass, or of what made its iterator
        self._in_pass = 0
        self._asked = 0.0
        self._body = 0.0

    def begins(self, now: float) -> None:
        """An iterator is made, which may start processes: its pass begins here."""
        self._begun = now

    def asks(self, now: float, spans: Sequence[Span]) -> None:
        """``next`` begins; `spans` are all that may have taken place since the last one ended."""
        self._asked = now
        if not self._in_pass:
            self._begun = self._begun or now
            return
        body = now - self._ended
        for span in spans:
            if span.owner is not self and span.begun >= self._ended:
                seconds = min(span.ended, now) - span.begun
                self.apart[span.what] = self.apart.get(span.what, 0.0) + seconds
                body -= seconds
        self._body = max(0.0, body)

    def gets(self, now: float, exposed: float, training: bool) -> bool:
        """``next`` gave a batch. Returns whether that ends a step; the first of a pass does not."""
        first = not self._in_pass
        self._in_pass += 1
        self.training += training
        if first:
            self._begin_pass(now)
        else:
            wait = now - self._asked
            self.steps.add(self._body + wait)
            self.body.add(self._body)
            self.waits.add(wait)
            self.exposed.add(exposed)
            self.waited += exposed >= _WAITED_S
            self.timeline.add(now, self._body + wait, exposed)
        self._ended = now
        return not first

    def _begin_pass(self, now: float) -> None:
        self.passes += 1
        if self.passes == 1:
            self.starts.append(now - self._begun)
        elif len(self.gaps) < _MOST_PASSES:
            self.gaps.append(now - self._begun)
        self._begun = 0.0

    def ends(self, now: float) -> None:
        """The pass is over."""
        self._in_pass, self._ended, self._begun = 0, now, 0.0

    def facts(self) -> dict[str, Any]:
        """All that was counted, JSON-able."""
        return {
            "about": self.about,
            "training": self.training,
            "elsewhere": self.elsewhere,
            "passes": self.passes,
            "steps": self.steps.facts(),
            "body": self.body.facts(),
            "waits": self.waits.facts(),
            "exposed": self.exposed.facts(),
            "waited_steps": self.waited,
            "handover_s": self.handover_s,
            "making_s": self.making_s,
            "queue_s": self.queue_s,
            "device": {"known": self.device_known, "busy": self.device_busy},
            "apart": dict(self.apart),
            "starts": list(self.starts),
            "gaps": list(self.gaps),
            "timeline": self.timeline.facts(),
        }
