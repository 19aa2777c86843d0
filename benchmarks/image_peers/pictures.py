"""Before any clock starts: are a rival's pictures the same pictures?

A contestant loads the check's photographs by the very pipeline that is timed later, its random
crop bound to the whole picture and its flip to never. Its layout and normalisation are undone, and
the pictures compared with Pillow's of the same files: the errors are in levels of 0…255.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

# Of the distance to other photographs: what is nearer is the same picture by other arithmetic.
_SAME = 0.25


@dataclass(frozen=True)
class Found:
    """How far a contestant's pictures are from Pillow's, and what its arrays are."""

    mean_error: float
    max_error: float
    same: bool
    output: str


def reference(listing: Path, side: int) -> np.ndarray:
    """Pillow's pictures, float32 (N, side, side, 3)."""
    files = [line.rsplit(" ", 1)[0] for line in listing.read_text().splitlines()]
    pictures = []
    for file in files:
        with Image.open(file) as opened:
            whole = opened.convert("RGB").resize((side, side), Image.Resampling.BILINEAR)
        pictures.append(np.asarray(whole, np.float32))
    return np.stack(pictures)


def compare(saved: Path, expected: np.ndarray) -> Found:
    """Compares what a contestant saved."""
    with np.load(saved) as content:
        pictures, output = content["pictures"], str(content["output"])
    errors = np.abs(pictures - expected)
    others = np.abs(pictures - np.roll(expected, 1, axis=0))
    mean = float(errors.mean())
    return Found(mean, float(errors.max()), mean < _SAME * float(others.mean()), output)
