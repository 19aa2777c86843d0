"""Times the stock loader at several `num_workers`, and DRAPPS where nothing holds it up."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from demo import feeds
from demo.train import Emit, Trainer


def run(spec: dict[str, Any], emit: Emit) -> None:
    """Times each of `spec["workers"]` for `spec["seconds"]`, with a training step and with none.

    Emits a `rate` event for each in samples/s, the last one for DRAPPS without a step.
    """
    torch.manual_seed(spec["seed"])
    dataset = feeds.training_set(Path(spec["root"]))
    trainer = Trainer(len(dataset.classes), 1_000_000)
    emit({"event": "ready"})

    def nothing(images: torch.Tensor, labels: torch.Tensor) -> None:
        del images, labels

    for job, step in (("train", trainer.step), ("load", nothing)):
        for workers in spec["workers"]:
            loader = feeds.loader("stock", dataset, workers, train=True)
            rate = _rate(loader, step, spec["seconds"], round_of=max(1, workers))
            emit({"event": "rate", "job": job, "workers": workers, "rate": rate})
    rate = _rate(feeds.loader("drapps", dataset, 0, train=True), nothing, spec["seconds"], 4)
    emit({"event": "rate", "job": "drapps", "workers": 0, "rate": rate})


def _rate(loader: Any, step: Callable[..., object], seconds: float, round_of: int) -> float:
    """Samples/s after a warm-up, over whole rounds, as workers deliver a batch each in turn."""
    batches = samples = 0
    begin = 0.0
    while True:
        for batch in loader:
            if batches > 2 * round_of:
                samples += len(batch[1])
            step(*batch)
            batches += 1
            if batches == 2 * round_of + 1:
                begin = time.perf_counter()
            elapsed = time.perf_counter() - begin
            if samples and batches % round_of == 0 and elapsed > seconds:
                return samples / elapsed
