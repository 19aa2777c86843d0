"""Texts of Arrow's columns and of files, and tokenizers whose file is gone."""

from __future__ import annotations

import multiprocessing
import pickle
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("tokenizers")
arrow = pytest.importorskip("pyarrow")

import drapps  # noqa: E402
from benchmarks.tokenizers import vocabularies  # noqa: E402
from python.tests.text import strings  # noqa: E402
from python.tests.text.test_oracle import own_text  # noqa: E402

TEXTS = ["", "a b", "caf\u00e9 \u4e2d\u6587", "", *strings.drawn(seed=31, count=50), "end"]


def small() -> Path:
    return vocabularies.trained("llama3", 1000, own_text())


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    codec = drapps.tokenizer(small())
    assert codec.native
    return codec


def lists(encoded: Any) -> list[list[int]]:
    return [encoded[place].tolist() for place in range(len(encoded))]


@pytest.mark.parametrize(
    "kind", ["string", "large_string", "binary", "large_binary", "string_view", "dictionary"]
)
def test_a_column_has_the_ids_of_its_texts(tokenizer, kind):
    wanted = lists(tokenizer.encode_batch(TEXTS))
    column = arrow.array(TEXTS)
    if kind == "dictionary":
        column = column.dictionary_encode()
    else:
        column = column.cast(getattr(arrow, kind)())
    assert lists(tokenizer.encode_batch(column)) == wanted
    assert lists(tokenizer.encode_batch(column[3:20])) == wanted[3:20]
    chunks = arrow.chunked_array([column[:5], column[5:5], column[5:]])
    assert lists(tokenizer.encode_batch(chunks, 2)) == wanted
    assert lists(tokenizer.encode_batch(column[:0])) == []


def test_a_table_of_another_library_is_read(tokenizer):
    class Column:
        """What has Arrow's interface and is none of pyarrow's."""

        def __arrow_c_stream__(self, requested_schema=None):
            return arrow.chunked_array([TEXTS]).__arrow_c_stream__(requested_schema)

    assert lists(tokenizer.encode_batch(Column())) == lists(tokenizer.encode_batch(TEXTS))


def test_bytes_of_a_column_are_repaired(tokenizer):
    broken = [b"a\xff b", b"\xe4\xb8", b"fine"]
    wanted = [tokenizer.encode(text.decode("utf-8", "replace")) for text in broken]
    assert lists(tokenizer.encode_batch(arrow.array(broken))) == wanted


def test_what_is_no_column_of_texts_is_refused(tokenizer):
    with pytest.raises(drapps.PipelineError, match="1 of 3 texts are null"):
        tokenizer.encode_batch(arrow.array(["a", None, "b"]))
    with pytest.raises(drapps.PipelineError, match="not int64"):
        tokenizer.encode_batch(arrow.array([1, 2]))


@pytest.mark.parametrize("separator", ["\n", "\n\n", "<|end|>", b"\0"])
def test_a_file_has_the_ids_of_its_documents(tokenizer, separator, tmp_path):
    between = separator if isinstance(separator, str) else separator.decode()
    documents = [text.replace(between[0], "_") for text in TEXTS]
    path = tmp_path / "texts"
    path.write_bytes((between.join(documents) + between).encode())
    assert lists(tokenizer.encode_file(path, separator)) == lists(tokenizer.encode_batch(documents))


def test_files_that_cannot_be_read_are_named(tokenizer, tmp_path):
    empty = tmp_path / "empty"
    empty.touch()
    assert len(tokenizer.encode_file(empty)) == 0
    with pytest.raises(drapps.DataNotFoundError, match="no such file"):
        tokenizer.encode_file(tmp_path / "nothing")
    with pytest.raises(drapps.PipelineError, match=str(tmp_path)):
        tokenizer.encode_file(tmp_path)
    with pytest.raises(drapps.PipelineError, match="separator"):
        tokenizer.encode_file(empty, "")


def test_a_tokenizer_that_is_not_native_reads_them_too(tmp_path):
    from tokenizers import Tokenizer, normalizers

    stock = Tokenizer.from_file(str(small()))
    stock.normalizer = normalizers.Lowercase()
    other = drapps.tokenizer(stock)
    assert not other.native
    wanted = [stock.encode(text).ids for text in TEXTS]
    assert lists(other.encode_batch(arrow.array(TEXTS))) == wanted
    path = tmp_path / "texts"
    path.write_bytes("<|sep|>".join(TEXTS).encode())
    assert lists(other.encode_file(path, "<|sep|>")) == wanted


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_another_process_needs_no_file(method, tmp_path):
    path = tmp_path / "tokenizer.json"
    path.write_bytes(small().read_bytes())
    tokenizer = drapps.tokenizer(path)
    wanted = tokenizer.encode_batch(TEXTS, 2).ids.tolist()
    path.unlink()
    assert pickle.loads(pickle.dumps(tokenizer)).encode_batch(TEXTS).ids.tolist() == wanted
    with multiprocessing.get_context(method).Pool(1) as pool:
        batch = pool.apply_async(tokenizer.encode_batch, (TEXTS, 2)).get(timeout=300)
    assert batch.ids.tolist() == wanted
