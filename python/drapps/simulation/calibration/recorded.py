"""The simulator, fitted to runs that were recorded, as `calibrate` fits it to measurements.

A run is cut where a knob moves. Its rates say how fast samples can be made only where the training
waited for them, so that the other pieces are left out; pieces with the same knobs count as one.
What the rest of the machine did meanwhile is not known: it is taken for a part of the machine.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

from drapps.errors import PipelineError
from drapps.simulation.calibration import accelerator
from drapps.simulation.calibration.fit import world_of
from drapps.simulation.calibration.residual import Residual, covered, ranges_of, residual
from drapps.simulation.calibration.stretch import Stretch
from drapps.simulation.worlds import World
from drapps.trace import Began, Decision, LimitsChanged, Trace

_SHORTEST = 0.9  # seconds of a piece
_FEWEST = 4  # batches of a piece
_WAITED = 0.1  # share of the time for which a training waits that could go faster
_PAUSE = 0.1  # share of the time between passes, from which on a piece is left out
_EPOCH = 10_000_000  # samples: where epochs end, recorded runs are cut
_TOO_LONG = 20.0  # seconds between two decisions; something else has happened
_LEAST_SPREAD = 0.05


@dataclass(frozen=True)
class Refit:
    """The simulator, as recorded runs have it.

    Attributes:
        world: by group and name.
        residuals: of the pieces that it was fitted to.
        ranges: between which values they lie.
        left_out: pieces, by why.
    """

    world: World
    residuals: tuple[Residual, ...]
    ranges: Mapping[str, tuple[float, float]]
    left_out: Mapping[str, int]

    @property
    def spread(self) -> float:
        """By how much it is off: the root of the mean square of the logarithms."""
        squares = [math.log1p(each.error) ** 2 for each in self.residuals]
        return max(_LEAST_SPREAD, math.sqrt(sum(squares) / len(squares)))

    def to_json(self) -> dict[str, Any]:
        """Plain dictionaries and lists."""
        return {
            "world": self.world,
            "spread": self.spread,
            "residuals": [
                {"run": each.name, "measured": each.measured, "simulated": each.simulated}
                for each in self.residuals
            ],
            "covered": {name: list(ends) for name, ends in self.ranges.items()},
            "left_out": dict(self.left_out),
        }

    def lines(self) -> Iterator[str]:
        """What there is to say of it."""
        worst = max(self.residuals, key=lambda each: abs(math.log1p(each.error)))
        yield (
            f"the simulator was refitted to {len(self.residuals)} settings, and is off by "
            f"{self.spread:.0%}; most at {worst.name}: {worst.error:+.0%}"
        )
        yield f"  covered: {'; '.join(covered(self.ranges))}; out of that it extrapolates"
        if self.left_out:
            reasons = ", ".join(f"{count} {why}" for why, count in self.left_out.items())
            yield f"  left out of it: {reasons}"


def refitted(files: Sequence[Path]) -> Refit:
    """The world that explains the rates of recorded runs.

    Raises:
        PipelineError: they have no stretch of one setting in which the training waited, or are of
            several kinds of loaders; or a file is no trace.
    """
    pieces: list[Stretch] = []
    steps: list[float] = []
    cores: list[float] = []
    left_out: Counter[str] = Counter()
    for file in files:
        run = _Run(left_out)
        for entry in Trace(file):
            run.take(entry)
        run.cut()
        pieces += run.pieces
        steps += run.steps
        cores += run.cores
    if not pieces:
        reasons = ", ".join(f"{count} {why}" for why, count in left_out.items()) or "they are empty"
        raise PipelineError(
            "the simulator cannot be refitted: the recorded runs have no stretch of one setting in "
            f"which the training waited for samples ({reasons})"
        )
    if len({"processes" in each.knobs for each in pieces}) > 1:
        raise PipelineError(
            "the simulator cannot be refitted: some of the recorded runs are of worker processes, "
            "and others of threads; give one folder for each"
        )
    stretches = _together(pieces)
    world = world_of(stretches, cores={"count": median(cores)}, step=median(steps), samples=_EPOCH)
    eager = {**world, "consumer": {"step": 0.0}}
    residuals = tuple(residual(eager, each) for each in stretches)
    return Refit(world, residuals, ranges_of(stretches), left_out)


def _together(pieces: Sequence[Stretch]) -> list[Stretch]:
    """One stretch for each setting, the longest first."""
    groups: dict[tuple[tuple[str, int], ...], list[Stretch]] = {}
    for each in pieces:
        groups.setdefault(tuple(sorted(each.knobs.items())), []).append(each)
    stretches = []
    for same in groups.values():
        seconds = sum(each.seconds for each in same)
        samples = sum(each.samples for each in same)
        reads = sum(each.reads for each in same)
        middle = max(same, key=lambda each: each.seconds)
        stretches.append(
            replace(
                middle,
                seconds=seconds,
                samples=samples,
                cpu=sum(each.cpu for each in same),
                reads=reads,
                read=sum(each.read * each.reads for each in same) / reads if reads else 0.0,
                kernel=sum(each.kernel for each in same),
                copy=sum(each.copy for each in same),
                copied=sum(each.copied for each in same),
            )
        )
    return sorted(stretches, key=lambda each: -each.seconds)


class _Run:
    """The pieces of one recorded run."""

    def __init__(self, left_out: Counter[str]) -> None:
        self.pieces: list[Stretch] = []
        self.steps: list[float] = []
        self.cores: list[float] = []
        self._left_out = left_out
        self._knobs: tuple[str, ...] = ()
        self._first: Decision | None = None  # of the piece
        self._last: Decision | None = None

    def take(self, entry: Any) -> None:
        if isinstance(entry, Began | LimitsChanged):
            limits = entry.limits
            self._knobs = tuple(name for name, ends in limits.knobs.items() if ends != (0, 0))
            self.cores.append(limits.cpus)
            self.cut()
        if not isinstance(entry, Decision):
            return
        if entry.missing or entry.fault:
            self.cut()
            return
        if self._last is not None and entry.time - self._last.time > _TOO_LONG:
            self.cut()
        self._last = entry
        self._first = self._first or entry
        if entry.moves:
            self.cut()

    def cut(self) -> None:
        first, last = self._first, self._last
        self._first = self._last = None
        if first is None or last is None or last is first:
            return
        grown = {name: last.observation[name] - first.observation[name] for name in _COUNTED}
        seconds = last.time - first.time
        if seconds < _SHORTEST or grown["batches"] < _FEWEST or grown["samples"] <= 0:
            self._left_out["too short"] += 1
            return
        step, stall = grown["consumer.step.sum"], grown["consumer.stall.sum"]
        if grown["consumer.between"] > _PAUSE * seconds * 1e9 or step <= 0:
            self._left_out["with a pause"] += 1
            return
        self.steps.append(max(0.0, step - stall) * 1e-9 / max(1, grown["consumer.step.count"]))
        if stall < _WAITED * step:
            self._left_out["in which the training waited for nothing"] += 1
            return
        self.pieces.append(self._stretch(first, last, grown, seconds))

    def _stretch(
        self, first: Decision, last: Decision, grown: Mapping[str, float], seconds: float
    ) -> Stretch:
        processes = "processes" in self._knobs
        there = tuple(name for name in accelerator.KNOBS if name in self._knobs)
        names = ("processes",) if processes else (*_THREAD_KNOBS, *there)
        lanes = {
            name: spent
            for name in _LANES
            if (spent := _of_lane(first.observation, last.observation, name)) > 0
        }
        samples = int(grown["samples"])
        if processes:
            cpu = grown["processes.demand"] * 1e-9
        else:
            work = [
                last.observation.get(f"{name}.service_cpu.sum", 0)
                - first.observation.get(f"{name}.service_cpu.sum", 0)
                for name in _WORK
            ]
            cpu = (work[0] or sum(work)) * 1e-9  # a fused plan does all of it on one lane
        reads = int(grown["storage.waited.count"])
        return Stretch(
            knobs={name: first.before[name] for name in names},
            seconds=seconds,
            samples=samples,
            batch=samples / grown["batches"],
            cpu=cpu,
            lanes=lanes,
            reads=reads,
            read=grown["storage.waited.sum"] * 1e-9 / reads if reads > 0 else 0.0,
            read_bytes=grown["storage.bytes"] / max(1, reads + grown["storage.at_once.count"]),
            kernel=grown["device.kernel"] * 1e-9,
            copy=grown["device.copy"] * 1e-9,
            copied=grown["device.bytes_in"] + grown["device.bytes_out"],
        )


_THREAD_KNOBS = ("workers", "io_depth", "prefetch_depth", "fused")
_LANES = ("decode", "augment", "collate")
_WORK = ("prepare", "decode", "augment", "tokenise", "collate")
_COUNTED = (
    "batches",
    "samples",
    "consumer.step.sum",
    "consumer.step.count",
    "consumer.stall.sum",
    "consumer.between",
    "processes.demand",
    "storage.bytes",
    "storage.waited.count",
    "storage.waited.sum",
    "storage.at_once.count",
    "device.kernel",
    "device.copy",
    "device.bytes_in",
    "device.bytes_out",
)


def _of_lane(before: Mapping[str, float], after: Mapping[str, float], name: str) -> float:
    """Seconds of a core per sample, on this lane."""
    count, spent = (
        after.get(f"{name}.service_cpu.{part}", 0) - before.get(f"{name}.service_cpu.{part}", 0)
        for part in ("count", "sum")
    )
    return spent * 1e-9 / count if count > 0 else 0.0
