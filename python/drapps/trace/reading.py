"""Reading and replaying traces."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from drapps import _core
from drapps.errors import PipelineError
from drapps.trace.entries import (
    Began,
    Decision,
    Ended,
    Entry,
    Field,
    Frozen,
    Limits,
    LimitsChanged,
    PassBegan,
    PolicyRenewed,
    PolicySwapped,
    Sample,
    Stopped,
)


class Trace:
    """A recorded run. Each ``iter()`` reads the file anew, an entry at a time.

    It is read by the lists in its own header, whatever version recorded it.

    Attributes:
        path: of the file.
        fields: what every observation holds.
        knobs, lanes: what settings hold: knobs by name, and ``weight.<lane>``.
        about: what the loader ran when the recording began; ``about["plan"]`` is the plan of
            `explain`, with the machine and the budgets.
        started: when the recording began, in seconds since 1970.
        schema: the hash of all lists; a trace of another one is not replayed.
        note: how a trace ended that was not closed, as ``the trace was cut off …``; known when an
            iteration has come to its end, and empty where all is well.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        core = self._open()
        header = json.loads(core.header)
        self.fields = tuple(
            Field(each["name"], each["unit"], each["source"], each["kind"])
            for each in header["fields"]
        )
        self.knobs: tuple[str, ...] = tuple(header["knobs"])
        self.lanes: tuple[str, ...] = tuple(header["lanes"])
        self.schema: str = header["schema"]
        self.started: float = header["wall_ns"] * 1e-9
        self.about: dict[str, Any] = _object(core.about)
        self.note = ""
        self._began_ns: int = header["time_ns"]
        self._names = [each.name for each in self.fields]
        self._settings = [*self.knobs, *(f"weight.{lane}" for lane in self.lanes)]
        missing = [name for name in self._settings if f"settings.{name}" not in self._names]
        if missing or "time" not in self._names:
            raise PipelineError(
                f"{self.path}: its observations lack {', '.join(missing) or 'time'}"
            )

    def _open(self) -> _core.Trace:
        try:
            return _core.Trace(os.fsencode(self.path))
        except ValueError as error:
            raise PipelineError(str(error)) from None

    def __iter__(self) -> Iterator[Entry]:
        core = self._open()
        while True:
            try:
                read = core.next()
            except ValueError as error:
                raise PipelineError(f"{self.path}: {error}") from None
            if read is None:
                self.note = core.note
                return
            kind, body = read
            yield _ENTRIES[kind](self, body)

    def seconds(self, time_ns: int) -> float:
        """Seconds from the beginning of the recording to a time of the monotonic clock."""
        return (time_ns - self._began_ns) * 1e-9

    def _named(self, values: Sequence[int]) -> dict[str, int]:
        return dict(zip(self._settings, values, strict=True))

    def _decision(self, body: Mapping[str, Any]) -> Decision:
        observation = dict(zip(self._names, body["values"], strict=True))
        held = zip([*self.knobs, "weights"], body["holds"], strict=True)
        samples, seen = body["samples"], body["samples_seen"]
        return Decision(
            time=self.seconds(int(observation["time"]) or body["guard_ns"]),
            observation=observation,
            guard_time=self.seconds(body["guard_ns"]),
            before={name: int(observation[f"settings.{name}"]) for name in self._settings},
            proposed=self._named(body["proposed"]),
            applied=self._named(body["applied"]),
            holds={name: hold for name, hold in held if hold},
            why=body["why"],
            fault=body["fault"],
            samples=tuple(Sample(**each, weight=seen / len(samples)) for each in samples),
        )

    def _began(self, body: Mapping[str, Any]) -> Began:
        return Began(
            self.seconds(body["time_ns"]),
            body["policy"],
            _json(body["config"]),
            _limits(body),
            body["frozen"],
            body["stopped"],
        )

    def _swapped(self, body: Mapping[str, Any]) -> PolicySwapped:
        return PolicySwapped(self.seconds(body["time_ns"]), body["policy"], _json(body["config"]))


_ENTRIES: dict[str, Callable[[Trace, Mapping[str, Any]], Entry]] = {
    "decision": Trace._decision,
    "began": Trace._began,
    "swapped": Trace._swapped,
    "renewed": lambda trace, body: PolicyRenewed(trace.seconds(body["time_ns"]), body["hash"]),
    "limits": lambda _, body: LimitsChanged(_limits(body)),
    "frozen": lambda trace, body: Frozen(trace.seconds(body["time_ns"]), body["frozen"]),
    "pass": lambda trace, body: PassBegan(trace.seconds(body["time_ns"]), body["epoch"]),
    "stopped": lambda trace, body: Stopped(trace.seconds(body["time_ns"]), body["why"]),
    "ended": lambda trace, body: Ended(trace.seconds(body["time_ns"]), body["decisions"]),
}


def _limits(body: Mapping[str, Any]) -> Limits:
    return Limits(body["limits"], tuple(body["weighted"]), body["cpus"])


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _object(text: str) -> dict[str, Any]:
    read = _json(text)
    return read if isinstance(read, dict) else {}


def open(path: str | os.PathLike[str]) -> Trace:  # noqa: A001
    """The trace in a file.

    Raises:
        PipelineError: it is no trace, one of another format, or one without a whole header. What is
            wrong behind the header is raised where an iteration comes to it; a file that was cut
            off is no error, and `Trace.note` says so.
        OSError: the file cannot be read.
    """
    return Trace(path)


@dataclass(frozen=True)
class Replay:
    """What came of deciding again.

    Attributes:
        decisions: that were recorded.
        equal: those that came out as they were: proposal, settings applied, holds and reason.
        first_difference: of the first one that did not; empty where all did.
        note: as `Trace.note`.
    """

    decisions: int
    equal: int
    first_difference: str
    note: str


def replay(path: str | os.PathLike[str]) -> Replay:
    """Decides again what was decided, by the recorded policy behind the recorded guard.

    Raises:
        PipelineError: the trace is of another version's knobs, lanes or observations, its policy
            cannot be made here, or as `open`.
        OSError: the file cannot be read.
    """
    try:
        return Replay(**_core.replay_trace(os.fsencode(path)))
    except ValueError as error:
        raise PipelineError(f"{os.fspath(path)}: {error}") from None
