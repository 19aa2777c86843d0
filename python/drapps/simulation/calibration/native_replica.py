"""Replicas of loaders that a `Pipeline` ends in."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from dataclasses import replace

from drapps.batch import Batch
from drapps.loader import Loader
from drapps.report import Stats
from drapps.simulation.calibration.replica import limits_of


class NativeReplica:
    """A replica of a `drapps.Loader`: its source and its description, in another loader."""

    processes = False

    def __init__(self, loader: Loader) -> None:
        self._loader = loader
        self._given = loader.export_settings()
        self.limits: Mapping[str, tuple[int, int]] = limits_of(loader.stats())
        self._replica: Loader | None = None
        self._epoch = 0

    def begin(self, knobs: Mapping[str, int]) -> None:
        """As `Replica.begin`: another loader."""
        settings = {**self._given, "knobs": {**self._given["knobs"], **knobs}}
        resources = replace(self._loader._resources, settings=settings, cache="off")
        self._replica = Loader(self._loader._source, self._loader._spec, resources)
        self._replica.freeze()

    def batches(self) -> Iterator[tuple[int, int]]:
        """As `Replica.batches`."""
        for batch in self.drawn():
            columns = batch.numpy().values()
            first = next(iter(columns))
            yield len(first), sum(column.nbytes for column in columns)
            del batch, columns, first

    def drawn(self) -> Generator[Batch, None, None]:
        """As `Replica.drawn`."""
        assert self._replica is not None
        passing = self._replica.iterate(self._epoch)
        self._epoch += 1
        try:
            yield from passing
        finally:
            passing.close()

    def stats(self) -> Stats:
        """As `Replica.stats`."""
        assert self._replica is not None
        return self._replica.stats()

    def knobs(self) -> dict[str, int]:
        """As `Replica.knobs`."""
        assert self._replica is not None
        return dict(self._replica.export_settings()["knobs"])

    def end(self) -> None:
        """As `Replica.end`."""
        self._replica = None
