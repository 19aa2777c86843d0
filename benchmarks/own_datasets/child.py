"""What all contestants do in their processes: a loader of the dataset, epoch after epoch."""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch

from benchmarks import feed
from benchmarks.own_datasets.kinds import KINDS


class Child:
    """A loader that is measured.

    Args:
        make: the class of the loader.
        spec: ``listing``: a file of paths; ``kind`` of dataset; ``batch``; ``workers``; ``seed``;
            ``compared``: whether random numbers must be the same under all loaders;
            ``options``: further arguments of the loader.
    """

    def __init__(self, make: Callable[..., Any], spec: dict[str, Any]) -> None:
        paths = Path(spec["listing"]).read_text().splitlines()
        torch.manual_seed(spec["seed"])
        self._loader = make(
            KINDS[spec["kind"]](paths, spec.get("compared", False)),
            batch_size=spec["batch"],
            shuffle=True,
            num_workers=spec["workers"],
            persistent_workers=True,
            **spec.get("options", {}),
        )

    def answer(self, what: str, count: int = 1) -> dict[str, Any]:
        """Does what is asked: ``epochs``, timed, or ``outputs``, a sum of each batch of one."""
        return self._outputs() if what == "outputs" else self._epochs(count)

    def _batches(self) -> Iterator[Any]:
        """What is in each, in order."""
        return (batch.values() if isinstance(batch, dict) else batch for batch in self._loader)

    def _outputs(self) -> dict[str, Any]:
        return {"crc32": [zlib.crc32(each.numpy().data) for each, _ in self._batches()]}

    def _epochs(self, count: int) -> dict[str, Any]:
        samples, gaps, cpu, consumer = 0, [], feed.cpu_s(), time.thread_time()
        began = last = time.perf_counter()
        for _ in range(count):
            for _, targets in self._batches():
                now = time.perf_counter()
                gaps.append(now - last)
                last, samples = now, samples + len(targets)
        return {
            "samples": samples,
            "seconds": time.perf_counter() - began,
            "cpu_s": feed.cpu_s() - cpu,
            "consumer_cpu_s": time.thread_time() - consumer,
            "gaps_s": gaps,
        }


def serve(make: Callable[..., Any]) -> None:
    """Runs the child that the only argument, in JSON, describes, until its input ends."""

    def begin(spec: dict[str, Any]) -> feed.Answering:
        return {}, Child(make, spec).answer

    feed.converse(begin)
