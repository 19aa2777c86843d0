"""The knob `processes`: where it stands, whether it may move, what moved it. Outlives passes."""

from __future__ import annotations

import json
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from drapps import _core
from drapps.errors import PipelineError

_ENTRIES = 256  # that are kept


@dataclass
class Standing:
    """The number of processes of a loader whose dataset is Python code.

    Attributes:
        processes: the knob; None where nothing has set it yet.
        frozen: nothing moves it.
        failed: trials in a row that gained nothing.
        cool_until: when the next trial may begin, on the clock of who makes them.
        jumped: the first trial has begun, which starts as many as fill the cores.
        own_state: what its dataset keeps on itself, see `Binding`.
    """

    processes: int | None = None
    frozen: bool = False
    failed: int = 0
    cool_until: float = 0.0
    jumped: bool = False
    own_state: dict[str, bool] = field(default_factory=dict)
    _epoch: int = 0
    _began: float = 0.0
    _decisions: int = 0
    _moves: int = 0
    _noted: int = 0
    _told: set[str] = field(default_factory=set)
    _entries: deque[dict[str, Any]] = field(default_factory=lambda: deque(maxlen=_ENTRIES))

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any] | None) -> Standing:
        """Begins with what `settings` gave.

        Raises:
            PipelineError: the settings are of something else.
        """
        if settings is None:
            return cls()
        try:
            processes = _core.processes_of_settings(json.dumps(settings))
        except (TypeError, ValueError) as error:
            raise PipelineError(f"settings={settings!r}: {error}") from None
        if processes < 1:
            raise PipelineError(f"settings={settings!r} leave no process; give 1 or more")
        return cls(processes, jumped=True)

    def settings(self) -> dict[str, Any]:
        """The knob as it stands; JSON-able.

        Raises:
            PipelineError: no process was started yet.
        """
        if self.processes is None:
            raise PipelineError("there are no settings before the first iter() with workers")
        settings: dict[str, Any] = json.loads(_core.settings_of_processes(self.processes))
        return settings

    def begin(self, epoch: int) -> None:
        """A pass begins."""
        self._epoch, self._began = epoch, time.monotonic()

    def decided(self) -> None:
        """The rule was asked."""
        self._decisions += 1

    def moved(self, before: int, proposed: int, applied: int, why: str, **seen: Any) -> None:
        """The knob was moved; `seen` is what it was moved for."""
        self.processes = applied
        self._moves += 1
        place = {"knob": "processes", "before": before, "proposed": proposed, "applied": applied}
        self._note(place, why, seen)

    def remark(self, why: str, **seen: Any) -> None:
        """Something that moved no knob."""
        self._note(dict.fromkeys(("knob", "before", "proposed", "applied")), why, seen)

    def remark_once(self, why: str) -> bool:
        """A remark that is made once; whether it was new."""
        new = why not in self._told
        if new:
            self._told.add(why)
            self.remark(why)
        return new

    def _note(self, place: dict[str, Any], why: str, seen: dict[str, Any]) -> None:
        self._noted += 1
        time_s = round(time.monotonic() - self._began, 3)
        entry = {"epoch": self._epoch, "time_s": time_s, **place, "why": why, "held": None, **seen}
        self._entries.append(entry)

    def log(self) -> dict[str, Any]:
        """The decision log, in the form of the native one."""
        return {
            "policy": "trials",
            "status": "frozen" if self.frozen else "running",
            "stop_reason": None,
            "totals": {
                "decisions": self._decisions,
                "moves": self._moves,
                "held": 0,
                "dropped": self._noted - len(self._entries),
            },
            "entries": list(self._entries),
        }
