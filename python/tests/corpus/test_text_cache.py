"""What is kept of files of text and of tokens: the same rows, from fewer reads."""

from __future__ import annotations

import gc
import os
import time
from typing import Any

import numpy as np
import pytest

pytest.importorskip("tokenizers")

import drapps
from drapps.errors import PipelineError, SampleError
from python.tests.corpus import corpora
from python.tests.corpus.corpora import EOS, rows_of

LENGTH = 128


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return drapps.tokenizer(corpora.tokenizer_file())


@pytest.fixture(scope="module")
def lines(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lines")
    return corpora.write_lines(folder / "texts.txt", corpora.documents(4000))


def epochs(loader: Any, count: int = 3) -> list[Any]:
    """The ids of all batches."""
    ids = []
    for epoch in range(count):
        loader.set_epoch(epoch)
        ids += [batch["input_ids"] for batch in loader.numpy()]
    return ids


def reads(make: Any, **options: Any) -> tuple[list[Any], int, dict[str, Any]]:
    """The rows of three epochs, the reads behind the first, and what is said of the cache."""
    time.sleep(0.05)  # what was changed less than 20 ms ago is not kept
    storage = drapps.emulate(latency=0.001, seed=1)
    loader = make(storage).batch(4, **options)
    first = epochs(loader, 1)
    before = storage.stats()["reads"]
    again = epochs(loader)
    same(again[: len(first)], first)
    return again, storage.stats()["reads"] - before, loader.explain()["forms"]["cache"]


def same(some: list[Any], others: list[Any]) -> None:
    for one, other in zip(some, others, strict=True):
        assert np.array_equal(one, other)


@pytest.mark.parametrize("kind", ["packed", "padded", "by number", "jsonl.zst"])
def test_blocks_are_read_once(lines, tokenizer, tmp_path, kind):
    file = lines
    if kind == "by number":  # each document is a read
        file = corpora.write_lines(tmp_path / "texts.txt", corpora.documents(400))
    if kind == "jsonl.zst":
        objects = corpora.json_lines(corpora.documents(4000))
        file = corpora.write_zstd(tmp_path / "a.jsonl.zst", objects, 1 << 16)

    def make(storage: Any) -> Any:
        text = drapps.text(file).on(storage)
        if kind == "padded":
            return text.tokenise(tokenizer, LENGTH, eos=EOS).pad().shuffle(1)
        packed = text.pack(tokenizer, LENGTH, eos=EOS)
        return packed.shuffle(1, order="documents") if kind == "by number" else packed.shuffle(1)

    kept, few, cache = reads(make, rows="epoch")
    plain, many, _ = reads(make, rows="epoch", cache=1)
    same(kept, plain)
    assert many > 0 == few
    assert cache["hits"] > 0 < cache["bytes"]


def test_rows_of_tokens_are_read_once(tmp_path):
    np.arange(100_000, dtype=np.uint16).tofile(tmp_path / "a.bin")

    def make(storage: Any) -> Any:
        tokens = drapps.tokens(tmp_path / "a.bin", dtype="uint16")
        return tokens.pack(LENGTH, labels="none").on(storage).shuffle(1)

    kept, few, cache = reads(make)
    plain, many, _ = reads(make, cache=1)
    same(kept, plain)
    assert many > 0 == few
    assert cache["hits"] > 0


def test_many_small_rows_leave_the_memory_to_others(tmp_path):
    with (tmp_path / "a.bin").open("wb") as file:
        file.truncate(3_000_000 * 16 * 2)
    tokens = drapps.tokens(tmp_path / "a.bin", dtype="uint16").pack(16, labels="none")
    gc.collect()  # loaders of other tests
    loader = tokens.batch(8, cache="32MiB")
    next(iter(loader))
    assert loader.explain()["forms"]["cache"]["bytes"] < 16 << 20


def test_a_file_that_changes_is_not_read_from_the_cache(tokenizer, tmp_path):
    file = corpora.write_lines(tmp_path / "texts.txt", corpora.documents(500))
    storage = drapps.emulate(latency=0.001)
    loader = drapps.text(file).on(storage).pack(tokenizer, LENGTH, eos=EOS).batch(4, rows=80)
    rows_of(loader)
    content = file.read_bytes()
    file.write_bytes(content[: len(content) // 2])
    os.utime(file, (1, 1))
    with pytest.raises(SampleError, match="no good data"):
        rows_of(loader)


def test_arguments(lines, tokenizer):
    packed = drapps.text(lines).pack(tokenizer, LENGTH, eos=EOS)
    assert "cache" not in packed.batch(4, rows=8, cache="off").explain()["forms"]
    with pytest.raises(PipelineError, match="cache="):
        packed.batch(4, rows=8, cache="on")
