"""What is measured in the place of the user's loader.

A replica shares dataset, transforms and storage with the user's loader, and neither its passes, its
order, its generators, its policy nor its cache: nothing that the user's loader goes on from is
touched.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from typing import Any, Protocol

from drapps.report import Stats


class Replica(Protocol):
    """A loader that is measured, with knobs that stay.

    Attributes:
        processes: Python code makes its samples, in worker processes.
        limits: by knob, between what it may stand.
    """

    processes: bool
    limits: Mapping[str, tuple[int, int]]

    def begin(self, knobs: Mapping[str, int]) -> None:
        """From now on the knobs stand as `knobs` says."""

    def batches(self) -> Iterator[tuple[int, int]]:
        """A pass: samples and bytes of each batch."""

    def drawn(self) -> Generator[Any, None, None]:
        """A pass: the batches, as the loader gives them."""

    def stats(self) -> Stats:
        """Counted since `begin`, or before."""

    def knobs(self) -> dict[str, int]:
        """Where they stand."""

    def end(self) -> None:
        """Stops what runs."""


def limits_of(stats: Stats) -> dict[str, tuple[int, int]]:
    """The least and the most value of each knob."""
    return {name: (int(low), int(high)) for name, (low, high) in stats.limits.items()}
