"""Rows of tokens from files of every kind are what NumPy cuts from the same ids."""

from __future__ import annotations

import itertools
import re
from typing import Any

import numpy as np
import pytest

import drapps
from drapps.errors import PipelineError
from python.tests.tokens.token_files import (
    MEGATRON_CODES,
    documents,
    expected,
    megatron_index,
    rows_of,
    write_megatron,
    write_plain,
)

LENGTH = 64
ALL = {"position_ids": True, "document_ids": True}
SHAPES = list(itertools.product(("same", "shifted"), (False, True)))


def check(pipeline, wanted):
    rows = rows_of(pipeline.batch(7))
    assert rows["index"].tolist() == list(range(len(wanted["input_ids"])))
    for name, column in wanted.items():
        assert rows[name].dtype == column.dtype, name
        assert np.array_equal(rows[name], column), name


def check_all(tokens, texts):
    for labels, mask_starts in SHAPES:
        pipeline = tokens.pack(LENGTH, labels=labels, mask_starts=mask_starts, **ALL)
        check(pipeline, expected(texts, LENGTH, labels, mask_starts))


@pytest.mark.parametrize("dtype", MEGATRON_CODES)
def test_megatron(dtype, tmp_path):
    texts = documents(90, below=min(50_000, np.iinfo(dtype).max))
    check_all(drapps.tokens(write_megatron(tmp_path / "a", texts, dtype)), texts)


def test_megatron_by_prefix_by_index_and_by_folder(tmp_path):
    texts = documents(40)
    write_megatron(tmp_path / "a", texts[:20])
    write_megatron(tmp_path / "b.part", texts[20:])
    for files in (
        tmp_path,
        [tmp_path / "a", tmp_path / "b.part"],
        [tmp_path / "a.idx", tmp_path / "b.part.idx"],
    ):
        check_all(drapps.tokens(files), texts)


def test_documents_of_megatron_may_have_several_sequences_or_none(tmp_path):
    texts = documents(30)
    path = write_megatron(tmp_path / "a", texts)
    lengths = [len(text) for text in texts]
    lengths.insert(5, 0)
    index = megatron_index(lengths, ends=[0, 0, 3, 3, 6, 31, 31], modes=True)
    path.with_suffix(".idx").write_bytes(index)
    check_all(
        drapps.tokens(path), [np.concatenate(part) for part in (texts[:3], texts[3:5], texts[5:])]
    )


