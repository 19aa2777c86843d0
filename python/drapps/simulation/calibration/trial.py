"""Loaders of the same data as the user's, in whose place they are measured.

A trial shares dataset, transforms and storage with the user's loader, and neither its passes, its
order, its generators, its policy nor its cache: nothing that the user's loader goes on from is
touched.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from drapps import _core
from drapps.errors import PipelineError
from drapps.loader import Loader
from drapps.report import Stats

_SEED = 11


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

        if isinstance(loader, drapps.torch.DataLoader):
            return _TorchTrial(loader)
    raise PipelineError(
        f"calibrate() takes a drapps.Loader or a drapps.torch.DataLoader, not {type(loader)!r}"
    )


class _NativeTrial:
    """Of a `drapps.Loader`: its source and its description, in another loader."""

    processes = False

    def __init__(self, loader: Loader) -> None:
        self._loader = loader
        self._given = loader.export_settings()
        self.limits: Mapping[str, tuple[int, int]] = _limits(loader.stats())
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


class _TorchTrial:
    """Of a `drapps.torch.DataLoader`, lifted or in worker processes, in an order of its own."""

    def __init__(self, loader: Any) -> None:
        from torch.utils.data import IterableDataset

        from drapps.torch.starting import in_threads

        if loader.batch_size is None:
            raise PipelineError(
                "calibrate() cannot make batches without taking them from the loader's own "
                "batch_sampler, or without batch_size: give the loader a batch_size"
            )
        self.processes = not loader.lifted().native
        if self.processes and loader.num_workers == 0:
            raise PipelineError(
                "the dataset runs in this process, whose random numbers a trial would take: give "
                "the loader num_workers, and it can be calibrated"
            )
        if self.processes and in_threads(loader):
            raise PipelineError(
                "the dataset runs in threads of this process, which share what it keeps on itself: "
                "leave its thread_safe out, and it can be calibrated"
            )
        self._loader = loader
        self._streams = isinstance(loader.dataset, IterableDataset)
        cores = _core_count()
        if self.processes:
            most = 2 * cores if loader._auto_workers else loader.num_workers
            self.limits: Mapping[str, tuple[int, int]] = {"processes": (1, max(1, most))}
            self._given: dict[str, Any] = json.loads(_core.settings_of_processes(1))
        else:
            twin = self._twin(None)
            self.limits = _limits(twin.stats())
            self._given = twin.export_settings()
        self._trial: Any = None

    def _twin(self, settings: Mapping[str, Any] | None) -> Any:
        import torch

        import drapps.torch

        loader = self._loader
        return drapps.torch.DataLoader(
            loader.dataset,
            loader.batch_size,
            shuffle=None if self._streams else True,
            num_workers="auto" if loader._auto_workers else loader.num_workers,
            collate_fn=loader.collate_fn,
            drop_last=True,
            worker_init_fn=loader.worker_init_fn,
            multiprocessing_context=loader.multiprocessing_context,
            generator=torch.Generator().manual_seed(_SEED),
            persistent_workers=loader.num_workers > 0,
            seed=_SEED,
            cpu_budget=loader.cpu_budget,
            ram_budget=loader.ram_budget,
            on_error=loader.on_error,
            cache="off",
            share_lists=False,
            lift=loader.lift,
            settings=settings,
        )

    def begin(self, knobs: Mapping[str, int]) -> None:
        with warnings.catch_warnings():
            # Torch advises against more workers than cores, which is what is measured.
            warnings.filterwarnings("ignore", message="This DataLoader will create")
            self._trial = self._twin({**self._given, "knobs": {**self._given["knobs"], **knobs}})
        self._trial.freeze()

    def batches(self) -> Iterator[tuple[int, int]]:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="This DataLoader will create")
            passing = iter(self._trial)
        for batch in passing:
            yield self._loader.batch_size, _bytes_of(batch)
            del batch

    def stats(self) -> Stats:
        found: Stats = self._trial.stats()
        return found

    def knobs(self) -> dict[str, int]:
        return dict(self._trial.export_settings()["knobs"])

    def end(self) -> None:
        self._trial = None


def _limits(stats: Stats) -> dict[str, tuple[int, int]]:
    return {name: (int(low), int(high)) for name, (low, high) in stats.limits.items()}


def _bytes_of(batch: Any) -> int:
    """Of the tensors in a batch, however they are nested."""
    import torch

    if isinstance(batch, torch.Tensor):
        return batch.numel() * batch.element_size()
    if isinstance(batch, Mapping):
        return sum(map(_bytes_of, batch.values()))
    if isinstance(batch, (list, tuple)):
        return sum(map(_bytes_of, batch))
    return 0


def _core_count() -> int:
    return len(os.sched_getaffinity(0))
