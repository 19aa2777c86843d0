"""Contestant: DRAPPS with a cache of a given budget and form; scenario.md says what it is asked.

    {"seconds": S}  →  {"samples", "seconds", "late_samples", "late_seconds", "cpu_s", …}

The clock begins with the call that makes the loader, so filling is inside; *late* is the last
third.
"""

from __future__ import annotations

import time
import zlib
from typing import Any

import torch  # noqa: F401  (imported before any clock starts)

import drapps
from benchmarks import feed
from benchmarks.storage.child import storage_of

_COMPARED = 2  # batches whose bytes are summed
_LATE = 2 / 3


def _measure(spec: dict[str, Any], seconds: float) -> dict[str, Any]:
    began = time.perf_counter()
    pipeline = drapps.image_folder(spec["root"])
    storage = storage_of(spec)
    if storage is not None:
        pipeline = pipeline.on(storage)
    pipeline = (
        pipeline.decode(depth="scale")
        .random_resized_crop(spec["crop"], pass_order=spec["pass_order"])
        .flip()
        .normalize(spec["mean"], spec["std"])
        .shuffle(spec["seed"])
    )
    kept = {"cache": spec["budget"], "form": spec["form"]} if spec["form"] else {"cache": "off"}
    loader = pipeline.batch(spec["batch"], **kept)
    sums: list[int] = []
    samples = late_samples = 0
    late_from = None
    now = began
    cpu_s = feed.cpu_s()
    while now < began + seconds:
        for batch in loader:
            if len(sums) < _COMPARED:
                sums.append(zlib.crc32(batch.numpy()["image"].data))
            rows = len(batch.torch()["image"])
            now = time.perf_counter()
            samples += rows
            if late_from is not None:
                late_samples += rows
            elif now >= began + seconds * _LATE:
                late_from = now
            if now >= began + seconds:
                break
    forms = loader.explain()["forms"]
    return {
        "samples": samples,
        "seconds": now - began,
        "late_samples": late_samples,
        "late_seconds": now - (late_from or began),
        "cpu_s": feed.cpu_s() - cpu_s,
        "crc32": sums,
        "storage_bytes": loader.stats().storage.bytes,
        "forms": forms,
    }


def _begin(spec: dict[str, Any]) -> feed.Answering:
    return {}, lambda **ask: _measure(spec, **ask)


if __name__ == "__main__":
    feed.converse(_begin)
