"""Plays a scenario: the player, foreign load and limits are started, and follow the schedule."""

from __future__ import annotations

import json
import os
import platform
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from drapps.errors import PipelineError
from drapps.scenario import pictures
from drapps.scenario.burners import Burners
from drapps.scenario.cgroup import Cgroup, CgroupError
from drapps.scenario.conditions import Conditions, Photos, burner_count, cores
from drapps.scenario.contestant import Contestant, Drapps
from drapps.scenario.player_process import Player
from drapps.scenario.reading import load
from drapps.scenario.result import Run, SegmentResult
from drapps.scenario.scenario import Scenario, Segment

Progress = Callable[[str, float, float], None]  # what is done, how far, of how much

_PREPARING = 600.0  # seconds that a player may take until it is ready
_OVERTIME = 180.0  # seconds that a player may take for its result, once its time is over
_LIMITING = 60.0  # seconds that the kernel may take to lower a limit


def play(
    scenario: Scenario | str | os.PathLike[str],
    loader: Contestant | None = None,
    *,
    seconds: float | None = None,
    segment: int | None = None,
    photos: str | os.PathLike[str] | None = None,
    trace: str | os.PathLike[str] | None = None,
    checksums: int = 0,
    progress: Progress = lambda *_: None,
) -> Run:
    """Plays a scenario against a loader, in a process of its own.

    Args:
        scenario: or what `load` takes.
        loader: `Drapps` or `Stock`; DRAPPS with its defaults where absent.
        seconds: that it lasts instead: its schedule is made so much faster or slower. Of a segment
            alone, how long that is played.
        segment: the number of the one that is played alone, from 0.
        photos: a folder of pictures, a folder per class in it; else some are made
            (`drapps.scenario.pictures`).
        trace: a new file into which the loader's decisions are recorded.
        checksums: how many of the first batches are summed.
        progress: is told how far it is.

    Returns:
        What was measured. `Run.skipped` says why a scenario that limits cores or memory could not
        be played here.

    Raises:
        PipelineError: a scenario that makes no sense, or a loader that cannot be made of it; or the
            player ended before its time.
        OSError: files cannot be read or written.
    """
    if not isinstance(scenario, Scenario):
        scenario = load(scenario)
    if seconds is not None and not seconds > 0:
        raise PipelineError(f"seconds={seconds} is no time to play for")
    if segment is not None:
        scenario = scenario.alone(segment, seconds)
    elif seconds is not None:
        scenario = scenario.lasting(seconds)
    loader = loader or Drapps()
    if trace is not None and not isinstance(loader, Drapps):
        raise PipelineError("the stock loader decides nothing that a trace could hold")
    roots = roots_of(scenario, photos, progress)
    spec: dict[str, Any] = {
        "scenario": scenario.to_json(),
        "loader": loader.to_json(),
        "roots": roots,
        "trace": "" if trace is None else os.path.abspath(trace),  # noqa: PTH100
        "checksums": checksums,
    }
    run = Run(spec["scenario"], spec["loader"], loader.label, _machine(), roots)
    with ExitStack() as stack:
        try:
            stage = _Stage(scenario, stack)
            outcome = stage.play(spec, progress)
        except CgroupError as error:
            return Run(**{**vars(run), "skipped": str(error)})
    segments = [SegmentResult(**each) for each in outcome.pop("segments")]
    machine = {**run.machine, "torch": outcome.pop("torch")}
    return Run(**{**vars(run), **outcome, "segments": segments, "machine": machine})


