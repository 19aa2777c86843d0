"""Passes that end with the last document of an epoch, for all ranks together."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

pytest.importorskip("tokenizers")

import drapps
from drapps.errors import PipelineError
from python.tests.cells import some_full
from python.tests.corpus import corpora
from python.tests.corpus.corpora import EOS, rows_of

LENGTH = 96


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return drapps.tokenizer(corpora.tokenizer_file())


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> Any:
    folder = tmp_path_factory.mktemp("ends")
    texts = corpora.documents(5000, 7)
    return [
        corpora.write_lines(folder / "one.txt", texts[:4000]),
        corpora.write_lines(folder / "two.txt", texts[4000:]),
    ]


def packed(files: Any, tokenizer: Any, **options: Any) -> Any:
    return drapps.text(files).pack(tokenizer, LENGTH, **{"eos": EOS, "pad": 0, **options})


def documents_of(batches: Any, tokenizer: Any, splits: int) -> Counter[str]:
    eos = tokenizer.encode_token(EOS)[0]
    batches = list(batches)
    ids = np.concatenate([each["input_ids"] for each in batches])
    used = np.concatenate([each["attention_mask"] for each in batches]).astype(bool)
    texts: Counter[str] = Counter()
    for split in range(splits):
        stream = ids[split::splits][used[split::splits]]
        parts = np.split(stream, np.flatnonzero(stream == eos) + 1)
        assert len(parts.pop()) == 0
        texts.update(tokenizer.decode(part[:-1].tolist()) for part in parts)
    return texts


@pytest.mark.parametrize("shuffle", some_full([False, True], True))
def test_a_pass_has_every_document_once(files, tokenizer, shuffle):
    pipeline = packed(files, tokenizer)
    loader = (pipeline.shuffle(3) if shuffle else pipeline).batch(4, rows="epoch")
    [splits] = [stage["splits"] for stage in loader.explain().plan.stages if "splits" in stage]
    wanted = Counter(line for file in files for line in file.read_text().splitlines())
    passes = []
    for _ in range(2):
        batches = list(loader.numpy())
        assert len(batches) == len(loader)
        assert documents_of(batches, tokenizer, splits) == wanted
        passes.append(np.concatenate([each["input_ids"] for each in batches]))
        for each in batches:
            padding = each["attention_mask"] == 0
            assert np.all(each["labels"][padding] == -100)
            assert np.all(each["input_ids"][padding] == 0)
            assert np.array_equal(each["flags"] & 1, padding.all(1))
        assert not all(each["flags"].any() for each in batches[: len(batches) // 2])
    assert np.array_equal(*passes) != shuffle


def test_all_ranks_end_together(files, tokenizer):
    whole = rows_of(packed(files, tokenizer).shuffle(2).batch(6, rows="epoch"))
    for world in (2, 3):
        for rank in range(world):
            loader = packed(files, tokenizer).shuffle(2).shard(rank, world)
            rows = rows_of(loader.batch(6 // world, rows="epoch"))
            assert np.array_equal(rows, whole[rank::world])


def test_it_resumes_to_the_end(files, tokenizer):
    def loader() -> Any:
        return packed(files, tokenizer, labels="shifted").shuffle(2).batch(8, rows="epoch")

    whole = rows_of(loader(), "labels")
    one = loader()
    states = [one.state_dict() for _ in one]
    for step in [0, 7, len(states) // 2, *range(len(states) - 4, len(states) - 1)]:
        again = loader()
        again.load_state_dict(states[step])
        assert np.array_equal(rows_of(again, "labels"), whole[8 * (step + 1) :])


def test_what_is_counted_is_kept_until_a_file_changes(files, tokenizer, tmp_path, monkeypatch):
    from drapps import _core

    counted: list[int] = []
    count = _core.count_blocks

    def counting(source: Any, file: int, *more: Any) -> Any:
        counted.append(file)
        return count(source, file, *more)

    monkeypatch.setattr(_core, "count_blocks", counting)
    copies = [tmp_path / file.name for file in files]
    for copy, file in zip(copies, files, strict=True):
        copy.write_bytes(file.read_bytes())
    rows = len(packed(copies, tokenizer).batch(1, rows="epoch"))
    assert sorted(counted) == [0, 1]
    assert len(packed(copies, tokenizer).batch(1, rows="epoch")) == rows
    assert len(counted) == 2
    with copies[1].open("a") as file:
        file.write("more " * 5000 + "\n")
    assert len(packed(copies, tokenizer).batch(1, rows="epoch")) > rows
    assert counted[2:] == [1]


def test_a_file_that_is_named_twice_has_its_documents_twice(files, tokenizer):
    twice = [files[1], files[0], files[1]]
    loader = packed(twice, tokenizer, splits=1).batch(4, rows="epoch")
    wanted = Counter(line for file in twice for line in file.read_text().splitlines())
    assert documents_of(loader.numpy(), tokenizer, 1) == wanted


def test_held_out_and_bad_documents(files, tokenizer, tmp_path):
    _, held = drapps.text(files).hold_out(0.1)
    loader = held.pack(tokenizer, LENGTH, eos=EOS, splits=1).batch(4, rows="epoch")
    share = sum(documents_of(loader.numpy(), tokenizer, 1).values()) / 5000
    assert 0.05 < share < 0.15
    bad = tmp_path / "bad.jsonl"
    bad.write_bytes(b'{"text": "good"}\n{"text": 5}\n{"text": "\xff"}\n')
    loader = packed(bad, tokenizer).on_error("skip").batch(1, rows="epoch")
    assert documents_of(loader.numpy(), tokenizer, 1) == {"good": 1}
    assert len(loader.bad_samples()) == 2


def budgeted(files: Any, tokenizer: Any) -> Any:
    """Rows whose padding is told from all that they hold, by documents that are never cut."""
    return drapps.text(files).tokenise(tokenizer, 2000, eos=EOS).pad(0, multiple=8)


def texts_of(batches: Any, tokenizer: Any) -> Counter[str]:
    """Of documents that no row cuts."""
    eos = tokenizer.encode_token(EOS)[0]
    texts: Counter[str] = Counter()
    for batch in batches:
        for row, mask in zip(batch["input_ids"], batch["attention_mask"], strict=True):
            used = row[mask == 1]
            for part in np.split(used, np.flatnonzero(used == eos) + 1):
                if len(part) > 0:
                    texts[tokenizer.decode(part[:-1].tolist())] += 1
    return texts


@pytest.mark.parametrize("shuffle", some_full([False, True], True))
def test_an_epoch_of_a_token_budget_ends(files, tokenizer, shuffle):
    pipeline = budgeted(files, tokenizer)
    pipeline = pipeline.shuffle(3) if shuffle else pipeline
    loader = pipeline.batch(token_budget=16_000, batches="epoch")
    wanted = Counter(line for file in files for line in file.read_text().splitlines())
    passes = []
    for _ in range(2):
        batches = list(loader.numpy())
        assert len(batches) == len(loader)
        assert texts_of(batches, tokenizer) == wanted
        assert all(each["input_ids"].size <= 16_000 for each in batches)
        passes.append([each["input_ids"].tobytes() for each in batches])
        for each in batches:
            padding = each["attention_mask"].sum() == 0
            assert bool(each["flags"][0] & 1) == padding
            if padding:
                assert each["input_ids"].shape == each["labels"].shape == (1, 8)
                assert each["lengths"].tolist() == [0]
                assert (each["labels"] == -100).all()
    assert (passes[0] == passes[1]) != shuffle
    one = pipeline.batch(token_budget=16_000, batches="epoch")
    states = [one.state_dict() for _ in one]
    for step in [0, len(states) // 2, len(states) - 3, len(states) - 2]:
        again = pipeline.batch(token_budget=16_000, batches="epoch")
        again.load_state_dict(states[step])
        assert [each["input_ids"].tobytes() for each in again.numpy()] == passes[0][step + 1 :]


def test_ranks_with_a_token_budget_end_together(files, tokenizer):
    pipeline = budgeted(files, tokenizer).shuffle(2)
    whole = [
        each["input_ids"].tobytes()
        for each in pipeline.batch(token_budget=9000, batches="epoch").numpy()
    ]
    for rank in range(2):
        loader = pipeline.shard(rank, 2).batch(token_budget=9000, batches="epoch")
        assert [each["input_ids"].tobytes() for each in loader.numpy()] == whole[rank::2]


def test_an_epoch_of_best_fit_ends(files, tokenizer):
    pipeline = drapps.text(files).pack(
        tokenizer, 2000, eos=EOS, pad=0, packing="best_fit", labels="shifted"
    )
    loader = pipeline.shuffle(1).batch(4, rows="epoch")
    wanted = Counter(line for file in files for line in file.read_text().splitlines())
    for _ in range(2):
        batches = list(loader.numpy())
        assert len(batches) == len(loader)
        assert texts_of(batches, tokenizer) == wanted
        for each in batches:
            padding = each["attention_mask"].sum(1) == 0
            assert np.array_equal(each["flags"] & 1, padding)
            assert (each["labels"][padding] == -100).all()


def test_a_pass_without_an_end_has_no_length(files, tokenizer):
    rows = budgeted(files, tokenizer)
    for loader, says in (
        (packed(files, tokenizer).batch(2), r'rows= or tokens=, such as rows="epoch",'),
        (rows.batch(2), r'say rows=, such as rows="epoch",'),
        (rows.batch(token_budget=4000), r'say batches=, such as batches="epoch",'),
    ):
        with pytest.raises(TypeError, match=says):
            len(loader)
    with pytest.raises(PipelineError, match="batch of each rank, which is 2: raise batches="):
        rows.shard(0, 2).batch(token_budget=4000, batches=1)


@pytest.mark.parametrize("shares", [pytest.param((1, 1), marks=pytest.mark.full), (7, 3)])
def test_a_mixture_ends_where_each_source_has_had_all_of_its_documents(files, tokenizer, shares):
    texts = [drapps.text(file) for file in files]
    pipeline = drapps.mixture(texts[:2], shares).pack(tokenizer, LENGTH, eos=EOS).shuffle(3)
    loader = pipeline.batch(4, rows="epoch")
    rows = rows_of(loader)
    assert 0 not in loader.latest_epochs()
    assert len(rows) == len(loader) * 4 == -(-pipeline.epoch_rows() // 4) * 4
    assert (rows != 0).any(axis=1).all()  # no row is padding
    shorter = pipeline.batch(1, rows=pipeline.epoch_rows() - 1 - sum(shares))
    list(shorter)
    assert 0 in shorter.latest_epochs()


def test_a_mixture_with_token_shards_ends_likewise(files, tokenizer, tmp_path):
    path = tmp_path / "ids.bin"
    path.write_bytes((np.arange(20_000, dtype=np.uint16) % 500).tobytes())
    parts = [drapps.text(files[0]), drapps.tokens(path, dtype="uint16", eos=499)]
    pipeline = drapps.mixture(parts, (1, 3)).pack(tokenizer, LENGTH, eos=EOS, labels="shifted")
    loader = pipeline.batch(2, rows="epoch")
    list(loader)
    assert 0 not in loader.latest_epochs()


def test_what_has_no_known_end_is_refused(files, tokenizer):
    mixed = drapps.mixture([drapps.text(file) for file in files], (1, 1))
    with pytest.raises(PipelineError, match="of a mixture is for rows that are cut"):
        mixed.pack(tokenizer, LENGTH, eos=EOS, packing="best_fit").batch(2, rows="epoch")
    with pytest.raises(PipelineError, match="of a mixture is for rows that are cut"):
        mixed.tokenise(tokenizer, LENGTH, eos=EOS).batch(token_budget=4000, batches="epoch")
    endless = mixed.pack(tokenizer, LENGTH, eos=EOS).batch(2)
    with pytest.raises(TypeError, match='such as rows="epoch", in batch'):
        len(endless)
    with pytest.raises(PipelineError, match="two ways"):
        packed(files, tokenizer).batch(2, rows="epoch", tokens=5)
