"""Where the tiles of a class lie in its photograph: pure geometry, the same for the same seed.

1. The photograph is cut once across its long side. The smaller part, at one end, is kept for the
   held-out tiles and the larger one for the training tiles, so that no pixel is in both.
2. A tile is a box of TILE times r pixels at a random place of its part, reduced by r to TILE. The
   reduction r is drawn between a share of the largest that fits and that largest one: reduced
   photographs have detail in every pixel, as pictures taken to be looked at small have.
3. Boxes have whole-pixel edges and a tile is made from its box alone, so that the resampling
   filter cannot reach over the cut either.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

TILE = (500, 375)
HELDOUT_SHARE = 0.35
LEAST_REDUCTION_SHARE = 0.6

Box = tuple[int, int, int, int]  # left, top, right, bottom: pixels, right and bottom exclusive


@dataclass(frozen=True)
class ClassTiles:
    """The boxes of one class."""

    train: tuple[Box, ...]
    heldout: tuple[Box, ...]


def plan_class(name: str, size: tuple[int, int], train: int, heldout: int, seed: int) -> ClassTiles:
    """Places a class's tiles in a photograph of `size` (width, height).

    Raises ValueError when a part of the photograph is smaller than a tile.
    """
    draw = random.Random(f"{seed}:{name}")
    heldout_part, train_part = _parts(size, first=draw.random() < 0.5)
    return ClassTiles(
        train=tuple(_box(train_part, draw) for _ in range(train)),
        heldout=tuple(_box(heldout_part, draw) for _ in range(heldout)),
    )


def _parts(size: tuple[int, int], first: bool) -> tuple[Box, Box]:
    """The held-out part, at the left or top end when `first`, and the training part."""
    width, height = size
    across = width >= height
    length, tile = (width, TILE[0]) if across else (height, TILE[1])
    kept = max(round(length * HELDOUT_SHARE), tile)
    cut = kept if first else length - kept
    low, high = (0, cut), (cut, length)
    heldout, train = (low, high) if first else (high, low)

    def part(span: tuple[int, int]) -> Box:
        return (span[0], 0, span[1], height) if across else (0, span[0], width, span[1])

    return part(heldout), part(train)


def _box(part: Box, draw: random.Random) -> Box:
    left, top, right, bottom = part
    largest = min((right - left) / TILE[0], (bottom - top) / TILE[1])
    if largest < 1:
        raise ValueError(f"a part of {right - left} by {bottom - top} pixels holds no tile")
    reduction = draw.uniform(max(1.0, LEAST_REDUCTION_SHARE * largest), largest)
    width, height = int(TILE[0] * reduction), int(TILE[1] * reduction)
    x = draw.randint(left, right - width)
    y = draw.randint(top, bottom - height)
    return (x, y, x + width, y + height)
