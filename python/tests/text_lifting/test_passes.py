"""Orders, states and processes of loaders over lifted text are those of any Python dataset."""

from __future__ import annotations

import multiprocessing
import pickle
from typing import Any

import pytest

pytest.importorskip("datasets")
pytest.importorskip("transformers")

import torch
from torch.utils.data import BatchSampler, DistributedSampler, WeightedRandomSampler
from transformers import DataCollatorWithPadding

import drapps
from drapps import Tokenise
from python.tests.text_lifting import tables
from python.tests.text_lifting.tables import assert_same, batches, loaders, tokenizer


def test_samplers(monkeypatch):
    codec = tokenizer()
    rows = tables.tokenised(codec, tables.table(9))
    collate_fn = DataCollatorWithPadding(codec)

    def weighted() -> Any:
        draws = torch.Generator().manual_seed(2)
        return WeightedRandomSampler(torch.arange(60.0), 40, generator=draws)

    for workers in (0, 2):
        for given in (
            {"sampler": weighted, "batch_size": 6},
            {"sampler": lambda: DistributedSampler(rows, 3, 1, seed=4), "batch_size": 9},
            {"batch_sampler": lambda: BatchSampler(weighted(), 11, False)},
        ):
            pair = []
            for kind in (drapps.torch.DataLoader, torch.utils.data.DataLoader):
                options = {name: make() if callable(make) else make for name, make in given.items()}
                number = workers if kind is drapps.torch.DataLoader else 0
                pair.append(kind(rows, collate_fn=collate_fn, num_workers=number, **options))
            assert_same(batches(pair[0], monkeypatch), list(pair[1]))


@pytest.mark.parametrize("workers", [0, 2])
def test_a_state_goes_on_at_any_batch(monkeypatch, workers):
    torch.manual_seed(6)
    loader = tables.masked_loader(workers)
    states, whole = [loader.state_dict()], []
    for batch in loader:
        whole.append(batch)
        states.append(loader.state_dict())
    for done in (1, 4, len(whole) - 1):
        again = tables.masked_loader(2 - workers)
        again.load_state_dict(states[done])
        assert_same(batches(again, monkeypatch), whole[done:])


@pytest.mark.parametrize("method", ["fork", pytest.param("spawn", marks=pytest.mark.full)])
def test_another_process_goes_on(method):
    torch.manual_seed(6)
    loader = tables.masked_loader(2)
    passing = iter(loader)
    for _ in range(3):
        next(passing)
    state = loader.state_dict()
    context = multiprocessing.get_context(method)
    ours, theirs = context.Pipe()
    child = context.Process(target=tables.rest_of, args=(state, 1, theirs))
    child.start()
    got = ours.recv() if ours.poll(60) else []
    child.join(60)
    wanted = [{name: value.numpy() for name, value in batch.items()} for batch in passing]
    assert len(got) == len(wanted) > 0
    for a, b in zip(got, wanted, strict=True):
        assert a.keys() == b.keys()
        assert all((a[name] == b[name]).all() for name in a)


def test_persistent_workers_and_copies(monkeypatch):
    codec = tokenizer()
    rows = tables.tokenised(codec, tables.table(10))
    collate_fn = DataCollatorWithPadding(codec)
    lasting = []
    for kind in (drapps.torch.DataLoader, torch.utils.data.DataLoader):
        draws = torch.Generator().manual_seed(1)
        options = {"num_workers": 1, "persistent_workers": True, "generator": draws}
        lasting.append(kind(rows, 7, shuffle=True, collate_fn=collate_fn, **options))
    for _ in range(2):
        assert_same(batches(lasting[0], monkeypatch), list(lasting[1]))
    copied = pickle.loads(pickle.dumps(tables.masked_loader()))
    assert copied.lifted()
    assert len(list(copied)) == 9


def test_what_changes_is_seen_at_the_next_pass(monkeypatch):
    codec = tokenizer()
    rows = tables.tokenised(codec, tables.table(11))
    collate_fn = DataCollatorWithPadding(codec)
    ours, stock = loaders(rows, collate_fn)
    assert_same(batches(ours, monkeypatch), list(stock))
    codec.padding_side = "left"
    assert_same(batches(ours, monkeypatch), list(stock))
    collate_fn.pad_to_multiple_of = 16
    assert_same(batches(ours, monkeypatch), list(stock))
    live = tables.table(11).with_transform(Tokenise(codec, truncation=True, max_length=20))
    ours, stock = loaders(live, collate_fn)
    assert_same(batches(ours, monkeypatch), list(stock))
    codec.add_tokens(["quick"])
    assert_same(batches(ours, monkeypatch), list(stock))
    codec.backend_tokenizer.model.dropout = 1.0
    assert "native form" in ours.lifted().reasons[0]
    codec.backend_tokenizer.model.dropout = None
    assert_same(batches(ours, monkeypatch), list(stock))
    before = live._fingerprint
    live._format_kwargs["transform"].options["max_length"] = 8
    assert_same(batches(ours, monkeypatch), list(stock))
    assert live._fingerprint == before


def test_reports():
    loader = tables.masked_loader(2)
    report = loader.lifted()
    assert "datasets.Dataset of 60 samples" in str(report)
    assert "Tokenise" in report.transforms[0]
    assert "masks are drawn by DRAPPS" in str(report)
    assert len(list(loader)) == 9
    assert loader.explain().plan.path == "text"
    assert loader.explain().plan.start_method == "thread"
    assert "on_error is not used" in str(tables.masked_loader(on_error="skip").lifted())
