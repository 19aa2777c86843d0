"""What has no native form stays with the stock code, and what fails there fails here."""

from __future__ import annotations

import functools
from typing import Any

import pytest

pytest.importorskip("datasets")
pytest.importorskip("transformers")

import datasets
import numpy as np
import pyarrow as pa
import torch
import transformers
from transformers import (
    DataCollatorForLanguageModeling,
    DataCollatorForSeq2Seq,
    DataCollatorForTokenClassification,
    DataCollatorWithFlattening,
    DataCollatorWithPadding,
)

import drapps
from drapps import Tokenise
from python.tests.text_lifting import tables
from python.tests.text_lifting.tables import assert_same, loaders, outcome, tokenizer


class Padding(DataCollatorWithPadding):
    """A collator that is no longer transformers' own."""


def upper(features: Any) -> Any:
    return features


def reason(dataset: Any, collate_fn: Any, **options: Any) -> str:
    """Why a loader is not lifted; its batches are those of the stock loader."""
    ours, stock = loaders(dataset, collate_fn, shuffle=False, **options)
    report = ours.lifted()
    assert not report
    assert outcome(lambda: len(list(ours))) == outcome(lambda: len(list(stock)))
    return report.reasons[0]


def test_collators():
    codec = tokenizer()
    rows = tables.tokenised(codec, tables.table())
    pad = DataCollatorWithPadding
    assert "test_left_to_stock.Padding" in reason(rows, Padding(codec))
    assert "test_left_to_stock.upper" in reason(rows, upper)
    assert "<lambda>" in reason(rows, lambda features: features)
    assert "TokenClassification" in reason(rows, DataCollatorForTokenClassification(codec))
    assert "return_tensors=None" in reason(rows, pad(codec, return_tensors=None))
    assert "pad_to_multiple_of=0" in reason(rows, pad(codec, pad_to_multiple_of=0))
    seeded = DataCollatorForLanguageModeling(codec, seed=3)
    assert "generator of its own" in reason(rows, seeded)
    words = DataCollatorForLanguageModeling(codec, whole_word_mask=True)
    assert "offset_mapping" in reason(rows, words)
    old = DataCollatorForLanguageModeling(codec)
    del old.whole_word_mask
    assert "no whole_word_mask in the installed version" in reason(rows, old)
    own = pad(codec)
    own.more = 1
    assert "more of its own" in reason(rows, own)
    patched = pad(codec)
    codec.pad = functools.partial(codec.pad)
    assert "pad was replaced" in reason(rows, patched)


def test_a_replaced_function_is_seen(monkeypatch):
    codec = tokenizer()
    rows = tables.tokenised(codec, tables.table())
    collate_fn = DataCollatorWithPadding(codec)
    ours, _ = loaders(rows, collate_fn)
    assert ours.lifted()

    def doubled(_: Any, features: Any) -> Any:
        return {"twice": len(features) * 2}

    with monkeypatch.context() as patch:
        patch.setattr(DataCollatorWithPadding, "__call__", doubled)
        assert "__call__ was replaced" in ours.lifted().reasons[0]
        assert next(iter(ours))["twice"] == 14
    assert ours.lifted()
    kept = transformers.tokenization_utils_base.PreTrainedTokenizerBase._pad

    def other(self: Any, *args: Any, **named: Any) -> Any:
        return kept(self, *args, **named)

    with monkeypatch.context() as patch:
        patch.setattr(transformers.tokenization_utils_base.PreTrainedTokenizerBase, "_pad", other)
        assert "_pad was replaced" in ours.lifted().reasons[0]


