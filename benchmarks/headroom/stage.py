"""Runs, each in a process of its own, kept as they come."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.headroom.candidates import Settings
from benchmarks.journal import Journal
from drapps.scenario import Drapps, Run, Scenario, play
from drapps.scenario.conditions import Photos

LEAD = 2.0  # seconds of a search's run that are left out: starting, and filling queues
_BIN = 0.5  # seconds of each of Run.rates


class SkippedError(Exception):
    """The scenario cannot be played here; the message says why."""


class Stage:
    """Plays scenarios on these pictures.

    Args:
        journal: of what has been measured.
        photos: a folder of pictures, for scenarios that do not say what theirs are like.
        traces: a folder for traces of runs with the default settings.
    """

    def __init__(self, journal: Journal, photos: Path, traces: Path) -> None:
        self._journal = journal
        self._photos = photos
        self._traces = traces

    def searched(
        self, scenario: Scenario, number: int, settings: Settings, seconds: float, time: int
    ) -> float:
        """Samples/s of a segment alone with held settings.

        Raises:
            SkippedError: it cannot be played here.
        """
        key = (scenario.key(number), dict(settings), seconds, time)
        rate: float | None = self._journal.get(*map(str, key))
        if rate is None:
            run = play(
                scenario,
                Drapps(settings=settings),
                seconds=LEAD + seconds,
                segment=number,
                photos=self._photos_for(scenario),
            )
            rate = rate_between(_played(run), LEAD, LEAD + seconds)
            self._journal.keep(*map(str, key), result=rate)
        return rate

    def run(self, scenario: Scenario, arm: str, loader: Drapps, number: int) -> Run:
        """A whole scenario, for the `number`-th time.

        Raises:
            SkippedError: it cannot be played here.
        """
        key = (scenario.name, arm, str(loader.to_json()), number)
        kept: dict[str, Any] | None = self._journal.get(*key)
        if kept is None:
            trace = self._traces / f"{scenario.name}-{number}.trace" if arm == "default" else None
            if trace is not None:
                trace.parent.mkdir(parents=True, exist_ok=True)
                trace.unlink(missing_ok=True)  # of a run that was interrupted
            photos = self._photos_for(scenario)
            kept = _played(play(scenario, loader, photos=photos, trace=trace)).to_json()
            self._journal.keep(*key, result=kept)
        return Run.from_json(kept)

    def _photos_for(self, scenario: Scenario) -> Path | None:
        usual = Photos(batch=scenario.workload.batch)
        sizes = {segment.conditions.pictures for segment in scenario.segments}
        return self._photos if scenario.workload == usual and sizes == {1} else None


def rate_between(run: Run, begin: float, end: float) -> float:
    """Samples/s from one time of a run to another."""
    bins = run.rates[round(begin / _BIN) : round(end / _BIN)]
    return sum(bins) / len(bins)


def rates_of(run: Run) -> Sequence[float]:
    """Samples/s of each segment; 0 for one that was not reached."""
    reached = [each.rate for each in run.segments]
    return reached + [0.0] * (len(run.scenario["segments"]) - len(reached))


def _played(run: Run) -> Run:
    if run.skipped:
        raise SkippedError(run.skipped)
    return run
