"""What steps amount to: rates, waits and how soon the best was reached. Plain arithmetic.

Times are seconds since the run began. The samples of a step count evenly over the time from the
end of the step before to its own end, so that a rate does not depend on where batches fall.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

BIN = 0.5  # seconds
WINDOW = 2.0  # seconds, in whose rate the best is looked for
NEAR = 0.95  # of the best, which counts as reached


@dataclass
class Steps:
    """The steps of a run, in their order: when each ended, what it waited, its samples."""

    ends: array[float] = field(default_factory=lambda: array("d"))
    waits: array[float] = field(default_factory=lambda: array("d"))
    samples: array[int] = field(default_factory=lambda: array("L"))

    def add(self, end: float, wait: float, samples: int) -> None:
        """Adds a step."""
        self.ends.append(end)
        self.waits.append(wait)
        self.samples.append(samples)


@dataclass(frozen=True)
class Measures:
    """A stretch of a run.

    Attributes:
        rate: samples per second.
        stall_share: of the time, what was waited for batches, 0 to 1.
        p95_wait: seconds that a step waited at most, of 95 % of them; None without a step.
        time_to_best: seconds from the beginning of the stretch to that of the first `WINDOW` whose
            rate is `NEAR` the best one's; None where the stretch is shorter, or nothing came.
    """

    rate: float
    stall_share: float
    p95_wait: float | None
    time_to_best: float | None


def measure(steps: Steps, begin: float, end: float) -> Measures:
    """The stretch from `begin` to `end`; steps belong to it that end in it."""
    import numpy as np

    ends, waits = np.asarray(steps.ends), np.asarray(steps.waits)
    first, last = np.searchsorted(ends, [begin, end], side="right")
    count = np.diff(_taken(steps, [begin, end]))[0]
    since = ends[first - 1] if first else 0.0
    stalled = waits[first:last].sum() / (ends[last - 1] - since) if last > first else 1.0
    return Measures(
        rate=float(count / (end - begin)),
        stall_share=float(min(1.0, stalled)),
        p95_wait=float(np.quantile(waits[first:last], 0.95)) if last > first else None,
        time_to_best=_time_to_best(steps, begin, end),
    )


def bins(steps: Steps, seconds: float) -> list[float]:
    """Samples per second in each `BIN` of a run; what is behind the last whole one is left out."""
    import numpy as np

    edges = np.arange(int(seconds / BIN + 1e-9) + 1) * BIN
    return [float(rate) for rate in np.diff(_taken(steps, edges)) / BIN]


def _time_to_best(steps: Steps, begin: float, end: float) -> float | None:
    import numpy as np

    width = round(WINDOW / BIN)
    edges = begin + np.arange(int((end - begin) / BIN + 1e-9) + 1) * BIN
    taken = _taken(steps, edges)
    windows = taken[width:] - taken[:-width]
    if len(windows) == 0 or windows.max() <= 0:
        return None
    return float(np.argmax(windows >= NEAR * windows.max()) * BIN)


def _taken(steps: Steps, at: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Samples taken up to each of some times."""
    import numpy as np

    ends = np.concatenate([[0.0], np.asarray(steps.ends)])
    counts = np.concatenate([[0.0], np.cumsum(np.asarray(steps.samples, np.float64))])
    taken: np.ndarray[Any, np.dtype[np.float64]] = np.interp(at, ends, counts)
    return taken
