"""Recorded runs for other tools: a JSON trace of Perfetto and Chrome, and CSV."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from drapps.output import NewFile
from drapps.trace.entries import (
    Began,
    Decision,
    Entry,
    Frozen,
    PassBegan,
    PolicyRenewed,
    PolicySwapped,
    Stopped,
)
from drapps.trace.reading import Trace

_PROCESS = 1
_DECISIONS = 1  # the track of what was decided; samples have the ones behind


def write_csv(trace: Trace, out: Path) -> tuple[int, int]:
    """A row per decision, a column per number.

    ``time_s``, ``epoch``, the fields of the observation, ``before.*``, ``proposed.*``,
    ``applied.*``, ``held.*``, ``why``, ``fault``.

    Returns:
        Decisions and bytes that were written.

    Raises:
        OSError: `out` exists, or takes no more.
    """
    knobs = [*trace.knobs, *(f"weight.{lane}" for lane in trace.lanes)]
    held = [*trace.knobs, "weights"]
    names = [each.name for each in trace.fields]
    heads = [
        "time_s",
        "epoch",
        *names,
        *(f"{what}.{name}" for what in ("before", "proposed", "applied") for name in knobs),
        *(f"held.{name}" for name in held),
        "why",
        "fault",
    ]

    def lines() -> Iterator[list[Any]]:
        epoch: int | str = ""
        for entry in trace:
            if isinstance(entry, PassBegan):
                epoch = entry.epoch
            if isinstance(entry, Decision):
                settings = (entry.before, entry.proposed, entry.applied)
                yield [
                    f"{entry.time:.6f}",
                    epoch,
                    *(entry.observation[name] for name in names),
                    *(each[name] for each in settings for name in knobs),
                    *(entry.holds.get(name, "") for name in held),
                    entry.why,
                    entry.fault,
                ]

    def text() -> Iterator[str]:
        yield _csv_line(heads)
        yield from map(_csv_line, lines())

    size, count = _write(out, text())
    return count - 1, size


def _csv_line(values: list[Any]) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="\n").writerow(values)
    return line.getvalue()


def write_perfetto(trace: Trace, out: Path) -> tuple[int, int]:
    """A JSON trace: counters, what was decided as instants with its reason, samples as slices.

    A counter of the trace is shown as what it grew by in a second. When within its interval a
    sample was made is not recorded: its lanes stand one behind the other from the beginning on.

    Returns:
        Decisions and bytes that were written.

    Raises:
        OSError: `out` exists, or takes no more.
    """
    events = _Events(trace)

    def text() -> Iterator[str]:
        yield '{"displayTimeUnit":"ms","traceEvents":[\n'
        yield json.dumps(_track(0, "process_name", f"drapps {trace.about.get('path', '')}".strip()))
        yield ",\n" + json.dumps(_track(_DECISIONS, "thread_name", "decisions"))
        for entry in trace:
            for event in events.of(entry):
                yield ",\n" + json.dumps(event)
        yield "\n]}\n"

    size, _ = _write(out, text())
    return events.decisions, size


def _track(number: int, kind: str, name: str) -> dict[str, Any]:
    return {"ph": "M", "pid": _PROCESS, "tid": number, "name": kind, "args": {"name": name}}


class _Events:
    def __init__(self, trace: Trace) -> None:
        self._counters = {each.name for each in trace.fields if each.kind == "counter"}
        self._names = [each.name for each in trace.fields if each.name != "time"]
        self._shown: dict[str, float] = {}
        self._before: Decision | None = None
        self.decisions = 0

    def of(self, entry: Entry) -> Iterator[dict[str, Any]]:
        match entry:
            case Decision():
                self.decisions += 1
                yield from self._decision(entry)
            case Began() | PolicySwapped():
                yield self._instant(entry.time, f"policy {entry.policy}", config=entry.config)
            case PolicyRenewed():
                yield self._instant(entry.time, "the policy has learnt", weights=entry.hash)
            case PassBegan():
                yield self._instant(entry.time, f"epoch {entry.epoch}")
            case Frozen():
                yield self._instant(entry.time, "frozen" if entry.frozen else "free again")
            case Stopped():
                yield self._instant(entry.time, "stopped", why=entry.why)

    def _decision(self, decision: Decision) -> Iterator[dict[str, Any]]:
        for name, (was, value) in decision.moves.items():
            title = f"{name} {was} -> {value}"
            yield self._instant(decision.time, title, why=decision.why, **decision.holds)
        if decision.fault:
            yield self._instant(decision.time, "fault", why=decision.fault)
        if decision.missing:
            return
        before, self._before = self._before, decision
        yield from self._numbers(decision, before)
        if before is not None and before.time < decision.time:
            yield from self._samples(decision, before.time)

    def _numbers(self, decision: Decision, before: Decision | None) -> Iterator[dict[str, Any]]:
        for name in self._names:
            value = float(decision.observation[name])
            if name in self._counters:
                if before is None or decision.time <= before.time:
                    continue
                grown = max(0.0, value - before.observation[name])
                value = round(grown / (decision.time - before.time), 3)
            if self._shown.get(name, 0.0) == value:
                continue
            self._shown[name] = value
            unit = "per second" if name in self._counters else "value"
            yield self._event("C", decision.time, name, args={unit: value})

    def _samples(self, decision: Decision, since: float) -> Iterator[dict[str, Any]]:
        for place, sample in enumerate(decision.samples):
            at = since
            for lane, ns in sample.wall_ns.items():
                about = {
                    "index": sample.index,
                    "position": sample.position,
                    "bytes": sample.bytes,
                    "stands for": round(sample.weight, 2),
                }
                yield self._event("X", at, lane, _DECISIONS + 1 + place, dur=ns * 1e-3, args=about)
                at += ns * 1e-9

    def _instant(self, time: float, name: str, **about: Any) -> dict[str, Any]:
        return self._event("i", time, name, s="t", args=about)

    @staticmethod
    def _event(
        kind: str, time: float, name: str, track: int = _DECISIONS, **more: Any
    ) -> dict[str, Any]:
        at = round(time * 1e6, 3)
        return {"ph": kind, "pid": _PROCESS, "tid": track, "ts": at, "name": name, **more}


def _write(out: Path, text: Iterator[str]) -> tuple[int, int]:
    """Writes the text into a new file; gives its bytes and the number of pieces."""
    file = NewFile(out)
    try:
        count = 0
        for piece in text:
            file.write(piece.encode("utf-8", "backslashreplace"))
            count += 1
        file.appear()
    finally:
        file.discard()
    return file.size, count
