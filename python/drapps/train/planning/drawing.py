"""Batches to measure with, and how fast their loader makes them when nothing waits for it."""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch

from drapps.batch import Batch
from drapps.errors import PipelineError
from drapps.loader import Loader
from drapps.simulation.calibration.replicas import replica_of
from drapps.train.batches import bytes_of, samples_of

KEPT = 8  # batches
_KEPT_BYTES = 512 << 20
_SECONDS = 3.0  # for which the loader alone is timed
_LEAST = 3  # batches that are timed


@dataclass(frozen=True)
class Drawn:
    """What a loader gave.

    Attributes:
        batches: some of them, as a training loop gets them.
        samples: of each.
        rate: samples a second of the loader alone; infinite where it was not timed.
    """

    batches: list[Any]
    samples: int
    rate: float


def drawn_from(loader: Iterable[Any]) -> Drawn:
    """Batches of one pass, and its rate after the first of them.

    Raises:
        PipelineError: it gave no batch, or cannot be looked at without being moved.
    """
    kept: list[Any] = []
    held = samples = count = 0
    begun = ended = 0.0
    with passing(loader) as batches:
        for batch in batches:
            if len(kept) < KEPT and (not kept or held < _KEPT_BYTES):
                kept.append(batch)
                held += bytes_of(batch)
            ended = time.perf_counter()
            if not count:
                begun = ended
            else:
                samples += samples_of(batch)
            count += 1
            if count > _LEAST and ended - begun > _SECONDS:
                break
    if not kept:
        raise PipelineError("the loader gave no batch, so there is nothing to measure with")
    sizes = [samples_of(each) for each in kept]
    whole = [each for each, size in zip(kept, sizes, strict=True) if size == max(sizes)]
    timed = count > _LEAST and ended > begun
    return Drawn(whole, max(sizes), samples / (ended - begun) if timed else float("inf"))


@contextmanager
def passing(loader: Iterable[Any]) -> Iterator[Iterator[Any]]:
    """A pass over what a loader would give.

    Loaders of DRAPPS are represented by a replica, in an order of its own. Another one has to begin
    anew with each ``iter()``; the random states of torch, NumPy and Python, and the generator of
    the loader, are afterwards what they were. What a dataset draws from a generator of its own in
    this process is not taken back.

    Raises:
        PipelineError: it is an iterator.
    """
    replica = _replica(loader)
    if replica is not None:
        replica.begin({})
        given = replica.drawn()
        try:
            yield map(_plain, given)
        finally:
            given.close()
            replica.end()
        return
    if isinstance(loader, Iterator):
        raise PipelineError(
            "the loader is an iterator, which plan() would use up: give what makes it, such as a "
            "DataLoader"
        )
    with _states_kept(getattr(loader, "generator", None)):
        yield map(_plain, iter(_stock(loader)))


def _replica(loader: Any) -> Any:
    """Of a loader of DRAPPS, where it has one; else None."""
    if not (isinstance(loader, Loader) or _is_torch_loader(loader)):
        return None
    try:
        return replica_of(loader)
    except PipelineError:
        if getattr(loader, "batch_size", None) is None:
            raise
        return None


def _is_torch_loader(loader: Any) -> bool:
    module = sys.modules.get("drapps.torch")
    return module is not None and isinstance(loader, module.DataLoader)


def _stock(loader: Any) -> Any:
    """Another loader of the same dataset, where passes of this one are counted."""
    if not _is_torch_loader(loader):
        return loader
    return torch.utils.data.DataLoader(
        loader.dataset, loader.batch_size, collate_fn=loader.collate_fn
    )


@contextmanager
def _states_kept(generator: torch.Generator | None) -> Iterator[None]:
    """Random states are afterwards what they are now."""
    python, numpy = random.getstate(), sys.modules.get("numpy")
    arrays = None if numpy is None else numpy.random.get_state()
    own = None if generator is None else generator.get_state()
    with torch.random.fork_rng(devices=[]):
        try:
            yield
        finally:
            random.setstate(python)
            if numpy is not None and arrays is not None:
                numpy.random.set_state(arrays)
            if generator is not None and own is not None:
                generator.set_state(own)


def _plain(batch: Any) -> Any:
    if isinstance(batch, Batch):
        return batch.torch()
    return dict(batch) if isinstance(batch, Mapping) else batch
