"""Batches of lifted text equal those of the stock loader with the same collator."""

from __future__ import annotations

import functools

import pytest

pytest.importorskip("datasets")
transformers = pytest.importorskip("transformers")

import datasets  # noqa: E402
import numpy as np  # noqa: E402
import pyarrow as pa  # noqa: E402
import torch  # noqa: E402
from transformers import (  # noqa: E402
    DataCollatorForLanguageModeling,
    DataCollatorForSeq2Seq,
    DataCollatorWithFlattening,
    DataCollatorWithPadding,
    DefaultDataCollator,
    default_data_collator,
)

import drapps  # noqa: E402
from drapps import Tokenise  # noqa: E402
from python.tests.text_lifting import tables  # noqa: E402
from python.tests.text_lifting.tables import assert_same, batches, loaders, tokenizer  # noqa: E402

PADDINGS = [
    {},
    {"pad_to_multiple_of": 8},
    {"padding": "max_length", "max_length": 300},
    {"padding": "max_length", "max_length": 299, "pad_to_multiple_of": 16},
    {"padding": "longest", "return_tensors": "np"},
]
SIDES = ("right", "left")


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("given", ["live", "columns", "torch", "chosen"])
def test_padded_batches(monkeypatch, side, given):
    codec = tokenizer(padding_side=side)
    rows = tables.table()
    live = rows.with_transform(Tokenise(codec, truncation=True, max_length=40, keep=["label"]))
    columns = tables.tokenised(codec, rows, truncation=True, max_length=40)
    dataset = {
        "live": live,
        "columns": columns,
        "torch": columns.with_format("torch"),
        "chosen": columns.select(range(3, 50)).shuffle(seed=2).with_format("torch"),
    }[given]
    for options in PADDINGS:
        collate_fn = DataCollatorWithPadding(codec, **options)
        ours, stock = loaders(dataset, collate_fn, num_workers=len(options) % 3)
        assert_same(batches(ours, monkeypatch), list(stock))


@pytest.mark.parametrize("side", SIDES)
def test_calls_of_a_tokenizer(monkeypatch, side):
    codec = tokenizer(truncation_side=side, model_input_names=["input_ids", "token_type_ids"])
    rows = tables.table(3)
    for tokenise in (
        Tokenise(codec, truncation=True, max_length=9, return_special_tokens_mask=True),
        Tokenise(codec, pair="other", truncation=True, max_length=12, return_token_type_ids=True),
        Tokenise(codec, "other", "text", truncation="only_second", max_length=200, keep=["score"]),
        Tokenise(codec, "other", add_special_tokens=False, padding=True, keep=["label", "good"]),
        Tokenise(drapps.tokenizer(codec), padding="max_length", truncation=True, max_length=16),
    ):
        ours, stock = loaders(rows.with_transform(tokenise), DataCollatorWithPadding(codec))
        assert_same(batches(ours, monkeypatch), list(stock))


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("kind", ["pt", "np"])
def test_causal_labels(monkeypatch, side, kind):
    codec = tokenizer(padding_side=side)
    rows = tables.table(4)
    columns = tables.tokenised(codec, rows, return_special_tokens_mask=True)
    live = rows.with_transform(Tokenise(codec, keep=["label"]))
    for dataset in (columns, columns.with_format("torch"), live):
        collate_fn = DataCollatorForLanguageModeling(
            codec, mlm=False, pad_to_multiple_of=4, return_tensors=kind
        )
        ours, stock = loaders(dataset, collate_fn, batch_size=5, drop_last=True)
        assert_same(batches(ours, monkeypatch), list(stock))


class Shifting(torch.nn.Module):
    """A model that makes decoder inputs of labels, as if it were of transformers."""

    def prepare_decoder_input_ids_from_labels(self, labels):
        return labels.roll(1, -1)


Shifting.prepare_decoder_input_ids_from_labels.__module__ = "transformers.models.made"


@pytest.mark.parametrize("side", SIDES)
def test_sequences_to_sequences(monkeypatch, side):
    codec = tokenizer(padding_side=side)
    rows = tables.table(5)
    columns = tables.tokenised(codec, rows, truncation=True, max_length=30).remove_columns("label")
    labels = [ids[: i % 9] for i, ids in enumerate(codec(rows["other"][:])["input_ids"])]
    pairs = columns.add_column("labels", labels)
    for dataset in (pairs, pairs.with_format("torch"), columns.remove_columns("score")):
        for options in (
            {},
            {"pad_to_multiple_of": 8, "label_pad_token_id": -1, "return_tensors": "np"},
            {"padding": "max_length", "max_length": 33, "model": Shifting()},
        ):
            collate_fn = DataCollatorForSeq2Seq(codec, **options)
            ours, stock = loaders(dataset, collate_fn)
            assert_same(batches(ours, monkeypatch), list(stock))