class _Stage:
    """What is there for one run; all of it ends with the stack.

    Raises:
        CgroupError: the scenario needs a cgroup, and none may be made.
    """

    def __init__(self, scenario: Scenario, stack: ExitStack) -> None:
        self._scenario = scenario
        self._stack = stack
        conditions = [segment.conditions for segment in scenario.segments]
        self._group: Cgroup | None = None
        if any(each.quota or each.memory for each in conditions):
            self._group = stack.enter_context(Cgroup(f"drapps-{secrets.token_hex(4)}"))
        most = max(burner_count(each.burners) for each in conditions)
        self._burners = stack.enter_context(Burners(most))

    def play(self, spec: dict[str, Any], progress: Progress) -> dict[str, Any]:
        """Plays what the player is told; returns its result."""
        player = self._player = self._stack.enter_context(Player(self._scenario.name))
        if self._group is not None:
            self._group.take(player.pid)
            self._limit(self._scenario.segments[0].conditions)
        player.send(spec)
        progress("preparing", 0, 1)
        player.expect("ready", _PREPARING)
        player.send({})
        origin = player.expect("began", _PREPARING)["origin"]
        self._become(self._scenario.segments[0].conditions)
        for segment in self._due():
            while (left := origin + segment.begin - time.monotonic()) > 0:
                self._tell(progress, origin)
                if (early := player.event(min(left, 1.0))) is not None:
                    return player.result(early)
            self._become(segment.conditions)
        end = origin + self._scenario.seconds
        while time.monotonic() < end + _OVERTIME:
            self._tell(progress, origin)
            if (event := player.event(1.0)) is not None:
                return player.result(event)
        limit = self._scenario.segments[-1].conditions.memory
        raise PipelineError(
            f"{self._scenario.name}: the loader gave no batch for {_OVERTIME:g} s after the end"
            + (f"; {limit:,} bytes of memory may be too few here: give it more" if limit else "")
        )

    def _due(self) -> Sequence[Segment]:
        """The segments that come at a time."""
        return () if self._scenario.counted == "samples" else self._scenario.segments[1:]

    def _become(self, conditions: Conditions) -> None:
        self._burners.become(burner_count(conditions.burners), conditions.duty)
        if self._group is not None:
            self._limit(conditions)

    def _limit(self, conditions: Conditions) -> None:
        """Lowers or raises limits. To lower that of memory, the kernel first takes memory back."""
        group, failed = self._group, list[CgroupError]()
        assert group is not None

        def limit() -> None:
            try:
                group.limit(cores(conditions.quota), conditions.memory)
            except CgroupError as error:
                failed.append(error)

        limiting = threading.Thread(target=limit, daemon=True)
        limiting.start()
        limiting.join(_LIMITING)
        if limiting.is_alive():
            self._player.kill()  # whose memory is free then
            raise PipelineError(
                f"{self._scenario.name}: the player does not come down to {conditions.memory:,} "
                f"bytes of memory within {_LIMITING:g} s: give it more"
            )
        if failed:
            raise failed[0]

    def _tell(self, progress: Progress, origin: float) -> None:
        seconds = self._scenario.seconds
        progress("playing", min(time.monotonic() - origin, seconds), seconds)


def roots_of(
    scenario: Scenario, photos: str | os.PathLike[str] | None, progress: Progress
) -> list[str]:
    """The folder of pictures: one, or one for each segment where these are counted in samples."""
    workload = scenario.workload
    if not isinstance(workload, Photos):
        if photos is not None:
            raise PipelineError(f"{scenario.name} loads no pictures: leave photos out")
        return []
    scales = list(_scales(scenario))
    if photos is not None:
        if any(scale != 1 for scale in scales):
            raise PipelineError(f"{scenario.name} needs pictures of its own: leave photos out")
        if not any(Path(photos).glob("*/*")):
            raise PipelineError(f"{os.fspath(photos)} holds no folders with pictures")
        return [os.path.abspath(photos)] * len(scales)  # noqa: PTH100
    roots = [
        pictures.ensure(
            round(workload.width * scale**0.5),
            round(workload.height * scale**0.5),
            workload.pictures,
            lambda done, of: progress("making pictures", done, of),
        )
        for scale in scales
    ]
    # What a cgroup of limited memory reads counts as its own only where nobody had it before.
    limited = any(segment.conditions.memory for segment in scenario.segments)
    for root in roots:
        pictures.hold(root, not limited)
    return list(map(str, roots))


def _scales(scenario: Scenario) -> Iterator[float]:
    """Area of the pictures of each folder that is needed."""
    wanted = scenario.segments if scenario.counted == "samples" else scenario.segments[:1]
    return (segment.conditions.pictures for segment in wanted)


def _machine() -> dict[str, Any]:
    import drapps
    from drapps import _core

    limits = json.loads(_core.limits())
    return {"drapps": drapps.__version__, "kernel": platform.release(), **limits}
