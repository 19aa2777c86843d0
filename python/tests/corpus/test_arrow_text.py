"""Documents in Arrow files: the same rows as from lines, and what is wrong with a file."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest

pytest.importorskip("tokenizers")
pytest.importorskip("pyarrow")

import pyarrow

import drapps
from drapps.errors import PipelineError, SampleError
from python.tests.corpus import corpora
from python.tests.corpus.corpora import EOS, rows_of, write_arrow


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return drapps.tokenizer(corpora.tokenizer_file())


@pytest.fixture(scope="module")
def texts() -> list[str]:
    return corpora.documents(4000)


def packed(files: Any, tokenizer: Any, **options: Any) -> Any:
    return drapps.text(files).pack(tokenizer, 128, eos=EOS, **options)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("dtype", [pyarrow.string(), pyarrow.large_string(), pyarrow.binary()])
@pytest.mark.parametrize("rows", [1, 777, 10_000])
def test_columns_have_the_same_rows_as_lines(texts, tokenizer, tmp_path, stream, dtype, rows):
    some = texts[: 300 if rows == 1 else None]
    lines = corpora.write_lines(tmp_path / "texts.txt", some)
    wanted = rows_of(packed(lines, tokenizer, splits=1).batch(4, rows=200))
    holes: list[str | None] = [None, *some[:20], "", None, *some[20:], None]
    file = write_arrow(tmp_path / "texts.arrow", holes, rows, dtype=dtype, stream=stream)
    assert np.array_equal(rows_of(packed(file, tokenizer, splits=1).batch(4, rows=200)), wanted)


def test_record_batches_of_some_mib_are_several_blocks(texts, tokenizer, tmp_path):
    file = write_arrow(tmp_path / "texts.arrow", texts, 10_000)
    loader = packed(file, tokenizer).shuffle(1).batch(4, rows=400)
    size = sum(map(len, texts))
    assert loader.explain().plan.stages[0]["blocks"] == size // 2**20 > 1
    assert np.array_equal(
        rows_of(loader),
        rows_of(packed(file, tokenizer).shuffle(1).batch(4, rows=400, cpu_budget=1)),
    )


def test_what_datasets_has_saved_is_read(texts, tokenizer, tmp_path):
    datasets = pytest.importorskip("datasets")
    datasets.Dataset.from_dict({"text": texts}).save_to_disk(str(tmp_path / "saved"))
    lines = corpora.write_lines(tmp_path / "texts.txt", texts)
    wanted = rows_of(packed(lines, tokenizer, splits=1).batch(4, rows=400))
    rows = rows_of(packed(tmp_path / "saved", tokenizer, splits=1).batch(4, rows=400))
    assert np.array_equal(rows, wanted)


def test_a_storage_that_is_slow_has_the_same_rows(texts, tokenizer, tmp_path):
    file = write_arrow(tmp_path / "texts.arrow", texts, 500)
    wanted = rows_of(packed(file, tokenizer).shuffle(1).batch(4, rows=200))
    storage = drapps.emulate(latency=0.001, seed=1)
    slow = drapps.text(file).on(storage).pack(tokenizer, 128, eos=EOS).shuffle(1)
    assert np.array_equal(rows_of(slow.batch(4, rows=200)), wanted)


def test_tokens_of_them_are_written(texts, tokenizer, tmp_path):
    from drapps.token_shards.writer import write_tokens

    written = write_tokens(
        tmp_path / "out", write_arrow(tmp_path / "texts.arrow", texts, 500), tokenizer, eos=EOS
    )
    assert written.documents == len(texts)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"compression": "lz4"}, "is compressed"),
        ({"dtype": pyarrow.dictionary(pyarrow.int32(), pyarrow.string())}, "plain strings"),
    ],
)
def test_files_that_are_not_read_say_why(texts, tokenizer, tmp_path, options, message):
    file = write_arrow(tmp_path / "texts.arrow", texts[:100], 50, **options)
    with pytest.raises(PipelineError, match=rf"texts\.arrow.*{message}"):
        packed(file, tokenizer).batch(2)


def test_damaged_files_are_named(texts, tokenizer, tmp_path):
    file = write_arrow(tmp_path / "texts.arrow", texts, 500)
    for wrong, message in (({"field": "id"}, "not of strings"), ({"field": "body"}, "no column")):
        with pytest.raises(PipelineError, match=message):
            drapps.text(file, **wrong).pack(tokenizer, 128, eos=EOS).batch(2)
    whole = file.read_bytes()
    for broken in (whole[: len(whole) // 2], whole[:20], b"", b"no Arrow\n" * 100):
        file.write_bytes(broken)
        with pytest.raises(PipelineError, match=r"texts\.arrow"):
            packed(file, tokenizer).batch(2)
    empty = write_arrow(tmp_path / "empty.arrow", [None, None], 500)
    with pytest.raises(PipelineError, match="no documents"):
        packed(empty, tokenizer).batch(2)


def test_a_file_that_has_changed_is_an_error(texts, tokenizer, tmp_path):
    file = write_arrow(tmp_path / "texts.arrow", texts, 500)
    loader = packed(file, tokenizer).shuffle(1).batch(2)
    os.utime(file, ns=(1, 1))
    with pytest.raises(SampleError, match="no good documents"):
        next(iter(loader))
    bad = loader.bad_samples()[0]
    assert "changed" in bad.message and bad.path == str(file)


def test_strings_outside_of_their_bytes_are_bad(texts, tokenizer, tmp_path):
    file = write_arrow(tmp_path / "texts.arrow", texts[:100], 100)
    with pyarrow.memory_map(str(file)) as mapped:
        whole = mapped.read_buffer()
        batch = pyarrow.ipc.open_file(whole).get_batch(0)
        place = batch.column("text").buffers()[1].address - whole.address
    content = bytearray(file.read_bytes())
    content[place + 40 : place + 44] = (2**31 - 1).to_bytes(4, "little")
    file.write_bytes(content)
    loader = packed(file, tokenizer).on_error("skip").batch(2)
    with pytest.raises(SampleError, match="no good documents"):
        next(iter(loader))
    assert "outside of their bytes" in loader.bad_samples()[0].message
    ordered = packed(file, tokenizer).on_error("skip").shuffle(1, order="documents").batch(1)
    assert len(next(ordered.numpy())["input_ids"]) == 1


def test_text_that_is_not_utf8_is_bad_by_itself(texts, tokenizer, tmp_path):
    good = [text.encode() for text in texts[:1000]]
    column = pyarrow.array([*good[:50], b"\xff\xfe", *good[50:]], pyarrow.binary())
    table = pyarrow.table({"text": column})
    file = tmp_path / "texts.arrow"
    with pyarrow.ipc.new_file(str(file), table.schema) as writer:
        writer.write_table(table)
    lines = corpora.write_lines(tmp_path / "texts.txt", texts[:1000])
    loader = packed(file, tokenizer, splits=1).on_error("skip").batch(1, rows=200)
    wanted = rows_of(packed(lines, tokenizer, splits=1).batch(1, rows=200))
    assert np.array_equal(rows_of(loader), wanted)
    assert "UTF-8" in loader.bad_samples()[0].message