def test_datasets_and_transforms():
    codec = tokenizer()
    table = tables.table()
    collate_fn = DataCollatorWithPadding(codec)
    partial = table.with_transform(functools.partial(codec, truncation=True))
    assert "partial of" in reason(partial, collate_fn)
    own = table.with_transform(lambda batch: codec(batch["text"]))
    assert "<lambda>: give it drapps.Tokenise" in reason(own, collate_fn)
    assert "column 'text' holds texts" in reason(table, collate_fn)
    assert "'numpy'" in reason(tables.tokenised(codec, table).with_format("numpy"), collate_fn)
    extended = Tokenise(codec)
    extended.__dict__["note"] = 1
    assert "note of its own" in reason(table.with_transform(extended), DataCollatorWithFlattening())
    long = table.with_transform(Tokenise(codec, return_overflowing_tokens=True))
    assert "return_overflowing_tokens" in reason(long, DataCollatorWithFlattening())
    assert "no column 'nothing'" in reason(
        table.with_transform(Tokenise(codec, "nothing")), collate_fn
    )
    streamed = drapps.torch.DataLoader(table.to_iterable_dataset(), 2, collate_fn=collate_fn)
    assert streamed.lifted().reasons == ("the dataset is iterable-style",)
    nested = datasets.Dataset.from_dict({"input_ids": [[[1]], [[2]]]})
    assert "holds list<" in reason(nested, collate_fn)
    ids = tables.tokenised(codec, table).remove_columns("input_ids")
    assert "no column 'input_ids'" in reason(ids, collate_fn)
    lists = tables.tokenised(codec, table, padding="max_length", truncation=True, max_length=5)
    assert "with_format('torch')" in reason(lists, None)


def test_tokenizers():
    from tokenizers import Tokenizer, models

    table = tables.table()
    words = Tokenizer(models.WordLevel({"a": 0, "<pad>": 1}, unk_token="a"))
    codec = transformers.PreTrainedTokenizerFast(tokenizer_object=words, pad_token="<pad>")
    ours, stock = loaders(table.with_transform(Tokenise(codec)), DataCollatorWithPadding(codec))
    assert "no native form" in ours.lifted().reasons[0]
    assert_same(list(ours), list(stock))
    call = functools.partial(codec, padding=True, return_tensors="pt")
    assert "no native form" in reason(list(table["text"]), call)
    call = functools.partial(tokenizer(), padding=True, return_tensors="pt")
    assert "the dataset is builtins.tuple" in reason(tuple(table["text"]), call)
    assert "holds no texts" in reason(table["label"], call)
    for texts in (["a", None, "b"], datasets.Dataset.from_dict({"t": ["a", None, "b"]})["t"]):
        ours, stock = loaders(texts, call, shuffle=False, batch_size=1)
        assert ours.lifted()
        assert passes(ours) == passes(stock)
    bare = tokenizer(pad_token=None)
    live = table.with_transform(Tokenise(bare))
    assert "cannot pad" in reason(live, DataCollatorWithPadding(bare))


def test_options_of_the_loader():
    codec = tokenizer()
    rows = tables.tokenised(codec, tables.table())
    masks = DataCollatorForLanguageModeling(codec)
    assert "torch_order" in reason(rows, masks, torch_order=True, num_workers=1)
    ours, stock = loaders(rows, DataCollatorWithPadding(codec), torch_order=True, num_workers=1)
    assert ours.lifted()
    assert_same(list(ours), list(stock))
    options = {"collate_fn": masks, "batch_size": 4}
    assert not drapps.torch.DataLoader(rows, lift=False, **options).lifted()
    initiated = drapps.torch.DataLoader(rows, worker_init_fn=print, num_workers=1, **options)
    assert "worker_init_fn" in initiated.lifted().reasons[0]
    assert not drapps.torch.DataLoader(rows, batch_size=None).lifted()


def passes(loader: Any) -> list[Any]:
    """What each batch is, or fails with."""
    iterator = iter(loader)

    def batch() -> Any:
        return {name: value.tolist() for name, value in next(iterator).items()}

    return [outcome(batch) for _ in range(len(loader))]


