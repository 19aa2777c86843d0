"""Contestant: DRAPPS, with its defaults or with a fixed I/O depth."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Any

import torch  # noqa: F401  (imported before any clock starts, as the stock loader's is)

import drapps
from benchmarks.storage import child

_COMPARED = 2  # batches whose bytes are summed


class DrappsContestant:
    """See `child.Contestant`; with `spec["depth"]` that I/O depth, and no knob moves."""

    group = 1

    def __init__(self, spec: dict[str, Any]) -> None:
        self._sums: list[int] = []
        pipeline = drapps.image_folder(spec["root"])
        storage = child.storage_of(spec)
        if storage is not None:
            pipeline = pipeline.on(storage)
        pipeline = (
            pipeline.random_resized_crop(spec["crop"], pass_order=spec["pass_order"])
            .flip()
            .normalize(spec["mean"], spec["std"])
            .shuffle(spec["seed"])
        )
        self._loader = pipeline.batch(spec["batch"], form="index")
        if spec["depth"]:
            settings = self._loader.export_settings()
            settings["knobs"]["io_depth"] = spec["depth"]
            # Batches that hold so many samples, beside the one that is taken next.
            batches = -(-spec["depth"] // spec["batch"]) + 1
            settings["knobs"]["prefetch_depth"] = max(batches, settings["knobs"]["prefetch_depth"])
            self._loader = pipeline.batch(spec["batch"], settings=settings, form="index")
            self._loader.freeze()

    def batches(self) -> Iterator[int]:
        """Takes batches as torch tensors."""
        while True:
            for batch in self._loader:
                if len(self._sums) < _COMPARED:
                    self._sums.append(zlib.crc32(batch.numpy()["image"].data))
                yield len(batch.torch()["image"])

    def notes(self) -> dict[str, Any]:
        """The first batches' checksums, where the knobs stand, and how they came to stand there."""
        return {
            "crc32": self._sums,
            "knobs": self._loader.export_settings()["knobs"],
            "decisions": [each.to_json() for each in self._loader.explain().decisions.entries],
        }


if __name__ == "__main__":
    child.serve(DrappsContestant)
