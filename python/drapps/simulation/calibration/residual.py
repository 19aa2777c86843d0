"""What the fitted simulator says of the runs that it was fitted to, and what these have covered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from drapps.simulation.calibration.predict import rate_of
from drapps.simulation.calibration.stretch import Stretch
from drapps.simulation.worlds import World


@dataclass(frozen=True)
class Residual:
    """A stretch that was measured, and what the fitted simulator says of it.

    Attributes:
        condition: what was loaded; empty where there was one thing alone.
        knobs: where they stood.
        measured: samples per second.
        simulated: the same, by the simulator, which is told what others used.
        others: cores that the rest of the machine used meanwhile.
    """

    condition: str
    knobs: Mapping[str, int]
    measured: float
    simulated: float
    others: float

    @property
    def error(self) -> float:
        """By which share the simulator is above the measurement."""
        return self.simulated / self.measured - 1

    @property
    def name(self) -> str:
        """The name of the run, for people."""
        knobs = " ".join(f"{name} {value}" for name, value in self.knobs.items())
        return f"{self.condition}, {knobs}" if self.condition else knobs


def residual(world: World, stretch: Stretch) -> Residual:
    """The residual of a stretch in a world."""
    return Residual(
        stretch.condition,
        stretch.knobs,
        stretch.rate,
        rate_of(world, stretch.knobs, stretch.others),
        stretch.others,
    )


def ranges_of(stretches: Sequence[Stretch]) -> dict[str, tuple[float, float]]:
    """Between which values of each knob, and of samples in a batch, stretches were measured."""
    ranges: dict[str, tuple[float, float]] = {}
    for each in stretches:
        for name, value in {**each.knobs, "batch": each.batch}.items():
            low, high = ranges.get(name, (value, value))
            ranges[name] = (min(low, value), max(high, value))
    return ranges


def covered(ranges: Mapping[str, tuple[float, float]]) -> list[str]:
    """Bounds, for people."""
    return [
        f"{name} {low:g}" if low == high else f"{name} {low:g} to {high:g}"
        for name, (low, high) in ranges.items()
    ]