@pytest.mark.parametrize("workers", [0, 1])
def test_bad_samples_fail_as_stock_fails(workers):
    codec = tokenizer()
    ids = [[5, 6], [7], None, [8, 9], [5], [6, None], [], [4]]
    texts = ["a", None, "b", "c", "", "d", "e", "f"]
    numbers = [1, 2, 3, None, 5, 6, 7, 8]
    short = [[1, 1], [1], [1], [1], [1], [1, 1], [], [1]]
    tokens = datasets.Dataset.from_dict({"input_ids": ids, "label": numbers})
    masks = datasets.Dataset.from_dict({"input_ids": short, "attention_mask": short[::-1]})
    labels = datasets.Dataset.from_dict({"input_ids": short, "labels": numbers})
    live = datasets.Dataset.from_dict({"text": texts}).with_transform(Tokenise(codec))
    causal = DataCollatorForLanguageModeling(codec, mlm=False)
    for dataset, collate_fn in (
        (tokens, DataCollatorWithPadding(codec)),
        (tokens.with_format("torch"), DataCollatorWithPadding(codec)),
        (masks, DataCollatorWithPadding(codec)),
        (masks, DataCollatorWithPadding(codec, padding=False)),
        (labels, DataCollatorForSeq2Seq(codec)),
        (labels.remove_columns("labels"), DataCollatorWithFlattening()),
        (live, causal),
        (live, DataCollatorForLanguageModeling(codec)),
        (tokens, DataCollatorWithPadding(codec, padding="max_length", max_length=1)),
    ):
        ours, stock = loaders(dataset, collate_fn, batch_size=2, shuffle=False, num_workers=workers)
        assert ours.lifted(), ours.lifted()
        mine, theirs = passes(ours), passes(stock)
        for a, b in zip(mine, theirs, strict=True):
            if isinstance(b, dict):
                assert getattr(collate_fn, "mlm", False) or repr(a) == repr(b)
                continue
            assert a[0] is b[0], (a, b)
            assert b[1] in a[1]
            assert workers == 0 or "while making batch" in a[1]


@pytest.mark.parametrize("workers", [0, 1])
def test_a_damaged_table_is_named_with_its_row(workers):
    codec = tokenizer()
    offsets = pa.py_buffer(np.array([0, 2, 3, 99, 4], np.int32))
    numbers, letters = pa.array([5, 6, 7, 8]), pa.py_buffer(b"abcd")
    lists = pa.Array.from_buffers(pa.list_(pa.int64()), 4, [None, offsets], children=[numbers])
    texts = pa.Array.from_buffers(pa.string(), 4, [None, offsets, letters])
    tokens = datasets.Dataset(pa.table({"input_ids": lists}), fingerprint="a")
    rows = datasets.Dataset(pa.table({"text": texts}), fingerprint="b")
    live = rows.with_transform(Tokenise(codec))
    for dataset, column in ((tokens, "'input_ids'"), (live, "'text'")):
        options = {"collate_fn": DataCollatorWithPadding(codec), "num_workers": workers}
        iterator = iter(drapps.torch.DataLoader(dataset, 2, **options))
        assert next(iterator)["input_ids"].shape[0] == 2
        with pytest.raises(drapps.PipelineError, match="row 2 has damaged offsets") as failure:
            next(iterator)
        assert column in str(failure.value)


def test_indices_that_are_none():
    codec = tokenizer()
    rows = tables.tokenised(codec, tables.table())
    collate_fn = DataCollatorWithPadding(codec)
    for sampler in ([[0, 60]], [[3, -1]], [[]], [["a"]]):
        ours, stock = loaders(rows, collate_fn, shuffle=None, batch_size=1, batch_sampler=sampler)
        assert ours.lifted()
        assert passes(ours) == passes(stock)


def test_tokenise_says_what_it_does():
    codec = tokenizer()
    tokenise = Tokenise(codec, pair="other", keep=["label"], truncation=True, max_length=9)
    batch = {"text": ["a b", "c"], "other": ["d", "e"], "label": [1, 2]}
    wanted = codec(batch["text"], batch["other"], truncation=True, max_length=9)
    assert tokenise(batch) == {**wanted, "label": [1, 2]}
    assert "pair='other'" in repr(tokenise)
    with pytest.raises(drapps.PipelineError, match=r"keep=\['label'\]"):
        Tokenise(codec, keep="label")
    with pytest.raises(drapps.PipelineError, match="not int"):
        Tokenise(3)
    assert torch.is_tensor(Tokenise(codec, return_tensors="pt")({"text": ["a"]})["input_ids"])
