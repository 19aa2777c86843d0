"""Files of tokens that are not what they should be are typed errors that name file and byte."""

from __future__ import annotations

import os

import numpy as np
import pytest

import drapps
from drapps.errors import DataNotFoundError, PipelineError, SampleError
from python.tests.tokens.token_files import documents, write_megatron, write_plain


def refusal(files, *, length=64, position_ids=False, error=PipelineError, **options):
    with pytest.raises(error) as refused:
        drapps.tokens(files, **options).pack(length, position_ids=position_ids).batch(4)
    return str(refused.value)


def test_arguments_that_do_not_fit_the_files(tmp_path):
    plain = write_plain(tmp_path / "a.bin", np.arange(300))
    (tmp_path / "m").mkdir()
    megatron = write_megatron(tmp_path / "m" / "b", documents(9))
    (tmp_path / "c.txt").touch()
    assert "no .idx file beside it: name dtype=" in refusal(plain)
    assert "files of one kind" in refusal([plain, tmp_path / "c.txt"], dtype="uint16")
    assert "dtype='float32' must be one of" in refusal(plain, dtype="float32")
    assert "dtype='>u2' must be one of" in refusal(plain, dtype=">u2")
    assert "say themselves" in refusal(megatron, eos=3)
    assert "name one at least" in refusal([])
    assert "eos" in refusal(plain, dtype="uint16", position_ids=True)
    with pytest.raises(PipelineError, match="needs files that list their documents"):
        drapps.tokens(plain, dtype="uint16", eos=1).pack(9, packing="documents", pad=0).batch(1)
    for wrong in ({"packing": "documents"}, {"pad": 0}):
        with pytest.raises(PipelineError, match="pad= is what packing='documents' needs"):
            drapps.tokens(megatron).pack(9, **wrong)
    assert "no samples" in refusal(plain, dtype="uint16", length=301)
    assert "none.bin" in refusal(tmp_path / "none.bin", error=DataNotFoundError, dtype="uint16")
    (tmp_path / "empty").mkdir()
    assert "no files of tokens" in refusal(tmp_path / "empty", error=DataNotFoundError)


def test_files_that_are_not_whole(tmp_path):
    plain = write_plain(tmp_path / "a.bin", np.arange(300))
    os.truncate(plain, 599)
    text = refusal(plain, dtype="uint16")
    assert f"{plain}: 1 bytes are left" in text
    assert "(byte 598)" in text
    megatron = write_megatron(tmp_path / "b", documents(30))
    os.truncate(megatron, 20)
    text = refusal(megatron)
    assert f"{megatron}: the file has 20 bytes, and its index lists" in text
    os.truncate(megatron.with_suffix(".idx"), 40)
    text = refusal(megatron)
    assert "b.idx: the index ends before the 30 sequences" in text
    assert "(byte 40)" in text


def test_columns_that_hold_no_ids(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import feather, parquet

    table = pyarrow.table({"input_ids": [[1, 2], None, [3]], "text": ["a", "b", "c"]})
    signed = pyarrow.table({"input_ids": [[1, 2], [3, -4]]})
    parquet.write_table(table, tmp_path / "a.parquet")
    parquet.write_table(signed, tmp_path / "signed.parquet")
    feather.write_feather(table, tmp_path / "a.arrow", compression="uncompressed")
    feather.write_feather(table.drop_columns("text"), tmp_path / "packed.arrow", compression="lz4")
    for name in ("a.parquet", "a.arrow"):
        path = tmp_path / name
        assert f"{path}: column 'input_ids' has no ids in some" in refusal(path)
        assert "no column 'ids', only input_ids, text" in refusal(path, column="ids")
        assert "column 'text' is of string, not of lists" in refusal(path, column="text")
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
        assert str(path) in refusal(path)
    assert "id -4 is negative" in refusal(tmp_path / "signed.parquet")
    feather.write_feather(signed, tmp_path / "packed.arrow", compression="lz4")
    assert "compressed" in refusal(tmp_path / "packed.arrow")


def test_ids_that_cannot_be_are_bad_rows(tmp_path):
    ids = np.arange(1000)
    ids[256] = 5000
    path = write_plain(tmp_path / "a.bin", ids, header=b"1234")
    tokens = drapps.tokens(path, dtype="uint16", header=4, vocabulary=5000)
    loader = tokens.pack(100).batch(2)
    stream = loader.numpy()
    next(stream)
    with pytest.raises(SampleError) as raised:
        next(stream)
    assert raised.value.path == str(path)
    assert raised.value.offset == 4 + 2 * 256
    assert "id 5000 is not below vocabulary=5000" in str(raised.value)
    loader = tokens.pack(100).on_error("skip").batch(2)
    assert [index for batch in loader.numpy() for index in batch["index"]] == [
        0,
        1,
        3,
        *range(4, 10),
    ]
    assert [each.index for each in loader.bad_samples()] == [2]
    replaced = tokens.pack(100).on_error("replace").shuffle(1).batch(10)
    assert 2 not in next(replaced.numpy())["index"]
    negative = write_plain(tmp_path / "b.bin", np.array([1, -7, 3, 4]), "int32")
    with pytest.raises(SampleError, match="negative") as raised:
        next(iter(drapps.tokens(negative, dtype="int32").pack(4).batch(1)))
    assert raised.value.offset == 4


def test_a_file_that_changes_under_us_is_no_row(tmp_path):
    path = write_plain(tmp_path / "a.bin", np.arange(1000))
    loader = drapps.tokens(path, dtype="uint16").pack(100).batch(5)
    os.truncate(path, 1000)
    with pytest.raises(SampleError, match="truncated") as raised:
        next(iter(loader))
    assert str(path) in raised.value.path
    write_plain(path, np.arange(1000) + 1)
    with pytest.raises(SampleError, match="corrupt"):
        next(iter(loader))


def test_storage_that_refuses_is_asked_again(tmp_path):
    path = write_plain(tmp_path / "a.bin", np.arange(1000))
    slow = drapps.emulate(refuses=True, deadline=0.2)
    loader = drapps.tokens(path, dtype="uint16").pack(100).on(slow).batch(10)
    with pytest.raises(SampleError, match="unavailable"):
        next(iter(loader))
    assert slow.stats()["retries"] > 0
