"""Masks are drawn with the distributions of the stock collator, from coordinates."""

from __future__ import annotations

import math

import pytest

pytest.importorskip("datasets")
pytest.importorskip("transformers")

import datasets
import torch
from transformers import DataCollatorForLanguageModeling

from drapps import Tokenise
from python.tests.text_lifting import tables
from python.tests.text_lifting.tables import assert_same, batches, loaders, tokenizer

LENGTH = 40


def chi_squared(ours: dict[str, int], theirs: dict[str, int]) -> tuple[float, int]:
    """Pearson's statistic of two samples of counts, and its degrees of freedom."""
    kinds = sorted(
        kind for kind in ours.keys() | theirs.keys() if ours.get(kind) or theirs.get(kind)
    )
    mine, yours = sum(ours.values()), sum(theirs.values())
    statistic = 0.0
    for kind in kinds:
        a, b = ours.get(kind, 0), theirs.get(kind, 0)
        statistic += (a * math.sqrt(yours / mine) - b * math.sqrt(mine / yours)) ** 2 / (a + b)
    return statistic, len(kinds) - 1


def assert_alike(ours: dict[str, int], theirs: dict[str, int]) -> None:
    """Two samples may be of one distribution: the statistic is below its quantile of 1 - 1e-6.

    That is approximated as by E. Wilson and M. Hilferty, 1931.
    """
    statistic, free = chi_squared(ours, theirs)
    bound = free * (1 - 2 / (9 * free) + 4.75 * math.sqrt(2 / (9 * free))) ** 3
    assert statistic < bound, (statistic, bound, ours, theirs)


def outcomes(codec, rows, plain):
    """How often which thing became of a token, and how many became each residue of an id."""
    counts: dict[str, int] = {}
    for masked, before in zip(rows, plain, strict=True):
        ids, labels = masked["input_ids"], masked["labels"]
        chosen = labels != -100
        assert torch.equal(labels[chosen], before["input_ids"][chosen])
        assert torch.equal(ids[~chosen], before["input_ids"][~chosen])
        mask = ids == codec.mask_token_id
        kept = ids == before["input_ids"]
        for name, marks in {
            "ignored": ~chosen,
            "mask": chosen & mask,
            "kept": chosen & kept & ~mask,
            "random": chosen & ~kept & ~mask,
        }.items():
            counts[name] = counts.get(name, 0) + int(marks.sum())
        for residue in (ids[chosen & ~kept & ~mask] % 5).tolist():
            counts[f"random {residue}"] = counts.get(f"random {residue}", 0) + 1
    return counts


@pytest.mark.parametrize("shares", [(0.15, 0.8, 0.1), (0.5, 0.3, 0.6), (0.3, 1.0, 0.0)])
def test_tokens(monkeypatch, shares):
    codec = tokenizer()
    rows = tables.tokenised(codec, tables.table(1, 900), truncation=True, max_length=LENGTH)
    rows = rows.remove_columns(["label", "score"])
    names = ("mlm_probability", "mask_replace_prob", "random_replace_prob")
    collate_fn = DataCollatorForLanguageModeling(codec, **dict(zip(names, shares, strict=True)))
    plain = loaders(rows, DataCollatorForLanguageModeling(codec, mlm=False), batch_size=50)[1]
    ours, stock = loaders(rows, collate_fn, batch_size=50)
    before = list(plain)
    mine, theirs = (outcomes(codec, each, before) for each in (batches(ours, monkeypatch), stock))
    assert_alike(mine, theirs)


@pytest.mark.parametrize("given", ["mask", "none"])
def test_special_tokens_are_left(monkeypatch, given):
    codec = tokenizer()
    options = {"return_special_tokens_mask": given == "mask"}
    rows = tables.table(2).with_transform(Tokenise(codec, **options))
    ours, _ = loaders(rows, DataCollatorForLanguageModeling(codec, mlm_probability=1.0))
    for batch in batches(ours, monkeypatch):
        special = (batch["labels"] == -100) & (batch["input_ids"] > 3)
        assert not special.any()
        assert (batch["labels"] > 3).any()
        assert "special_tokens_mask" not in batch


@pytest.mark.filterwarnings("ignore:Random token replacement")
def test_whole_words(monkeypatch):
    codec = tokenizer()
    texts = [
        " ".join(["brown fox", "quick the", "xx 12"][i % 3] for _ in range(4)) for i in range(400)
    ]
    options = {"padding": "max_length", "truncation": True, "max_length": LENGTH}
    options |= {"return_offsets_mapping": True, "return_special_tokens_mask": True}
    rows = datasets.Dataset.from_dict({"text": texts}).with_transform(Tokenise(codec, **options))
    collate_fn = DataCollatorForLanguageModeling(codec, whole_word_mask=True, mlm_probability=0.3)
    ours, stock = loaders(rows, collate_fn, shuffle=False, batch_size=40)
    counts = []
    for loader in (batches(ours, monkeypatch), list(stock)):
        labels = torch.cat([batch["labels"] for batch in loader]) != -100
        runs = torch.cat([labels[:, :1], labels[:, 1:] & ~labels[:, :-1]], 1).sum(1)
        counts.append({str(n): int((runs == n).sum()) for n in set(runs.tolist())})
    assert_alike(*counts)
    rarely = {0.0: 0, 1.0: LENGTH}
    for probability in rarely:  # what is certain is equal to the batch
        collate_fn.mlm_probability = probability
        ours, stock = loaders(rows, collate_fn, batch_size=40)
        assert_same(batches(ours, monkeypatch), list(stock))


def test_masks_depend_on_the_place_alone(monkeypatch):
    codec = tokenizer()
    rows = tables.table(3).with_transform(Tokenise(codec, truncation=True, max_length=LENGTH))
    collate_fn = DataCollatorForLanguageModeling(codec)
    passes = []
    for workers in (0, 1, 2, 7):
        torch.manual_seed(4)
        ours, _ = loaders(rows, collate_fn, num_workers=workers)
        passes.append([batches(ours, monkeypatch), batches(ours, monkeypatch)])
    for each in passes[1:]:
        assert_same(each[0], passes[0][0])
        assert_same(each[1], passes[0][1])
    assert not torch.equal(passes[0][0][0]["labels"], passes[0][1][0]["labels"])


def test_seeds_and_epochs_make_other_masks(monkeypatch):
    codec = tokenizer()
    rows = tables.tokenised(codec, tables.table(3), truncation=True, max_length=LENGTH)
    collate_fn = DataCollatorForLanguageModeling(codec)
    ours, _ = loaders(rows, collate_fn, shuffle=False, seed=3, num_workers=2)
    again, _ = loaders(rows, collate_fn, shuffle=False, seed=3)
    other, _ = loaders(rows, collate_fn, shuffle=False, seed=4)
    first, second = batches(ours, monkeypatch), batches(ours, monkeypatch)
    assert_same(first, batches(again, monkeypatch))
    assert not torch.equal(first[0]["labels"], second[0]["labels"])
    assert not torch.equal(first[0]["labels"], batches(other, monkeypatch)[0]["labels"])
