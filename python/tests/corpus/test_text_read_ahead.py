"""Text on slow storage: what comes next is read ahead."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("tokenizers")

import drapps
from python.tests.corpus import corpora
from python.tests.corpus.corpora import EOS, rows_of

LENGTH = 64


KINDS = ["blocks", "documents", "arrow", "arrow documents"]


def files_of(kind: str, folder: Path) -> list[Path]:
    """Eight files of thirty documents."""
    if "arrow" in kind:
        pytest.importorskip("pyarrow")
        return [
            corpora.write_arrow(folder / f"{number}.arrow", corpora.documents(30, number), 10)
            for number in range(8)
        ]
    return [
        corpora.write_lines(folder / f"{number}.txt", corpora.documents(30, number))
        for number in range(8)
    ]


@pytest.mark.parametrize("kind", [*KINDS, "mixture"])
def test_a_worker_has_several_reads_of_a_slow_storage_under_way(tmp_path, kind):
    files = files_of(kind, tmp_path)
    pipeline: Any = drapps.text(files)
    if kind == "mixture":
        np.arange(100_000, dtype=np.uint16).tofile(tmp_path / "a.bin")
        tokens = drapps.tokens(tmp_path / "a.bin", dtype="uint16", eos=0)
        pipeline = drapps.mixture([drapps.text(files[0]), tokens], (1, 3))
    tokenizer = drapps.tokenizer(corpora.tokenizer_file())
    order: Any = "documents" if "documents" in kind else "blocks"

    def loader(pipeline: Any) -> Any:
        packed = pipeline.pack(tokenizer, LENGTH, eos=EOS).shuffle(2, order=order)
        settings = packed.batch(4).export_settings()
        settings["knobs"].update(workers=1, prefetch_depth=1)
        return packed.batch(4, rows=160, settings=settings, cache="off")

    slow = loader(pipeline.on(drapps.emulate(latency=0.02)))
    slow.freeze()
    under_way, ended = [0], threading.Event()

    def watch() -> None:
        while not ended.wait(0.002):
            under_way.append(slow.stats().storage.in_flight)

    watcher = threading.Thread(target=watch)
    watcher.start()
    rows = rows_of(slow)
    ended.set()
    watcher.join()
    assert max(under_way) > 1
    assert np.array_equal(rows, rows_of(loader(pipeline)))


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_read_ahead_is_read_once(tmp_path, kind):
    """What is announced are the very ranges that are read."""
    files = files_of(kind, tmp_path)
    tokenizer = drapps.tokenizer(corpora.tokenizer_file())
    order: Any = "documents" if "documents" in kind else "blocks"

    def bytes_of_a_pass(latency: float) -> int:
        pipeline = drapps.text(files).on(drapps.emulate(latency=latency))
        packed = pipeline.pack(tokenizer, LENGTH, eos=EOS).shuffle(2, order=order)
        loader = packed.batch(4, rows="epoch", cache="off")
        assert len(rows_of(loader)) > 0
        return loader.stats().storage.bytes

    bytes_of_a_pass(0.0)  # which counts the rows of an epoch first, and remembers them
    at_once = bytes_of_a_pass(0.0)
    assert at_once > 0
    assert bytes_of_a_pass(0.005) == at_once
