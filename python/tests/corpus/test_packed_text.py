"""Rows of packed text: which tokens stand in them, for any workers, ranks and files."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

pytest.importorskip("tokenizers")
pytest.importorskip("pyarrow")

import drapps
from drapps.corpus.parquet import ParquetFiles
from drapps.errors import DataNotFoundError, PipelineError, SampleError
from python.tests.cells import some_full
from python.tests.corpus import corpora
from python.tests.corpus.corpora import EOS, rows_of

LENGTH = 128


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    encoder = drapps.tokenizer(corpora.tokenizer_file())
    assert encoder.native
    return encoder


@pytest.fixture(scope="module")
def texts() -> list[str]:
    return corpora.documents(4000)


@pytest.fixture(scope="module")
def lines(texts, tmp_path_factory):
    return corpora.write_lines(tmp_path_factory.mktemp("lines") / "texts.txt", texts)


def packed(files: Any, tokenizer: Any, **options: Any) -> Any:
    return drapps.text(files).pack(tokenizer, LENGTH, eos=EOS, **options)


def test_without_a_shuffle_rows_are_what_concatenating_and_cutting_makes(texts, lines, tokenizer):
    from tokenizers import Tokenizer

    stock = Tokenizer.from_file(str(corpora.tokenizer_file()))
    wanted = corpora.concatenated(
        lambda text: stock.encode(text, add_special_tokens=False).ids,
        texts[:1500],  # more than a block has
        stock.token_to_id(EOS),
        LENGTH,
    )
    rows = len(wanted) - len(wanted) % 8
    loader = packed(lines, tokenizer, splits=1).batch(8, rows=rows)
    assert len(loader) == rows // 8
    batches = list(loader.numpy())
    assert batches[0]["input_ids"].dtype == np.int64
    assert np.array_equal(np.concatenate([each["input_ids"] for each in batches]), wanted[:rows])
    assert all(np.array_equal(each["labels"], each["input_ids"]) for each in batches)


def test_files_of_every_kind_have_the_same_rows(texts, lines, tokenizer, tmp_path):
    wanted = rows_of(packed(lines, tokenizer, splits=1).batch(8, rows=400))
    content = corpora.json_lines(texts)
    plain = tmp_path / "texts.jsonl"
    plain.write_bytes(content)
    for file in (
        plain,
        corpora.write_zstd(tmp_path / "some.jsonl.zst", content, 300_001),
        corpora.write_zstd(tmp_path / "whole.jsonl.zst", content, len(content)),
        corpora.write_gzip(tmp_path / "texts.jsonl.gz", content),
    ):
        rows = rows_of(packed(file, tokenizer, splits=1).batch(8, rows=400))
        assert np.array_equal(rows, wanted), file.name


def test_columns_of_parquet_files_have_the_same_rows(texts, lines, tokenizer, tmp_path):
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    wanted = rows_of(packed(lines, tokenizer, splits=1).batch(8, rows=400))
    for kind in (
        arrow.string(),
        arrow.large_string(),
        arrow.dictionary(arrow.int32(), arrow.string()),
    ):
        some = [None, *texts[:2000], "", *texts[2000:], None]
        table = arrow.table(
            {"id": range(len(some)), "text": arrow.array(some, arrow.string()).cast(kind)}
        )
        file = tmp_path / "texts.parquet"
        parquet.write_table(table, file, row_group_size=1500)
        loader = packed(file, tokenizer, splits=1).batch(8, rows=400)
        assert np.array_equal(rows_of(loader), wanted)
    shuffled = packed(file, tokenizer).shuffle(1)
    assert shuffled.batch(8, rows=80).explain().plan.stages[0]["blocks"] == 3
    first = rows_of(shuffled.batch(8, rows=80))
    assert np.array_equal(first, rows_of(shuffled.batch(8, rows=80, cpu_budget=1)))
    for wrong, message in (({"field": "id"}, "not of strings"), ({"field": "body"}, "no column")):
        with pytest.raises(PipelineError, match=message):
            drapps.text(file, **wrong).pack(tokenizer, LENGTH, eos=EOS).batch(2)
    loader = packed(file, tokenizer).on_error("skip").batch(1)
    file.write_bytes(file.read_bytes()[:1000] + bytes(2000))
    with pytest.raises(SampleError, match="no good documents") as caught:
        next(iter(loader))
    assert caught.value.code == "no good data"
    assert "has changed" in loader.bad_samples()[0].message
    with pytest.raises(PipelineError, match=r"texts\.parquet"):
        packed(file, tokenizer).batch(2)


@pytest.mark.parametrize("at", [0, 1, 2])
def test_parquet_that_finds_no_memory_for_a_while_is_not_bad(
    texts, lines, tokenizer, tmp_path, monkeypatch, at
):
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    file = tmp_path / "texts.parquet"
    parquet.write_table(arrow.table({"text": texts}), file)
    read, refused = ParquetFiles.read, []

    def refusing(self: ParquetFiles, path: bytes, group: int) -> Iterator[Any]:
        for number, piece in enumerate(read(self, path, group)):
            if number == at and len(refused) < 2:
                refused.append(number)
                raise MemoryError("malloc of 1048576 failed")
            yield piece

    monkeypatch.setattr(ParquetFiles, "read", refusing)
    loader = packed(file, tokenizer, splits=1).batch(8, rows=4000)
    given = rows_of(loader)
    assert refused == [at, at] and loader.bad_samples() == []
    wanted = rows_of(packed(lines, tokenizer, splits=1).batch(8, rows=4000))
    assert np.array_equal(given, wanted)


def test_a_file_can_be_a_document(tokenizer, tmp_path):
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    (tmp_path / "b.txt").write_text("three\n")
    pipeline = drapps.text(tmp_path, documents="files").pack(tokenizer, 4, eos=EOS, splits=1)
    ids = rows_of(pipeline.batch(1, rows=2)).ravel().tolist()
    wanted = [*tokenizer.encode("one\ntwo\n", False), *tokenizer.encode_token(EOS)]
    assert ids[: len(wanted)] == wanted


@pytest.mark.parametrize("workers", [1, 2, 7])
def test_the_number_of_workers_changes_nothing(lines, tokenizer, workers):
    def rows(**options: Any) -> np.ndarray[Any, Any]:
        loader = packed(lines, tokenizer, splits=2).shuffle(3).batch(4, rows=600, **options)
        loader.freeze()
        return rows_of(loader)

    settings = packed(lines, tokenizer).batch(4).export_settings()
    settings["knobs"]["workers"] = workers
    assert np.array_equal(rows(settings=settings, cpu_budget=workers), rows())


def test_every_document_comes_once_an_epoch(texts, lines, tokenizer):
    eos = tokenizer.encode_token(EOS)[0]
    pipeline = packed(lines, tokenizer, splits=2).shuffle(5)
    total = sum(len(ids) + 1 for ids in (tokenizer.encode(text, False) for text in texts))
    ids = rows_of(pipeline.batch(2, tokens=2 * total))
    # Row q is of split q mod 2: each split's stream is cut at its own rows.
    seen: Counter[str] = Counter()
    for split in range(2):
        stream = ids[split::2].ravel()
        ends = np.flatnonzero(stream == eos)
        for begin, end in itertools.pairwise([-1, *ends]):
            seen[tokenizer.decode(stream[begin + 1 : end])] += 1
    missing = [text for text in texts if seen[text] < 1]
    assert not missing, missing[:3]
    assert max(seen[text] for text in texts) <= 3


def test_documents_that_are_held_out_are_not_trained_on(texts, lines, tokenizer):
    eos = tokenizer.encode_token(EOS)[0]
    seen = []
    for pipeline in drapps.text(lines).hold_out(0.2):
        rows = pipeline.pack(tokenizer, LENGTH, eos=EOS, splits=1)
        ids = rows_of(rows.batch(1, rows=rows.epoch_rows())).ravel()
        parts = np.split(ids, np.flatnonzero(ids == eos) + 1)
        seen.append({tokenizer.decode(part[:-1]) for part in parts if part[-1:].tolist() == [eos]})
    training, held_out = seen
    assert training | held_out == set(texts)
    assert not training & held_out
    assert 0.15 < len(held_out) / len(texts) < 0.25


def test_the_rows_of_an_epoch_are_counted(texts, lines, tokenizer):
    eos = tokenizer.encode_token(EOS)[0]
    pipeline = packed(lines, tokenizer, splits=2).shuffle(5)
    rows = pipeline.epoch_rows()
    total = sum(len(tokenizer.encode(text, False)) + 1 for text in texts)
    assert total <= rows * LENGTH
    ids = rows_of(pipeline.batch(1, rows=rows))

    def seen(of: int) -> set[str]:
        streams = (ids[:of][split::2].ravel() for split in range(2))
        parts = (np.split(stream, np.flatnonzero(stream == eos) + 1) for stream in streams)
        return {tokenizer.decode(part[:-1]) for each in parts for part in each}

    assert set(texts) <= seen(rows)
    assert not set(texts) <= seen(rows - 34)  # two batches of those that were counted


def test_an_epoch_is_another_order_and_a_seed_too(lines, tokenizer):
    loader = packed(lines, tokenizer).shuffle(1).batch(4, rows=200)
    first, second = rows_of(loader), rows_of(loader)
    assert not np.array_equal(first, second)
    loader.set_epoch(0)
    assert np.array_equal(rows_of(loader), first)
    other = rows_of(packed(lines, tokenizer).shuffle(2).batch(4, rows=200))
    assert not np.array_equal(other, first)


@pytest.mark.parametrize("world", [2, 3])
def test_ranks_have_the_rows_of_one_together(lines, tokenizer, world):
    pipeline = packed(lines, tokenizer, splits=2).shuffle(9)
    whole = rows_of(pipeline.batch(6 * world, rows=36 * world))
    parts = [
        rows_of(pipeline.shard(rank, world).batch(6, rows=36 * world)) for rank in range(world)
    ]
    together = np.stack(parts, 1).reshape(whole.shape)
    assert np.array_equal(together, whole)


def test_columns_say_where_documents_are(lines, tokenizer):
    eos = tokenizer.encode_token(EOS)[0]
    columns = {"position_ids": True, "document_ids": True, "mask_starts": True}
    loader = packed(lines, tokenizer, **columns).shuffle(1).batch(4, rows=400)
    for batch in loader.numpy():
        ids, starts = batch["input_ids"], np.zeros(batch["input_ids"].shape, bool)
        starts[:, 1:] = ids[:, :-1] == eos
        assert np.array_equal(batch["document_ids"], starts.cumsum(1))
        assert batch["document_ids"].dtype == np.int32
        firsts = np.where(starts, np.arange(LENGTH), 0)
        wanted = np.arange(LENGTH) - np.maximum.accumulate(firsts, 1)
        assert np.array_equal(batch["position_ids"], wanted)
        assert (batch["labels"][starts] == -100).all()
        rest = batch["labels"] != -100
        rest[:, 0] = True
        assert np.array_equal(batch["labels"][:, 1:][rest[:, 1:]], ids[:, 1:][rest[:, 1:]])


@pytest.mark.parametrize("labels", some_full(["same", "shifted"], "shifted"))
def test_by_best_fit_documents_stay_whole(texts, lines, tokenizer, labels):
    eos = tokenizer.encode_token(EOS)[0]
    columns = {"position_ids": True, "document_ids": True, "labels": labels}
    pipeline = packed(lines, tokenizer, packing="best_fit", splits=1, **columns).shuffle(1)
    loader = pipeline.batch(4, rows=pipeline.epoch_rows())
    seen: Counter[str] = Counter()
    padding = []
    for batch in loader.numpy():
        for row in range(len(batch["input_ids"])):
            ids, document = batch["input_ids"][row], batch["document_ids"][row]
            real = batch["attention_mask"][row] == 1
            assert np.array_equal(real, document >= 0)
            assert (ids[~real] == eos).all()
            assert np.array_equal(np.sort(real)[::-1], real)
            padding.append(1 - real.mean())
            wanted = np.where(real, ids, -100)
            if labels == "shifted":
                wanted = np.append(wanted[1:], -100)
            assert np.array_equal(batch["labels"][row], wanted)
            for number in range(document.max() + 1):
                part = document == number
                assert np.array_equal(batch["position_ids"][row][part], np.arange(part.sum()))
                seen[tokenizer.decode(ids[part])] += 1
    short = [text for text in texts if len(tokenizer.encode(text, False)) < LENGTH]
    assert short
    assert all(seen[text] >= 1 for text in short)
    assert np.mean(padding) < 0.03


def test_shifted_labels_are_the_tokens_that_follow(lines, tokenizer):
    loader = packed(lines, tokenizer, labels="shifted", splits=1).batch(4, rows=40)
    ids, labels = rows_of(loader), None
    loader.set_epoch(0)
    labels = rows_of(loader, "labels")
    assert np.array_equal(labels.ravel()[:-1], ids.ravel()[1:])
    assert "labels" not in next(packed(lines, tokenizer, labels="none").batch(4).numpy())


def test_a_pass_without_an_end_has_no_length(lines, tokenizer):
    loader = packed(lines, tokenizer).batch(4)
    with pytest.raises(TypeError, match="rows= or tokens="):
        len(loader)
    assert len(list(itertools.islice(loader.numpy(), 50))) == 50


def test_bad_documents_are_named_and_left_out(tokenizer, tmp_path):
    path = tmp_path / "bad.jsonl"
    good = [f'{{"text": "document {number}"}}' for number in range(50)]
    path.write_text("\n".join([*good[:10], '{"text": "broken', *good[10:], '{"other": 1}']))
    pipeline = drapps.text(path).pack(tokenizer, 16, eos=EOS)
    loader = pipeline.on_error("skip").batch(1, rows=40)
    rows = rows_of(loader)
    bad = loader.bad_samples()
    assert {each.offset for each in bad} == {
        path.read_text().index('{"text": "broken'),
        path.read_text().index('{"oth'),
    }
    assert all(each.path == str(path) for each in bad)
    clean = tmp_path / "clean.jsonl"
    clean.write_text("\n".join(good))
    wanted = rows_of(drapps.text(clean).pack(tokenizer, 16, eos=EOS).batch(1, rows=40))
    assert np.array_equal(rows, wanted)
    with pytest.raises(SampleError, match="no JSON"):
        rows_of(pipeline.batch(1, rows=12))


@pytest.mark.parametrize("name", ["b.jsonl.zst", pytest.param("b.jsonl", marks=pytest.mark.full)])
def test_a_document_of_a_gigabyte_is_bad(tokenizer, tmp_path, name):
    import pyarrow

    path = tmp_path / name
    compressed = name.endswith("zst")
    with (
        pyarrow.CompressedOutputStream(str(path), "zstd") if compressed else path.open("wb") as file
    ):
        for number in range(20):
            file.write(b'{"text": "document %d"}\n' % number)
            if number == 9:
                file.write(b'{"text": "')
                for _ in range(1024):
                    file.write(b"x" * (1 << 20))
                file.write(b'"}\n')
    pipeline = drapps.text(path).pack(tokenizer, 8, eos=EOS, splits=1)
    loader = pipeline.on_error("skip").batch(1, rows=10, ram_budget="1GiB")
    text = tokenizer.decode(rows_of(loader).ravel().tolist(), skip_special_tokens=True)
    assert "document 9document 10" in text
    (bad,) = loader.bad_samples()
    assert bad.path == str(path)
    assert "max_document" in bad.message
    with pytest.raises(SampleError, match="max_document"):
        rows_of(pipeline.batch(1, rows=10))


def test_files_that_cannot_be_read_are_named(tokenizer, tmp_path):
    broken = tmp_path / "broken.jsonl.zst"
    corpora.write_zstd(broken, corpora.json_lines(corpora.documents(100)))
    broken.write_bytes(broken.read_bytes()[:-7])
    with pytest.raises(PipelineError, match=r"broken\.jsonl\.zst: .*ends within a frame"):
        packed(broken, tokenizer).batch(2)
    with pytest.raises(DataNotFoundError, match=r"none\.txt"):
        packed(tmp_path / "none.txt", tokenizer).batch(2)
    empty = tmp_path / "empty.txt"
    empty.touch()
    with pytest.raises(PipelineError, match="no documents"):
        packed(empty, tokenizer).batch(2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"eos": "two words"}, "not one"),
        ({"length": 0}, "length"),
        ({"splits": 99}, "splits=99 is more than"),
        ({"labels": "all"}, "labels"),
        ({"window": 0}, "window"),
    ],
)
def test_arguments_that_make_no_sense_are_refused(lines, tokenizer, options, message):
    with pytest.raises(PipelineError, match=message):
        drapps.text(lines).pack(tokenizer, **{"length": 8, "eos": None, **options}).batch(2)


def test_a_pass_of_less_than_a_batch_is_refused(lines, tokenizer):
    with pytest.raises(PipelineError, match="less than one global batch"):
        packed(lines, tokenizer).batch(8, tokens=7 * LENGTH)
    with pytest.raises(PipelineError, match="leave out one"):
        packed(lines, tokenizer).batch(8, tokens=8 * LENGTH, rows=8)


def test_a_storage_that_is_slow_has_the_same_rows(lines, tokenizer):
    wanted = rows_of(packed(lines, tokenizer).batch(4, rows=80))
    storage = drapps.emulate(latency=0.005)
    slow = drapps.text(lines).on(storage).pack(tokenizer, LENGTH, eos=EOS).batch(4, rows=80)
    assert np.array_equal(rows_of(slow), wanted)
    assert slow.stats().storage.bytes > 0
    later = packed(lines, tokenizer).on(storage).batch(4, rows=80)
    assert np.array_equal(rows_of(later), wanted)
    assert later.stats().storage.bytes > 0
