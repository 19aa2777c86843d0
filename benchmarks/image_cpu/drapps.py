"""Contestant: DRAPPS with its defaults, giving torch tensors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch  # noqa: F401  (imported before any clock starts, as the stock loader's is)

import drapps
from benchmarks import feed
from benchmarks.image_cpu.epochs import Epochs


def loader(spec: dict[str, Any]) -> drapps.Loader:
    """The pipeline of the scenario over the folder `spec["root"]`."""
    return (
        drapps.image_folder(spec["root"])
        .random_resized_crop(spec["crop"], pass_order=spec["pass_order"])
        .flip()
        .normalize(spec["mean"], spec["std"])
        .shuffle(spec["seed"])
        .batch(spec["batch"])
    )


class DrappsFeed:
    """See `feed.Feed`; `spec["stage"]` is one of `epochs.STAGES`."""

    group = 1

    def __init__(self, spec: dict[str, Any]) -> None:
        self._epochs = Epochs(lambda: loader(spec), spec["stage"])
        self._pass: Any = None  # that the last batch is of
        self._ended = 0.0  # kernel CPU of the passes before it
        self._running = 0.0  # and of it

    def batches(self) -> Iterator[int]:
        """Takes batches as torch tensors."""
        for batch in self._epochs.batches():
            if self._pass is not self._epochs.current:
                self._ended, self._pass = self._ended + self._running, self._epochs.current
            self._running = self._pass._stream._native.counters()["kernel_cpu_s"]
            yield len(batch.torch()["image"])

    def counters(self) -> dict[str, float]:
        """CPU time inside kernels, from the samples that were timed."""
        return {"kernel_cpu_s": self._ended + self._running}

    def close(self) -> None:
        """Ends the pass."""
        self._epochs.current.close()


if __name__ == "__main__":
    feed.serve(DrappsFeed)
