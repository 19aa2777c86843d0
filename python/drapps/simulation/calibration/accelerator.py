"""What an accelerator takes for samples, from stretches in which it made shares of them.

Each number is one of a sum that is known for each stretch: the CPU time of a sample is what no
accelerator does, and of decoding and augmenting what is done here; the accelerator's time is what
is done there; the time of its copies is that of rows, and where it decodes that of files. The
sums are taken apart by least squares, in which nothing takes less than no time.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from drapps.simulation.calibration.stretch import Stretch
from drapps.simulation.worlds import World

Array = npt.NDArray[Any]
KNOBS = ("decode_on_gpu", "augment_on_gpu")
_WHOLE = 16  # sixteenths
_COPY = 12e9  # bytes/s to the accelerator, where its copies were not counted in bytes
_EXACT = 1e-12  # of the squares: nothing is nearer than that


def shares_of(stretch: Stretch) -> tuple[float, float]:
    """The shares of decoding and augmenting that the accelerator did."""
    decoded, augmented = (stretch.knobs.get(name, 0) / _WHOLE for name in KNOBS)
    return decoded, augmented


def added_to(world: World, stretches: Sequence[Stretch]) -> World:
    """The world with its accelerator, and with the CPU time of its stages as they tell of it.

    It is the same world where the accelerator did nothing in any of them, which tells nothing.

    Args:
        world: fitted to stretches, with what a sample takes in ``decode``, ``augment`` and
            ``collate`` as a whole.
        stretches: of one loader that may place work on an accelerator.
    """
    shares = np.array([shares_of(each) for each in stretches])
    if not shares.any():
        return world
    decoded, augmented = shares.T
    one = np.ones(len(stretches))
    samples = np.array([float(each.samples) for each in stretches])
    cpu = np.array([each.cpu for each in stretches]) / samples
    rest, decode, augment = _parts([one, 1 - decoded, 1 - augmented], cpu, samples)
    there = np.array([each.kernel for each in stretches]) / samples
    decode_there, augment_there = _parts([decoded, augmented], there, samples)
    copying = np.array([each.copy for each in stretches]) / samples
    back = np.maximum(0, decoded - augmented)
    row, file = _parts([1 - decoded + 2 * back, decoded], copying, samples)
    copied = sum(each.copied for each in stretches)
    bandwidth = copied / sum(each.copy for each in stretches) if copied > 0 else _COPY
    workload = dict(world["workload"])
    if row > 0:
        workload["row_bytes"] = max(1.0, row * bandwidth)
    if file > 0 and not world.get("storage"):
        workload["sample_bytes"] = max(1.0, file * bandwidth)
    return {
        **world,
        "gpu": {"count": 1, "copy": bandwidth},
        "workload": workload,
        "decode": {"cpu": decode, "gpu": decode_there},
        "augment": {"cpu": augment, "gpu": augment_there},
        "collate": {"cpu": rest},
    }


def _parts(of: Sequence[Array], sums: Array, weights: Array) -> list[float]:
    """The numbers, 0 at least, whose sums with these factors come nearest to `sums`.

    Of the numbers that may be there, those are that the Bayesian information criterion chooses
    (Schwarz, 1978).
    """
    columns = np.stack(of, axis=1)
    root = np.sqrt(weights / weights.sum())
    best, least = [0.0] * len(of), math.inf
    for count in range(1, len(of) + 1):
        for chosen in itertools.combinations(range(len(of)), count):
            some, *_ = np.linalg.lstsq(columns[:, chosen] * root[:, None], sums * root, rcond=None)
            loss = float(np.square(root * (columns[:, chosen] @ some - sums)).sum())
            loss = max(loss, _EXACT * float(np.square(root * sums).sum()))
            score = len(sums) * math.log(loss) + count * math.log(len(sums)) if loss > 0 else 0.0
            if (some >= 0).all() and score < least:
                least, best = score, [0.0] * len(of)
                for place, value in zip(chosen, some, strict=True):
                    best[place] = float(value)
    return best
