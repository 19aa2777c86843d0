"""The kinds of dataset that are measured, each on its own."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

PINS = Path(__file__).resolve().parent / "requirements"


@dataclass(frozen=True)
class Case:
    """A dataset.

    Attributes:
        environment: the name of the one that all its contestants run in; None is the one that
            measures.
        over_stock: the least wanted over the stock loader, in the first epoch and in later ones.
        over_off: the same over DRAPPS with ``accelerate=False``.
        of_pictures: each chroma sampling is a case of its own.
        rounds: as many for each that is asked for.
    """

    environment: str | None = None
    over_stock: tuple[float | None, float | None] | None = (None, None)
    over_off: tuple[float | None, float | None] = (None, None)
    of_pictures: bool = True
    rounds: float = 1


CASES = {
    "v1": Case(None, (3.5, 4.5), (2.5, 3.5)),
    "v2": Case(None, (3.5, 4.5), (2.5, 3.5)),
    "io": Case("torchvision", (1.8, None)),
    "opencv": Case("albumentations", (1.5, None)),
    "datasets": Case(None, (3.0, 3.5)),
    "numbers": Case(None, None, (None, 0.99), of_pictures=False, rounds=5.4),  # 27
}
