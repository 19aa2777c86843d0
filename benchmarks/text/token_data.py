"""Token ids in files: what was tokenised before, in the forms that the contestants read.

build/bench/text/tokens-SIZE/train.bin    uint16, ids alone
build/bench/text/tokens-SIZE/litdata/     the same ids, as LitData's TokensLoader reads them
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import feed
from benchmarks.text.data import PLACE

VOCABULARY = 50257  # GPT-2's
CUT, FULL = 20_000_000, 200_000_000  # ids
_CHUNK = 8 << 20  # ids of one of LitData's files
_WRITTEN = 1 << 20


def ensure(ids: int, length: int) -> Path:
    """The folder with both, made on its first use; LitData's files hold whole rows and a label."""
    folder = PLACE / f"tokens-{ids}-{length}"
    if not folder.exists():
        new = folder.with_suffix(".part")
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir(parents=True)
        draw = np.random.default_rng(1)
        draw.integers(0, VOCABULARY, ids).astype(np.uint16).tofile(new / "train.bin")
        _write_litdata(new, length + 1)
        new.replace(folder)
    return folder


def _write_litdata(folder: Path, block: int) -> None:
    from litdata import TokensLoader, optimize

    optimize(
        fn=_tensors,
        inputs=[str(folder / "train.bin")],
        output_dir=str(folder / "litdata"),
        chunk_size=_CHUNK // block * block,
        item_loader=TokensLoader(block_size=block),
        num_workers=1,
    )


def _tensors(file: str) -> Iterator[Any]:
    import torch

    ids = np.memmap(file, dtype=np.uint16, mode="r")
    for begin in range(0, len(ids), _WRITTEN):
        yield torch.from_numpy(ids[begin : begin + _WRITTEN].astype(np.int32))


def take(batches: Iterator[Any], tokens: int) -> dict[str, Any]:
    """Batches, each of ids and labels, until there were so many tokens."""
    cpu, began, samples = feed.cpu_s(), time.perf_counter(), 0
    while samples < tokens:
        _, labels = next(batches)
        samples += labels.numel()
    seconds = time.perf_counter() - began
    return {"samples": samples, "seconds": seconds, "cpu_s": feed.cpu_s() - cpu}


def answering(batches: Iterator[Any]) -> feed.Answering:
    """What answers ``{"warm": W, "measure": M}``, in tokens."""

    def answer(warm: int, measure: int) -> dict[str, Any]:
        take(batches, warm)
        return take(batches, measure)

    return {}, answer
