"""The numbers of a trainer's loader, for its log."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from drapps.adapter import SteeredLoader
from drapps.report.numbers import logged, numbers
from drapps.report.stats import Stats


class LoaderLog:
    """Gives what a loader has counted since the last time that it was asked.

    Attributes:
        loader: whose numbers it gives; None until it is known.
    """

    def __init__(self, loader: SteeredLoader | None = None) -> None:
        """Makes it; without a loader, `find` says whose."""
        self.loader = loader
        self._given = loader is not None
        self._before: tuple[Stats, float] | None = None

    def find(self, loaders: Any) -> None:
        """Takes the first loader of this package that a trainer loads from, unless one was given.

        A ``RuntimeWarning`` says where there is none.
        """
        if self._given:
            return
        loader = next(_steered(loaders), None)
        if loader is not self.loader:
            self.loader, self._before = loader, None
        if loader is None:
            warnings.warn(
                "no numbers of the loader are logged: the trainer loads from none of DRAPPS "
                f"({type(loaders).__name__}); give it, StatsCallback(loader=…)",
                RuntimeWarning,
                stacklevel=2,
            )

    def take(self) -> dict[str, float]:
        """The numbers since the last call, by the names that a log has; none before a batch."""
        if self.loader is None:
            return {}
        stats, now = self.loader.stats(), time.monotonic()
        if not stats.batches:  # of Python code without workers nothing is counted
            return {}
        before, then = self._before if self._before is not None else (None, now)
        self._before = stats, now
        return logged(numbers(stats, before, now - then))


def _steered(loaders: Any) -> Iterator[SteeredLoader]:
    """The loaders in what Accelerate has wrapped, and in what Lightning takes several in."""
    inner = getattr(loaders, "base_dataloader", loaders)
    if isinstance(inner, SteeredLoader):
        yield inner
        return
    several: Iterable[Any] = ()
    if isinstance(inner, Mapping):
        several = inner.values()
    elif isinstance(inner, (list, tuple)):
        several = inner
    for each in several:
        yield from _steered(each)
