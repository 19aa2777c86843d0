"""Contestant: `drapps.text`; scenario.md says what it is asked.

Its argument is ``{"files", "tokenizer", "length", "batch"}``. It answers first with
``{"load_s"}``, how long the tokenizer took to load and to be hashed for states; then commands:

    {"rows": N}                a pass of a new loader, from the files' names to row N
    {"warm": W, "measure": M}  one loader without an end: W tokens, then M by the clock

Both give ``{"samples", "seconds", "cpu_s"}``; a sample is a token.
"""

from __future__ import annotations

import functools
import time
from typing import Any

import torch  # noqa: F401  (imported before any clock starts)

import drapps
from benchmarks import feed
from benchmarks.text.data import EOS
from drapps.corpus.pipeline import PackedPipeline


def packed(spec: dict[str, Any], tokenizer: Any, splits: int | None = None) -> PackedPipeline:
    """The rows of the files; shuffle them or leave their order."""
    return drapps.text(spec["files"]).pack(tokenizer, spec["length"], eos=EOS, splits=splits)


class _Ours:
    def __init__(self, spec: dict[str, Any]) -> None:
        began = time.perf_counter()
        self._spec, self._tokenizer = spec, drapps.tokenizer(spec["tokenizer"])
        assert self._tokenizer.digest  # hashed by its first use, which would be a loader's
        self.load_s = time.perf_counter() - began
        self._endless = iter(self._loader())

    def answer(self, **command: Any) -> dict[str, Any]:
        if "rows" in command:
            return self._pass(command["rows"])
        self._take(command["warm"])
        return self._take(command["measure"])

    def _loader(self, rows: int | None = None) -> Any:
        pipeline = packed(self._spec, self._tokenizer).shuffle(seed=1)
        return pipeline.batch(self._spec["batch"], rows=rows)

    def _pass(self, rows: int) -> dict[str, Any]:
        cpu, began = feed.cpu_s(), time.perf_counter()
        samples = sum(batch.torch()["labels"].numel() for batch in self._loader(rows))
        return _since(began, cpu, samples)

    def _take(self, tokens: int) -> dict[str, Any]:
        cpu, began = feed.cpu_s(), time.perf_counter()
        samples = 0
        while samples < tokens:
            samples += next(self._endless).torch()["labels"].numel()
        return _since(began, cpu, samples)


def _since(began: float, cpu: float, samples: int) -> dict[str, Any]:
    seconds = time.perf_counter() - began
    return {"samples": samples, "seconds": seconds, "cpu_s": feed.cpu_s() - cpu}


def _begin(spec: dict[str, Any]) -> feed.Answering:
    ours = _Ours(spec)
    return {"load_s": ours.load_s}, functools.partial(ours.answer)


if __name__ == "__main__":
    feed.converse(_begin)