def test_flattened_batches(monkeypatch):
    codec = tokenizer()
    rows = tables.table(6)
    columns = tables.tokenised(codec, rows)  # texts among whose columns those not asked for stay
    beside = columns.add_column("text", rows["text"][:])
    labels = columns.add_column("labels", [ids[::-1] for ids in columns["input_ids"]])
    live = rows.with_transform(Tokenise(codec))
    for dataset in (beside, labels, labels.with_format("torch"), live):
        for options in (
            {},
            {"return_flash_attn_kwargs": True, "return_seq_idx": True, "position_ids_start": 2},
            {"return_position_ids": False, "separator_id": -7, "return_tensors": "np"},
        ):
            collate_fn = DataCollatorWithFlattening(**options)
            ours, stock = loaders(dataset, collate_fn)
            assert_same(batches(ours, monkeypatch), list(stock))


def test_rows_of_equal_length(monkeypatch):
    codec = tokenizer()
    rows = tables.table(7)
    columns = tables.tokenised(codec, rows, padding="max_length", truncation=True, max_length=8)
    numbers = rows.remove_columns(["text", "other"])
    renamed = numbers.rename_column("label", "n")
    for dataset in (columns, columns.with_format("torch"), numbers, renamed):
        for collate_fn in (default_data_collator, DefaultDataCollator()):
            ours, stock = loaders(dataset, collate_fn)
            assert_same(batches(ours, monkeypatch), list(stock))
    shown = columns.with_format("torch", columns=["label", "input_ids"])
    for dataset in (columns.with_format("torch"), shown, numbers, numbers.with_format("torch")):
        ours, stock = loaders(dataset, None)
        assert_same(batches(ours, monkeypatch), list(stock))


def chunked(kind, ids, values):
    """The ids as a column of a type of Arrow, in chunks that begin anywhere."""
    column = pa.array(ids, kind(values))
    return pa.chunked_array([column.slice(0, 7), column.slice(7, 0), column.slice(7)])


@pytest.mark.parametrize("values", [pa.int8(), pa.uint16(), pa.int32(), pa.uint32(), pa.int64()])
def test_types_and_chunks_of_arrow(monkeypatch, values):
    codec = tokenizer()
    ids = [list(range(5, 5 + i * 7 % 23)) for i in range(1, 40)]
    equal = [each[:1] + [9] * 4 for each in ids if each]
    kinds = [
        (chunked(pa.list_, ids, values), DataCollatorWithPadding(codec)),
        (chunked(pa.large_list, ids, values), DataCollatorWithPadding(codec)),
        (chunked(lambda of: pa.list_(of, 5), equal, values), default_data_collator),
    ]
    for column, collate_fn in kinds:
        dataset = datasets.Dataset(pa.table({"input_ids": column}).slice(2))
        both = datasets.concatenate_datasets([dataset, dataset.select([5, 3])])
        for rows in (dataset, both, torch.utils.data.Subset(both, [3, 1, 20, 8])):
            ours, stock = loaders(rows, collate_fn, batch_size=6)
            assert_same(batches(ours, monkeypatch), list(stock))


def values(batch):
    """A batch of a tokenizer without its encodings."""
    return {name: v.tolist() if hasattr(v, "tolist") else v for name, v in batch.items()}


@pytest.mark.parametrize("workers", [0, 2])
def test_tokenizers_as_collate_functions(monkeypatch, workers):
    codec = tokenizer()
    rows = tables.table(12).shuffle(seed=1)
    padded = {"padding": True, "truncation": True, "max_length": 24}
    for collate_fn in (
        functools.partial(codec, **padded, return_tensors="pt"),
        functools.partial(codec, **padded, return_tensors="np", return_offsets_mapping=True),
        functools.partial(codec, return_overflowing_tokens=True, **padded),
        codec,
    ):
        for texts in (rows["text"], rows.with_format("torch")["other"], list(rows["text"])):
            ours, stock = loaders(texts, collate_fn, num_workers=workers)
            mine, theirs = batches(ours, monkeypatch), list(stock)
            for a, b in zip(mine, theirs, strict=True):
                assert isinstance(a, transformers.BatchEncoding)
                assert values(a) == values(b)
                assert type(a["input_ids"]) is type(b["input_ids"])
            if workers == 0:
                assert mine[0].word_ids(0) == theirs[0].word_ids(0)


@pytest.mark.full
@pytest.mark.parametrize("seed", range(20))
def test_random_tables(monkeypatch, seed):
    draws = np.random.default_rng(seed)
    codec = tokenizer(padding_side=SIDES[seed % 2], truncation_side=SIDES[seed // 2 % 2])
    rows = tables.table(seed, int(draws.integers(1, 300)))
    options = {"truncation": True, "max_length": int(draws.integers(4, 90))}
    size = int(draws.integers(1, 33))
    for dataset in (
        rows.with_transform(Tokenise(codec, **options)),
        tables.tokenised(codec, rows, **options),
    ):
        for collate_fn in (
            DataCollatorWithPadding(codec, pad_to_multiple_of=int(draws.integers(1, 9))),
            DataCollatorForLanguageModeling(codec, mlm=False),
            DataCollatorWithFlattening(return_seq_idx=True, return_flash_attn_kwargs=True),
        ):
            ours, stock = loaders(dataset, collate_fn, batch_size=size, num_workers=seed % 3)
            assert_same(batches(ours, monkeypatch), list(stock))
