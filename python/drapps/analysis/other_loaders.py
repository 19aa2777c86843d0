"""Loaders as they are measured that are not torch's: tf.data, Grain, and the builder's."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import os
import sys
import types
from collections.abc import Iterator
from typing import Any

from drapps.analysis.loaders import AnyLoader, Kept, choices_of
from drapps.watching.machine import cores as cores_here

_UNKNOWN_DEPTH = 4  # batches ahead of a prefetch that tf.data sizes by itself
_MOST_FILES = 1_000_000


class TensorflowLoader(AnyLoader):
    """A ``tf.data.Dataset``; others are made of it, with a pool of so many threads of their own."""

    def __init__(self, dataset: Any) -> None:
        super().__init__(dataset)
        chain = list(_chain(dataset))
        names = [type(each).__name__ for each in chain]
        there = cores_here()
        parallel = any("Parallel" in name for name in names)
        ahead = next((each for each in chain if type(each).__name__ == "_PrefetchDataset"), None)
        self.depth = 1 if ahead is None else _constant(ahead, "_buffer_size", _UNKNOWN_DEPTH)
        # What is parallel works ahead, too, and how far is not known.
        self.in_turn = False if names[0] == "_PrefetchDataset" else None if parallel else True
        self.workers = int(there) if parallel else int(ahead is not None)
        self.cores = float(max(1, int(there))) if parallel else 1.0
        self.choices = choices_of(self.cores, there) if self.cores > 1 else (1.0,)
        self.keeps = "CacheDataset" in names
        self.samples, self._length = _samples(chain), _cardinality(dataset)
        self._names = _files(chain)
        self.about |= {"kind": "tf.data", "prefetch": self.depth, "parallel": parallel}

    def files(self) -> list[str]:
        """The files that its sources are made of."""
        return self._names

    def _round(self, cores: float) -> int:
        """As many batches as may have been ready before they were asked for."""
        del cores
        quarter = self._length // 4 if self._length > 0 else self.depth + 1
        return max(1, min(self.depth + 1, quarter))

    def _chosen(self, cores: float) -> Iterator[Any]:
        chosen = self.loader.take(self._most)
        if cores != self.cores:
            options = sys.modules["tensorflow.python.data.ops.options"].Options()
            options.threading.private_threadpool_size = int(cores)
            options.autotune.cpu_budget = int(cores)
            chosen = chosen.with_options(options)
        return self.iterate(chosen)


def _chain(dataset: Any) -> Iterator[Any]:
    """The datasets that one is made of, itself first; behind several inputs, all of them."""
    pending = [dataset]
    while pending:
        each = pending.pop(0)
        yield each
        pending += each._inputs()


def _cardinality(dataset: Any) -> int:
    """How many elements; below 0 where there is no end, or it is not known."""
    return int(dataset.cardinality())


def _constant(dataset: Any, name: str, unknown: int) -> int:
    """A number that a dataset was made with; `unknown` where the library chooses it."""
    value = int(getattr(dataset, name))
    return value if value > 0 else unknown


def _samples(chain: list[Any]) -> int:
    """Samples of a pass over the data; 0 where that is not known."""
    for place, each in enumerate(chain):
        count = _cardinality(each)
        if count > 0:
            for below in chain[place:]:
                if "BatchDataset" in type(below).__name__ and hasattr(below, "_batch_size"):
                    count *= _constant(below, "_batch_size", 1)
            return count
    return 0


def _files(chain: list[Any]) -> list[str]:
    """The files that are named by the sources of a dataset: all of them, or none."""
    paths: list[str] = []
    for source in chain:
        if source._inputs():
            continue
        named = getattr(source, "_filenames", None)
        tensors = getattr(source, "_tensors", ()) if named is None else [named]
        for tensor in tensors:
            if getattr(getattr(tensor, "dtype", None), "name", "") != "string":
                continue
            values = [os.fsdecode(each) for each in tensor.numpy().reshape(-1)[:_MOST_FILES]]
            paths += [each for each in values if os.path.isfile(each)]  # noqa: PTH113 - of many
    return paths


class NativeLoader(AnyLoader):
    """A `drapps.Loader`; others are made like it, with other numbers of cores, of its epoch 0."""

    def __init__(self, loader: Any) -> None:
        super().__init__(loader)
        there = cores_here()
        self.workers, self.cores = int(there), float(max(1, int(there)))
        self.depth, self.in_turn = max(2, self.workers) * 2, False
        self.choices = choices_of(self.cores, there)
        self.samples = loader.dataset_size
        self.keeps = loader._resources.cache != "off"
        self._loaders: dict[float, Any] = {}
        self._indices: list[int] = []
        self.about |= {"kind": "drapps", "native": True}

    def draw(self, batches: int) -> None:
        """The first batches of epoch 0."""
        super().draw(batches)
        self._loaders, self._indices = {}, []

    def kept(self) -> Kept | None:
        """As `AnyLoader.kept`."""
        return Kept.of(self.loader) if self.keeps else None

    def kept_alike(self) -> Kept | None:
        """As `AnyLoader.kept_alike`."""
        loader = self._loaders.get(self.cores)
        return None if loader is None else Kept.of(loader)

    def indices(self) -> tuple[Any, list[Any]]:
        """The paths of its source, and which of them the chosen batches have."""
        paths = getattr(self.loader._source, "_paths", None)
        if paths is None:
            return None, []
        if not self._indices:
            for batch in itertools.islice(self._like_it(self.cores, "off"), self._most):
                self._indices += batch.numpy()["index"].tolist()
        return types.SimpleNamespace(paths=[os.fsdecode(path) for path in paths]), self._indices

    def _round(self, cores: float) -> int:
        return max(1, int(cores))

    def _chosen(self, cores: float) -> Iterator[Any]:
        if self.fresh or not self.keeps:
            return iter(self._like_it(cores, "off"))
        if cores not in self._loaders:
            self._loaders[cores] = self._other(cores, self.loader._resources.cache)
            for _ in itertools.islice(self._loaders[cores].iterate(0), self._most):
                pass  # so that the loader keeps its samples
        return iter(self._loaders[cores].iterate(0))

    def _like_it(self, cores: float, cache: Any) -> Iterator[Any]:
        return iter(self._other(cores, cache).iterate(0))

    def _other(self, cores: float, cache: Any) -> Any:
        loader = self.loader
        form = "auto" if cache == "off" else loader._resources.form
        resources = dataclasses.replace(loader._resources, cpu_budget=cores, cache=cache, form=form)
        return type(loader)(loader._source, loader._spec, resources)


class GrainLoader(AnyLoader):
    """Grain's ``DataLoader``; others are made like it, with other numbers of processes."""

    def __init__(self, loader: Any) -> None:
        super().__init__(loader)
        options = loader.multiprocessing_options
        self.workers, there = options.num_workers, cores_here()
        self.cores = float(max(1, self.workers))
        self.depth = max(1, self.workers * options.per_worker_buffer_size)
        self.in_turn = False if self.workers else None  # whose threads read ahead all the same
        self.choices = choices_of(self.cores, there) if self.workers else (1.0,)
        with contextlib.suppress(TypeError):
            self.samples = len(loader._data_source)
        self.about |= {"kind": "grain", "worker_count": self.workers}

    def _round(self, cores: float) -> int:
        return max(1, int(cores))

    def _chosen(self, cores: float) -> Iterator[Any]:
        loader = self.loader
        if cores != self.cores:
            loader = type(loader)(
                data_source=loader._data_source,
                sampler=loader._sampler,
                operations=loader._operations,
                worker_count=int(cores),
                worker_buffer_size=loader.multiprocessing_options.per_worker_buffer_size,
                shard_options=loader._shard_options,
                read_options=loader._read_options,
            )
        return _closing(self.iterate(loader))


