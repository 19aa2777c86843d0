"""Datasets that are Python code, in worker processes."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.utils import data

from drapps.torch import DataLoader
from tests.golden.streams.inputs import COUNT
from tests.golden.streams.lifted import ORDERS, epochs, resumed
from tests.golden.streams.record import Case


class Drawing(data.Dataset[Any]):
    """Samples with numbers that each of the usual generators drew."""

    def __len__(self) -> int:
        return COUNT

    def __getitem__(self, index: int) -> dict[str, Any]:
        return {"index": index, "text": f"sample {index}", **_drawn()}


class Whole(Drawing):
    """Gives whole batches, as some datasets do for speed."""

    def __getitems__(self, indices: list[int]) -> list[dict[str, Any]]:
        return [{**self[index], "row": row} for row, index in enumerate(indices)]


class Remembering(Drawing):
    """Keeps a generator and a counter on itself, as many people write it."""

    def __init__(self) -> None:
        self.rng: Any = None
        self.count = 0

    def __getitem__(self, index: int) -> Any:
        worker = data.get_worker_info()
        if self.rng is None:
            self.rng = np.random.default_rng(worker.seed)
        self.count += 1
        return index, self.count, int(self.rng.integers(1 << 30)), worker.id


class Flow(data.IterableDataset[Any]):
    """A stream, of which each worker gives its part."""

    def __iter__(self) -> Iterator[Any]:
        worker = data.get_worker_info()
        for index in range(worker.id, 2 * COUNT, worker.num_workers):
            yield {"index": index, "worker": worker.id, **_drawn()}


def _drawn() -> dict[str, Any]:
    return {
        "torch": torch.rand(2),
        "numpy": np.random.rand(3),
        "python": random.random(),
    }


def _mark(worker: int) -> None:
    torch.rand(worker + 1)


def _stacked(samples: list[dict[str, Any]]) -> Any:
    rows = torch.stack([sample["torch"] for sample in samples])
    return rows + torch.rand(()), tuple(sample["index"] for sample in samples)


_DATASETS: dict[str, Callable[[], data.Dataset[Any]]] = {
    "map": Drawing,
    "part": lambda: data.Subset(Drawing(), range(22, -1, -2)),
    "whole": Whole,
    "remembering": Remembering,
    "stream": Flow,
}


def _loader(of: str, order: str = "shuffled", **options: Any) -> DataLoader[Any]:
    dataset = _DATASETS[of]()
    chosen = {} if of == "stream" else ORDERS[order](dataset)
    return DataLoader(dataset, **{"batch_size": 4, "num_workers": 2, **chosen, **options})


def _passes(of: str, order: str = "shuffled", **options: Any) -> Case:
    return lambda _root: epochs(_loader(of, order, **options))


def _resumed(of: str, **options: Any) -> Case:
    def batches(_root: Path) -> Iterator[Any]:
        return resumed(lambda: _loader(of, **options))

    return batches


_KINDS: dict[str, Callable[..., Case]] = {"": _passes, "-resumed": _resumed}

CASES: dict[str, Case] = {
    **{f"map-{order}": _passes("map", order) for order in ORDERS},
    **{f"{of}{kind}": make(of) for of in _DATASETS for kind, make in _KINDS.items()},
    **{
        f"{of}-torch-order{kind}": make(of, torch_order=True)
        for of in ("map", "stream")
        for kind, make in _KINDS.items()
    },
    "map-seed": _passes("map", seed=8, num_workers=1),
    "map-persistent": _passes("map", persistent_workers=True),
    "map-single": _passes("map", batch_size=None),
    "map-collated": _passes("map", collate_fn=_stacked),
    "map-initialised": _passes("map", worker_init_fn=_mark),
    "stream-persistent": _passes("stream", persistent_workers=True),
    "stream-single": _passes("stream", batch_size=None),
    "stream-last-dropped": _passes("stream", drop_last=True),
}
