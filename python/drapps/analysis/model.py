"""Rates of fetching, preparing and training, and what they would be on other hardware.

The model is that of *Analyzing and Mitigating Data Stalls in DNN Training* (VLDB 2021): with a
share x of a dataset of D bytes and n samples in a cache that reads C bytes/s, and a storage that
reads S bytes/s, fetching gives F(x) = n / (x D/C + (1 - x) D/S) samples/s, and training runs at
min(F, P, G). Here it also knows loaders whose stages take turns: of two stages side by side the
longer counts, of two in turn both do, and a measured overlap says where between these a loader is.
And training may need cores itself: a sample takes no less than the CPU time that all of its stages
need, shared by all cores of the machine. Pure: it measures nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from drapps.errors import PipelineError
from drapps.report.base import Report

MOST_EXTRAPOLATION = 4.0  # of the cores that were measured
DEEP, SHALLOW, SEPARATED = 16, 4, 1.5  # batches of a queue; ratio of two rates
STAGES = ("fetch", "prepare", "training")
_NOISE = 0.05  # of CPU times, so that preparing alone is not more than what it takes


@dataclass(frozen=True)
class Model:
    """What was measured of a training.

    Attributes:
        prepare: pairs of cores that prepare samples, and samples/s with all bytes in memory.
        ingest: pairs of batch size, and samples/s of the training step alone.
        samples: of the dataset.
        sample_bytes: mean bytes that a sample is read from; None where its files are not known:
            then fetching is part of `prepare`.
        storage: bytes/s of the storage at the loader's depth; None where fetching is not known.
        requests: samples/s that the storage answers, however small; None where that is no limit.
        memory: bytes/s of what the cache has; None: no time at all.
        cached: share of the bytes that was in memory while the training ran as it is, 0 to 1.
        cores: that prepare samples as the training is.
        workers: processes that load; 0: the training process does, in turn with its steps.
        depth: batches that may be ready ahead of the training.
        overlap_loading: of fetching and preparing: 1 side by side, 0 in turn.
        overlap_training: of loading and training.
        fresh: as `prepare`, of samples that the loader does not keep by itself: `prepare` is then
            of those that it keeps. Empty where it keeps none.
        kept_bytes: of a sample that it keeps so; None: as many as are read.
        beside_cache: of the bytes that are not in the loader's own memory, the share that the
            system had while the training ran as it is.
        machine_cores: that loading and training share; None where that is not known.
        training_cpu: CPU seconds of a sample's training.
        loading_cpu: CPU seconds of its preparing.
        fresh_cpu: CPU seconds of preparing a sample that the loader does not keep by itself.
    """

    prepare: Sequence[Sequence[float]]
    ingest: Sequence[Sequence[float]]
    samples: int = 0
    sample_bytes: float | None = None
    storage: float | None = None
    requests: float | None = None
    memory: float | None = None
    cached: float = 0.0
    cores: float = 1.0
    workers: int = 1
    depth: int = DEEP
    overlap_loading: float = 1.0
    overlap_training: float = 1.0
    fresh: Sequence[Sequence[float]] = ()
    kept_bytes: float | None = None
    beside_cache: float = 0.0
    machine_cores: float | None = None
    training_cpu: float = 0.0
    loading_cpu: float = 0.0
    fresh_cpu: float = 0.0

    def __post_init__(self) -> None:
        numbers = [each for pair in (*self.prepare, *self.ingest, *self.fresh) for each in pair]
        some = [self.sample_bytes, self.storage, self.requests, self.memory, self.kept_bytes]
        some.append(self.machine_cores)
        numbers += [self.cores, *(each for each in some if each is not None)]
        if not self.prepare or not self.ingest or not all(0 < each < math.inf for each in numbers):
            raise PipelineError("a model needs rates above 0 of preparing and of training")
        shares = (self.cached, self.overlap_loading, self.overlap_training, self.beside_cache)
        if not all(0 <= each <= 1 for each in shares):
            raise PipelineError("the cached share and the overlaps of a model are from 0 to 1")
        times = (self.training_cpu, self.loading_cpu, self.fresh_cpu)
        if not all(0 <= each < math.inf for each in times):
            raise PipelineError("the CPU times of a model are seconds from 0 on")

    @property
    def fetches(self) -> bool:
        """Whether fetching is known apart from preparing."""
        return self.sample_bytes is not None and self.storage is not None

    def to_json(self) -> dict[str, Any]:
        """All of the model, JSON-able."""
        return asdict(self)

    @classmethod
    def from_json(cls, facts: Mapping[str, Any]) -> Model:
        """What `to_json` gave.

        Raises:
            PipelineError: something of it is missing or makes no sense.
        """
        known = {field.name for field in fields(cls)}
        try:
            return cls(**{name: value for name, value in facts.items() if name in known})
        except TypeError as error:
            raise PipelineError(f"this is no model of drapps analyze: {error}") from None


@dataclass(frozen=True, eq=False, repr=False)
class Prediction(Report):
    """How a training would run.

    Attributes:
        fetch: samples/s of fetching alone; None where that is part of preparing.
        prepare: samples/s of preparing alone.
        training: samples/s of the training step alone.
        throughput: samples/s of all together.
        bottleneck: the slowest of the three, ``fetch``, ``prepare`` or ``training``; ``cores``
            where these together need more CPU time than there is.
        stall: share of the time in which the training waits for data, 0 to 1.
        separation: how many times as fast as the slowest stage the next is.
        honest: whether an error of at most a tenth may be expected.
        regime: why so.
    """

    fetch: float | None
    prepare: float
    training: float
    throughput: float
    bottleneck: str
    stall: float
    separation: float
    honest: bool
    regime: str

    def __str__(self) -> str:
        fetch = "" if self.fetch is None else f"fetch {self.fetch:,.0f}, "
        bound = "" if self.honest else f"; {self.regime}"
        return (
            f"{self.throughput:,.0f} samples/s, stall {self.stall:.0%}, bound by {self.bottleneck} "
            f"({fetch}prepare {self.prepare:,.0f}, training {self.training:,.0f}){bound}"
        )


def predict(
    model: Model,
    *,
    cache: float | None = None,
    cores: float | None = None,
    bandwidth: float | None = None,
    accelerator: float = 1.0,
    batch: float | None = None,
    beside: bool | None = None,
) -> Prediction:
    """How a training would run on other hardware.

    Args:
        model: what was measured.
        cache: share of the dataset that is in memory, 0 to 1; by default as it was.
        cores: that prepare samples; by default as many as did. More than the machine has are a
            machine that has them.
        bandwidth: of the storage, in bytes/s; by default as measured.
        accelerator: how many times as fast the training step is.
        batch: its size; by default the first that was measured.
        beside: whether samples are prepared beside the training, not in turn with it; by default
            as it was, and so with more cores than did.

    Raises:
        PipelineError: a number that makes no sense, or lies too far from what was measured.
    """
    read = 1 - model.beside_cache if cache is None else 1.0  # of what the cache has not
    cache = model.cached if cache is None else cache
    cores = model.cores if cores is None else cores
    if not 0 <= cache <= 1:
        raise PipelineError(f"cache={cache:g} must be a share of the dataset, from 0 to 1")
    if not all(0 < each < math.inf for each in (cores, accelerator, bandwidth or 1.0)):
        raise PipelineError("cores, bandwidth and accelerator must be numbers above 0")
    if bandwidth is not None and not model.fetches:
        raise PipelineError(
            "the storage was not measured apart from preparing, so nothing can be predicted for "
            "another bandwidth; analyze it with --data DIR"
        )
    fetch = _fetch_s(model, 1 - read * (1 - cache), bandwidth)
    prepare = _prepare_s(model, cores, cache)
    training = ingest_s(model.ingest, batch) / accelerator
    more = cores > model.cores
    aside = (more and not model.workers) if beside is None else beside
    overlap = 1.0 if aside else model.overlap_training
    within = max(model.overlap_loading, 1 - model.cores / cores) if more else model.overlap_loading
    loading = together(fetch, prepare, within)
    shared = 0.0
    if model.machine_cores is not None:
        there = max(model.machine_cores, cores)
        shared = (model.training_cpu / accelerator + loading_cpu_s(model, cache, cores)) / there
    step = together(loading, training, overlap)
    is_crowded = shared > (1 + _NOISE) * step
    step = shared if is_crowded else step
    spent = dict(zip(STAGES, (fetch, prepare, training), strict=True))
    slowest, second = sorted(spent, key=lambda stage: -spent[stage])[:2]
    separation = spent[slowest] / spent[second] if spent[second] else math.inf
    depth = max(model.depth, int(2 * cores)) if aside and not model.workers else model.depth
    honest, regime = _regime(depth, separation, overlap)
    return Prediction(
        fetch=1 / fetch if fetch else None,
        prepare=1 / prepare,
        training=1 / training,
        throughput=1 / step,
        bottleneck="cores" if is_crowded else slowest,
        stall=1 - training / step,
        separation=separation,
        honest=honest,
        regime=regime,
    )


def together(one: float, other: float, overlap: float) -> float:
    """Seconds of two stages that overlap to a degree, 0 (in turn) to 1 (side by side)."""
    return max(one, other) + (1 - overlap) * min(one, other)


def overlap_of(one: float, other: float, both: float) -> float:
    """The degree at which two stages take `both` seconds together; held to 0 and 1."""
    less = min(one, other)
    return min(1.0, max(0.0, 1 - (both - max(one, other)) / less)) if less > 0 else 1.0


def _prepare_s(model: Model, cores: float, cache: float) -> float:
    """Seconds of preparing a sample, where the loader keeps a share of all in a faster form."""
    if not model.fresh:
        return prepare_s(model.prepare, cores)
    return cache * prepare_s(model.prepare, cores) + (1 - cache) * prepare_s(model.fresh, cores)


def loading_cpu_s(model: Model, cache: float, cores: float) -> float:
    """CPU seconds of preparing a sample, of which the loader keeps a share.

    They grow where several cores take longer together, as those of one physical core do.
    """
    kept = model.loading_cpu * _growth(model.prepare, model.cores, cores)
    if not model.fresh:
        return kept
    fresh = model.fresh_cpu * _growth(model.fresh, model.cores, cores)
    return cache * kept + (1 - cache) * fresh


def _growth(points: Sequence[Sequence[float]], before: float, cores: float) -> float:
    return cores * prepare_s(points, cores) / (before * prepare_s(points, before))


def _fetch_s(model: Model, cache: float, bandwidth: float | None) -> float:
    """Seconds per sample; 0 where fetching is part of preparing."""
    if model.sample_bytes is None or model.storage is None:
        return 0.0
    cached = model.sample_bytes / model.memory if model.memory else 0.0
    stored = model.sample_bytes / (bandwidth or model.storage)
    if model.requests:
        stored = max(stored, 1 / model.requests)
    return cache * cached + (1 - cache) * stored


def prepare_s(points: Sequence[Sequence[float]], cores: float) -> float:
    """Seconds per sample, by Amdahl's law: a part that more cores leave as it is, and the rest.

    With one point alone, more cores shorten all of the time; through several goes the line of
    least squares.

    Raises:
        PipelineError: more than four times the cores that were measured.
    """
    most = max(float(each) for each, _ in points)
    if cores > MOST_EXTRAPOLATION * most:
        raise PipelineError(
            f"{cores:g} cores are more than {MOST_EXTRAPOLATION:g} times the {most:g} that were "
            "measured; measure with more workers first"
        )
    pairs = [(1 / each, 1 / rate) for each, rate in points]
    mean_x = sum(x for x, _ in pairs) / len(pairs)
    mean_y = sum(y for _, y in pairs) / len(pairs)
    spread = sum((x - mean_x) ** 2 for x, _ in pairs)
    if spread == 0:
        return mean_y * (1 / cores) / mean_x
    slope = sum((x - mean_x) * (y - mean_y) for x, y in pairs) / spread
    slope = min(max(slope, 0.0), mean_y / mean_x)  # neither part is less than nothing
    return mean_y + slope * (1 / cores - mean_x)


def ingest_s(points: Sequence[Sequence[float]], batch: float | None) -> float:
    """Seconds per sample of the training step; between two batch sizes its seconds are a line.

    Raises:
        PipelineError: a batch size outside of those that were measured.
    """
    if batch is None:
        return 1 / points[0][1]
    known = sorted((size, size / rate) for size, rate in points)
    for (small, short), (large, long) in zip(known, known[1:] or known, strict=False):
        if small <= batch <= large:
            share = (batch - small) / (large - small) if large > small else 0.0
            return (short + share * (long - short)) / batch
    sizes = " and ".join(f"{size:g}" for size, _ in (known[0], known[-1])[: len(known)])
    raise PipelineError(f"batches of {batch:g} lie outside of what was measured: {sizes}")


def _regime(depth: int, separation: float, overlap: float) -> tuple[bool, str]:
    """Whether the bound is honest: with deep queues, or with stages that are far apart.

    Where times are random, as those of a Poisson process, queues of 4 batches cost up to 15 % of
    the bound with stages as fast as each other, 11 % with the next one 1.2 times as fast, and less
    than 10 % with 1.5; queues of 16 cost 5 % at most.
    """
    if overlap < 0.5:
        return True, "loading and training take turns, so their times add up"
    if depth >= DEEP:
        return True, f"{depth} batches are ready ahead"
    if depth >= SHALLOW and separation >= SEPARATED:
        return True, f"{depth} batches are ready ahead, and one stage is clearly the slowest"
    if depth < SHALLOW:
        why = f"only {depth} batches may be ready ahead"
    else:
        why = f"{depth} batches may be ready ahead, and two stages are about as slow"
    return False, f"an upper bound: {why}"
