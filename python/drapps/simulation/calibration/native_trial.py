"""Trials of loaders that a `Pipeline` ends in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from drapps.loader import Loader
from drapps.report import Stats
from drapps.simulation.calibration.trial import limits_of


class NativeTrial:
    """Of a `drapps.Loader`: its source and its description, in another loader."""

    processes = False

    def __init__(self, loader: Loader) -> None:
        self._loader = loader
        self._given = loader.export_settings()
        self.limits: Mapping[str, tuple[int, int]] = limits_of(loader.stats())
        self._trial: Loader | None = None
        self._epoch = 0

    def begin(self, knobs: Mapping[str, int]) -> None:
        """As `Trial.begin`: another loader."""
        settings = {**self._given, "knobs": {**self._given["knobs"], **knobs}}
        options = {**self._loader._options, "settings": settings, "cache": "off"}
        self._trial = Loader(self._loader._source, self._loader._spec, options)
        self._trial.freeze()

    def batches(self) -> Iterator[tuple[int, int]]:
        """As `Trial.batches`."""
        assert self._trial is not None
        passing = self._trial.iterate(self._epoch)
        self._epoch += 1
        try:
            for batch in passing:
                columns = batch.numpy().values()
                first = next(iter(columns))
                yield len(first), sum(column.nbytes for column in columns)
                del batch, columns, first
        finally:
            passing.close()

    def stats(self) -> Stats:
        """As `Trial.stats`."""
        assert self._trial is not None
        return self._trial.stats()

    def knobs(self) -> dict[str, int]:
        """As `Trial.knobs`."""
        assert self._trial is not None
        return dict(self._trial.export_settings()["knobs"])

    def end(self) -> None:
        """As `Trial.end`."""
        self._trial = None
