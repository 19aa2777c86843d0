"""What steps would take that were not measured."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from drapps.train.planning.probing import Measured
from drapps.train.precision import Kind

_LEAST_OVERLAP, _MOST_OVERLAP = 1.0, 10.0
_TELLS = 0.05  # share of the longer stage below which the shorter one says nothing of the overlap


@dataclass(frozen=True)
class Recomputing:
    """A step in which as much as possible is recomputed, as shares of the plain one's.

    Attributes:
        peak: share of the plain step's peak, 0 to 1.
        seconds: share of the plain step's seconds, 1 or more.
    """

    peak: float
    seconds: float


@dataclass(frozen=True)
class StepModel:
    """Of steps of one model beside one loader.

    Attributes:
        measured: micro-batches by precision and number of samples.
        recomputing: None where nothing can be recomputed.
        once: seconds that come once a step, however many micro-batches it has: the optimizer's, and
            the exchange of gradients.
        fixed: bytes of parameters, buffers, gradients and the optimizer's state.
        rate: samples a second that the loader makes for each rank.
        overlap: p of T = (T_step^p + T_loader^p)^(1 ÷ p): 1 where one waits for the other, 10 where
            the longer alone counts. Source: Qiao et al., "Pollux", 2021, section 3.2.
        ranks: that train.
    """

    measured: Mapping[Kind, Mapping[int, Measured]]
    recomputing: Recomputing | None
    once: float
    fixed: float
    rate: float
    overlap: float
    ranks: int
    _sizes: Mapping[Kind, list[int]] = field(init=False)

    def __post_init__(self) -> None:
        fitting = {
            kind: sorted(size for size, each in sizes.items() if math.isfinite(each.seconds))
            for kind, sizes in self.measured.items()
        }
        object.__setattr__(
            self, "_sizes", {kind: series for kind, series in fitting.items() if series}
        )

    @property
    def kinds(self) -> list[Kind]:
        """Precisions of which something was measured."""
        return list(self._sizes)

    def largest(self, kind: Kind) -> int:
        """Samples of the largest micro-batch that was measured."""
        return self._sizes[kind][-1]

    def seconds(self, kind: Kind, micro: int) -> float:
        """Of a plain micro-batch."""
        return self._between(kind, micro, "seconds")

    def peak(self, kind: Kind, micro: int) -> float:
        """Bytes that a plain micro-batch adds."""
        return self._between(kind, micro, "peak")

    def step_seconds(self, micro_seconds: float, micro: int, accumulation: int) -> float:
        """Of a whole step, with what it waits for the loader."""
        step = accumulation * micro_seconds + self.once
        loading = micro * accumulation / self.rate if math.isfinite(self.rate) else 0.0
        return combined(step, loading, self.overlap)

    def _between(self, kind: Kind, micro: int, what: str) -> float:
        """Along lines between what was measured, and along the last line beyond."""
        sizes = self._sizes[kind]
        values = [float(getattr(self.measured[kind][size], what)) for size in sizes]
        if len(sizes) == 1:
            return values[0] * micro / sizes[0]
        at = next((n for n in range(1, len(sizes)) if micro <= sizes[n]), len(sizes) - 1)
        slope = (values[at] - values[at - 1]) / (sizes[at] - sizes[at - 1])
        value = values[at] + slope * (micro - sizes[at])
        return max(value, values[0] * min(1.0, micro / sizes[0]))


def combined(step: float, loading: float, overlap: float) -> float:
    """Seconds of a step beside its loading."""
    longer = max(step, loading)
    if longer <= 0:
        return 0.0
    return float(
        longer * ((step / longer) ** overlap + (loading / longer) ** overlap) ** (1 / overlap)
    )


def overlap_of(together: float, step: float, loading: float) -> float:
    """The exponent by which steps and loading of so many seconds each take `together`."""
    if min(step, loading) < _TELLS * max(step, loading):
        return _MOST_OVERLAP
    low, high = _LEAST_OVERLAP, _MOST_OVERLAP
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if combined(step, loading, middle) > together else (low, middle)
    return low


def efficiency(noise: float, samples: float, reference: float) -> float:
    """What a sample of a step of `samples` is worth, of one in a step of `reference`.

    (φ + reference) ÷ (φ + samples) with the noise scale φ; source: as `StepModel.overlap`.
    """
    return (noise + reference) / (noise + samples)