@pytest.mark.parametrize(
    "dtype", ["uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
)
def test_plain_files_with_eos(dtype, tmp_path):
    texts = [np.append(text, 7) for text in documents(120, below=7)]
    paths = [
        write_plain(tmp_path / f"{part}.bin", np.concatenate(texts[part::3]), dtype, b"header")
        for part in range(3)
    ]
    in_order = [text for part in range(3) for text in texts[part::3]]
    check_all(drapps.tokens(paths, dtype=dtype, eos=7, header=6), in_order)


def test_rows_go_through_files_smaller_than_a_row(tmp_path):
    texts = documents(60, longest=12)
    paths = [write_plain(tmp_path / f"{i:03}.bin", text) for i, text in enumerate(texts)]
    check_all(drapps.tokens(paths, dtype="uint16", eos=60_000), texts)
    slow = drapps.emulate(latency=0.001)
    check(
        drapps.tokens(paths, dtype="uint16").pack(LENGTH, labels="none").on(slow),
        {"input_ids": expected(texts, LENGTH)["input_ids"]},
    )
    assert slow.stats()["reads"] > len(paths)
    described = drapps.tokens(paths, dtype="uint16")
    check(
        described.on(slow).pack(LENGTH, labels="none"),
        {"input_ids": expected(texts, LENGTH)["input_ids"]},
    )
    for wrong in (lambda: described.on("slow"), lambda: described.pack(LENGTH).on(3)):
        with pytest.raises(PipelineError, match=r"must be what drapps.emulate\(\) has made"):
            wrong()


def test_what_datasets_saves(tmp_path):
    datasets = pytest.importorskip("datasets")
    texts = documents(2500, longest=20)
    held = [[*text.tolist()] for text in texts]
    held.insert(3, [])
    kinds = {"int32": datasets.Sequence(datasets.Value("int32")), "int64": None}
    for name, kind in kinds.items():
        features = None if kind is None else datasets.Features({"input_ids": kind})
        dataset = datasets.Dataset.from_dict({"input_ids": held}, features=features)
        dataset.save_to_disk(tmp_path / name, num_shards=2)
        check_all(drapps.tokens(tmp_path / name), texts)
    dataset.to_parquet(tmp_path / "a.parquet")
    check_all(drapps.tokens(tmp_path / "a.parquet"), texts)


@pytest.mark.parametrize(("labels", "mask_starts"), SHAPES)
def test_each_document_may_be_a_row(labels, mask_starts, tmp_path):
    texts = [np.arange(1, length + 1) for length in (3, 64, 65, 66, 1, 200, 63)]
    paths = [write_megatron(tmp_path / f"{i}", texts[i::2]) for i in range(2)]
    texts = texts[::2] + texts[1::2]
    pipeline = drapps.tokens(paths).pack(
        LENGTH, packing="documents", pad=9, labels=labels, mask_starts=mask_starts, **ALL
    )
    ahead = int(labels == "shifted")
    wanted = {name: np.full((len(texts), LENGTH), 0) for name in ("attention_mask", "position_ids")}
    wanted["input_ids"] = np.full((len(texts), LENGTH), 9)
    wanted["labels"] = np.full((len(texts), LENGTH), -100)
    wanted["document_ids"] = np.full((len(texts), LENGTH), -1, np.int32)
    for row, text in enumerate(texts):
        size = min(len(text), LENGTH)
        wanted["input_ids"][row, :size] = text[:size]
        learnt = text[ahead:][:LENGTH].copy()
        learnt[: int(mask_starts and not ahead)] = -100
        wanted["labels"][row, : len(learnt)] = learnt
        wanted["attention_mask"][row, :size] = 1
        wanted["position_ids"][row, :size] = np.arange(size)
        wanted["document_ids"][row, :size] = 0
    check(pipeline, wanted)
    assert len(pipeline.batch(2)) == 4


def test_columns_are_those_asked_for(tmp_path):
    path = write_plain(tmp_path / "a.bin", np.arange(300))
    batch = next(iter(drapps.tokens(path, dtype="uint16").pack(100, labels="none").batch(2)))
    assert list(batch.numpy()) == ["input_ids", "index", "position", "flags"]


def test_every_id_comes_once_an_epoch_in_another_order(tmp_path):
    path = write_plain(tmp_path / "a.bin", np.arange(50_003))
    loader = drapps.tokens(path, dtype="uint16").pack(100).shuffle(3).batch(8)
    assert len(loader) == 63
    epochs = [rows_of(loader)["input_ids"] for _ in range(2)]
    for ids in epochs:
        assert np.array_equal(np.sort(ids.ravel()), np.arange(50_000))
    assert not np.array_equal(*epochs)


def test_fronts_have_the_same_batches(tmp_path):
    torch = pytest.importorskip("torch")
    path = write_plain(tmp_path / "a.bin", np.arange(3000))
    loader = drapps.tokens(path, dtype=np.uint16).pack(100).shuffle(3).batch(8)
    ids = torch.cat([batch["input_ids"] for batch in loader.torch()])
    assert ids.dtype == torch.int64
    loader.set_epoch(0)
    assert np.array_equal(ids.numpy(), rows_of(loader)["input_ids"])


def masks(pipeline: Any, **options: Any) -> tuple[Any, Any]:
    """A pass without masks and with them."""
    return rows_of(pipeline.batch(8)), rows_of(pipeline.mask(5, seed=3, **options).batch(8))


def test_masks_have_their_shares_and_are_the_same_everywhere(tmp_path):
    texts = [np.append(each + 10, 7) for each in documents(6000, below=900)]
    path = write_plain(tmp_path / "a.bin", np.concatenate(texts))
    tokens = drapps.tokens(path, dtype="uint16", eos=7, vocabulary=1000)
    pipeline = tokens.pack(LENGTH).shuffle(1)
    plain, rows = masks(pipeline, special=[11])
    was, ids, labels = plain["input_ids"], rows["input_ids"], rows["labels"]
    at = labels != -100
    assert np.array_equal(labels[at], was[at])
    assert np.array_equal(ids[~at], was[~at])
    never = np.isin(was, [5, 7, 11])
    assert not at[never].any()
    chosen = int(at.sum())
    counts = (chosen, int((ids[at] == 5).sum()), int((ids[at] == was[at]).sum()))
    # Five standard deviations of a binomial count.
    for count, of, share in zip(
        counts, ((~never).sum(), chosen, chosen), (0.15, 0.8, 0.1), strict=True
    ):
        assert abs(count - of * share) < 5 * (of * share * (1 - share)) ** 0.5 + 0.01 * of * share
    loader = pipeline.mask(5, seed=3, special=[11]).batch(8, cpu_budget=1)
    assert np.array_equal(rows_of(loader)["input_ids"], ids)
    assert not np.array_equal(rows_of(loader)["input_ids"], ids)  # of the next epoch
    states = [loader.state_dict() for _ in itertools.islice(loader.iterate(0), 4)]
    again = pipeline.mask(5, seed=3, special=[11]).batch(8)
    again.load_state_dict(states[3])
    pieces = [pipeline.shard(rank, 2).mask(5, seed=3, special=[11]).batch(4) for rank in range(2)]
    first = [next(iter(piece.numpy()))["input_ids"] for piece in pieces]
    assert np.array_equal(np.concatenate(first), ids[:8])
    with pytest.raises(PipelineError, match="another"):
        pipeline.batch(8).load_state_dict(states[3])


def test_padding_is_never_masked(tmp_path):
    texts = documents(300, below=900, longest=2 * LENGTH)
    tokens = drapps.tokens(write_megatron(tmp_path / "a", texts))
    pipeline = tokens.pack(LENGTH, packing="documents", pad=9)
    rows = rows_of(pipeline.mask(5, 1.0, replaced=1.0, random=0.0).batch(8))
    for row, text in enumerate(texts):
        size = min(len(text), LENGTH)
        cut = np.full(LENGTH, 9)
        cut[:size] = text[:size]
        chosen = ~np.isin(cut, [5, 9])
        assert np.array_equal(rows["input_ids"][row], np.where(chosen, 5, cut))
        assert np.array_equal(rows["labels"][row], np.where(chosen, cut, -100))


def test_masks_that_need_more_are_refused(tmp_path):
    path = write_plain(tmp_path / "a.bin", np.arange(1000))
    pipeline = drapps.tokens(path, dtype="uint16").pack(LENGTH)
    for options, message in (
        ({"token": "[MASK]"}, "give tokenizer="),
        ({"token": 5, "whole_words": True}, "give tokenizer="),
        ({"token": 5}, "give the vocabulary"),
        ({"token": -1}, "token"),
        ({"token": 5, "replaced": 0.9, "random": 0.2}, "at most 1 together"),
        ({"token": 5, "special": [-4]}, "special"),
    ):
        with pytest.raises(PipelineError, match=re.escape(message)):
            pipeline.mask(**options).batch(4)
    with pytest.raises(PipelineError, match="not shifted"):
        drapps.tokens(path, dtype="uint16").pack(LENGTH, labels="shifted").mask(5)
    known = drapps.tokens(path, dtype="uint16", vocabulary=1000).pack(LENGTH)
    with pytest.raises(PipelineError, match="1000 is none of the vocabulary"):
        known.mask(1000).batch(4)
