"""Replicas of loaders of Python datasets."""

from __future__ import annotations

import json
import warnings
from collections.abc import Generator, Iterator, Mapping
from typing import Any

import torch
from torch.utils.data import IterableDataset

import drapps.torch
from drapps import _core
from drapps.errors import PipelineError
from drapps.report import Stats
from drapps.simulation.calibration.replica import limits_of
from drapps.simulation.calibration.system import core_count
from drapps.torch.starting import in_threads

_SEED = 11


class TorchReplica:
    """A replica of a `drapps.torch.DataLoader`, lifted or in worker processes, in its own order."""

    def __init__(self, loader: Any) -> None:
        if loader.batch_size is None:
            raise PipelineError(
                "calibrate() cannot make batches without taking them from the loader's own "
                "batch_sampler, or without batch_size: give the loader a batch_size"
            )
        self.processes = not loader.lifted().native
        if self.processes and loader.num_workers == 0:
            raise PipelineError(
                "the dataset runs in this process, whose random numbers a replica would take: give "
                "the loader num_workers, and it can be calibrated"
            )
        if self.processes and in_threads(loader):
            raise PipelineError(
                "the dataset runs in threads of this process, which share what it keeps on itself: "
                "leave its thread_safe out, and it can be calibrated"
            )
        self._loader = loader
        self._streams = isinstance(loader.dataset, IterableDataset)
        cores = core_count()
        if self.processes:
            most = 2 * cores if loader._auto_workers else loader.num_workers
            self.limits: Mapping[str, tuple[int, int]] = {"processes": (1, max(1, most))}
            self._given: dict[str, Any] = json.loads(_core.settings_of_processes(1))
        else:
            twin = self._twin(None)
            self.limits = limits_of(twin.stats())
            self._given = twin.export_settings()
        self._replica: Any = None

    def _twin(self, settings: Mapping[str, Any] | None) -> Any:
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
        """As `Replica.begin`: another loader."""
        with warnings.catch_warnings():
            # Torch advises against more workers than cores, which is what is measured.
            warnings.filterwarnings("ignore", message="This DataLoader will create")
            self._replica = self._twin({**self._given, "knobs": {**self._given["knobs"], **knobs}})
        self._replica.freeze()

    def batches(self) -> Iterator[tuple[int, int]]:
        """As `Replica.batches`."""
        for batch in self.drawn():
            yield self._loader.batch_size, _bytes_of(batch)
            del batch

    def drawn(self) -> Generator[Any, None, None]:
        """As `Replica.drawn`."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="This DataLoader will create")
            passing = iter(self._replica)
        yield from passing

    def stats(self) -> Stats:
        """As `Replica.stats`."""
        counts: Stats = self._replica.stats()
        return counts

    def knobs(self) -> dict[str, int]:
        """As `Replica.knobs`."""
        return dict(self._replica.export_settings()["knobs"])

    def end(self) -> None:
        """As `Replica.end`: its workers end with it."""
        self._replica = None


def _bytes_of(batch: Any) -> int:
    """The bytes of the tensors in a batch, however they are nested."""
    if isinstance(batch, torch.Tensor):
        return batch.numel() * batch.element_size()
    if isinstance(batch, Mapping):
        return sum(map(_bytes_of, batch.values()))
    if isinstance(batch, (list, tuple)):
        return sum(map(_bytes_of, batch))
    return 0
