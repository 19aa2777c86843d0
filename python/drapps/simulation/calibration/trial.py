"""Loaders of the same data as the user's, in whose place they are measured.

A trial shares dataset, transforms and storage with the user's loader, and neither its passes, its
order, its generators, its policy nor its cache: nothing that the user's loader goes on from is
touched.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from drapps.errors import PipelineError
from drapps.loader import Loader
from drapps.report import Stats


class Trial(Protocol):
    """A loader that is measured, with knobs that stay.

    Attributes:
        processes: Python code makes its samples, in worker processes.
        limits: by knob, between what it may stand.
    """

    processes: bool
    limits: Mapping[str, tuple[int, int]]

    def begin(self, knobs: Mapping[str, int]) -> None:
        """From now on the knobs stand there."""

    def batches(self) -> Iterator[tuple[int, int]]:
        """A pass: samples and bytes of each batch."""

    def stats(self) -> Stats:
        """Counted since `begin`, or before."""

    def knobs(self) -> dict[str, int]:
        """Where they stand."""

    def end(self) -> None:
        """Stops what runs."""


def trial_of(loader: Any) -> Trial:
    """A trial of a loader.

    Raises:
        PipelineError: it is none of DRAPPS, or one of which no trial can be made without touching
            what it yields; the message says why.
    """
    if isinstance(loader, Loader):
        return _NativeTrial(loader)
    try:
        import torch.utils.data
    except ImportError:
        torch = None  # type: ignore[assignment]
    if torch is not None and isinstance(loader, torch.utils.data.DataLoader):
        import drapps.torch
        from drapps.simulation.calibration.torch_trial import TorchTrial

        if isinstance(loader, drapps.torch.DataLoader):
            return TorchTrial(loader)
    raise PipelineError(
        f"calibrate() takes a drapps.Loader or a drapps.torch.DataLoader, not {type(loader)!r}"
    )


class _NativeTrial:
    """Of a `drapps.Loader`: its source and its description, in another loader."""

    processes = False

    def __init__(self, loader: Loader) -> None:
        self._loader = loader
        self._given = loader.export_settings()
        self.limits: Mapping[str, tuple[int, int]] = limits_of(loader.stats())
        self._trial: Loader | None = None
        self._epoch = 0

    def begin(self, knobs: Mapping[str, int]) -> None:
        settings = {**self._given, "knobs": {**self._given["knobs"], **knobs}}
        options = {**self._loader._options, "settings": settings, "cache": "off"}
        self._trial = Loader(self._loader._source, self._loader._spec, options)
        self._trial.freeze()

    def batches(self) -> Iterator[tuple[int, int]]:
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
        assert self._trial is not None
        return self._trial.stats()

    def knobs(self) -> dict[str, int]:
        assert self._trial is not None
        return dict(self._trial.export_settings()["knobs"])

    def end(self) -> None:
        self._trial = None


def limits_of(stats: Stats) -> dict[str, tuple[int, int]]:
    """By knob, between what it may stand."""
    return {name: (int(low), int(high)) for name, (low, high) in stats.limits.items()}