class GrainDataset(AnyLoader):
    """Grain's ``IterDataset``, as it is: how it is divided among processes is part of it."""

    def __init__(self, dataset: Any) -> None:
        super().__init__(dataset)
        processes = [each for each in _below(dataset) if type(each).__name__.startswith("Process")]
        buffers = [getattr(each, "_buffer_size", 1) for each in processes]
        self.workers = len(processes)
        self.cores = float(max(1, self.workers))
        self.choices = (self.cores,)
        self.depth = max(1, sum(buffers))
        self.in_turn = False if processes else None
        self.about |= {"kind": "grain", "worker_count": self.workers}

    def _round(self, cores: float) -> int:
        return max(1, int(cores))

    def _chosen(self, cores: float) -> Iterator[Any]:
        del cores
        return _closing(self.iterate(self.loader))


def _below(dataset: Any) -> Iterator[Any]:
    """The datasets that one of Grain's is made of, itself first."""
    pending = [dataset]
    while pending:
        each = pending.pop()
        yield each
        pending += [*getattr(each, "_parents", ()), *getattr(each, "_datasets", ())]


def _closing(iterator: Any) -> Iterator[Any]:
    """What an iterator gives; its processes end with it, and so their CPU time is counted."""
    try:
        yield from iterator
    finally:
        close = getattr(getattr(iterator, "_iterator", iterator), "close", None)
        if close is not None:
            close()
