"""Samples that a dataset makes together: kept where they are what they are alone."""

from __future__ import annotations

import random

import numpy as np
import pytest
import torch
from torch.utils import data

import drapps
import drapps.torch
from python.tests.cells import full
from python.tests.item_datasets import Counted, note, noted

LOADERS = [data.DataLoader, drapps.torch.DataLoader]


class Lines(data.Dataset):
    """Sequences of several lengths."""

    def __init__(self, notes=None, size=60):
        self.notes = notes and str(notes)
        self.size = size

    def __len__(self):
        return self.size

    def __getitem__(self, index):
        if self.notes:
            note(self.notes, index)
        return torch.arange(1 + (index * 7) % 11)


class Padded(Lines):
    """Pads a batch to its longest sample."""

    def __getitems__(self, indices):
        values = [self[index] for index in indices]
        longest = max(map(len, values))
        return [torch.nn.functional.pad(value, (0, longest - len(value))) for value in values]


class Unpadded(Lines):
    """Makes each by itself, in code of its own."""

    def __getitems__(self, indices):
        samples = {}
        for index in indices:
            samples[int(index)] = self[index]
        return [samples[int(index)] for index in indices]


class Augmented(data.Subset):
    """Another sample than a Subset gives, where it is asked for one."""

    def __init__(self, dataset, indices):  # newer versions of torch's would refuse it
        self.dataset, self.indices = dataset, indices

    def __getitem__(self, index):
        return super().__getitem__(index) + 1


def passes(dataset, loader, count=3, **options):
    torch.manual_seed(2)
    batches = loader(dataset, 6, shuffle=True, **options)
    return [batch for _ in range(count) for batch in batches]


FORKS = {"num_workers": 2, "multiprocessing_context": "fork"}


@pytest.mark.parametrize(
    ("loader", "options"),
    [
        *((loader, {}) for loader in LOADERS),
        full((data.DataLoader, FORKS)),
        (drapps.torch.DataLoader, FORKS),
    ],
)
def test_a_batch_that_is_padded_to_its_longest_sample_is_what_it_is_without(
    loader, options, caplog
):
    cached = drapps.cached(Padded(), budget=1 << 20)
    expected = passes(Padded(), loader, **options)
    assert all(map(torch.equal, passes(cached, loader, **options), expected))
    assert cached.stats()["items"] == 0
    if not options:
        assert caplog.text.count("__getitems__ makes of sample") == 1


def test_a_dataset_of_hugging_face_that_pads_is_what_it_is_without():
    datasets = pytest.importorskip("datasets")
    rows = datasets.Dataset.from_dict({"x": [list(range(1 + i * 7 % 11)) for i in range(40)]})

    def pad(batch):
        longest = max(map(len, batch["x"]))
        return {"x": [torch.tensor(x + [0] * (longest - len(x))) for x in batch["x"]]}

    padded = rows.with_transform(pad)
    batches = passes(drapps.cached(padded, budget=1 << 20), drapps.torch.DataLoader)
    for batch, other in zip(batches, passes(padded, drapps.torch.DataLoader), strict=True):
        assert torch.equal(batch["x"], other["x"])
    cached = drapps.cached(rows.with_format("torch"), budget=1 << 20)
    collate = {"collate_fn": list, "batch_size": 5}
    expected = list(data.DataLoader(rows.with_format("torch"), **collate))
    for _ in range(2):
        for batch, other in zip(data.DataLoader(cached, **collate), expected, strict=True):
            assert [x["x"].tolist() for x in batch] == [x["x"].tolist() for x in other]
    assert cached.stats()["items"] == 40


def test_what_was_compared_is_kept_from_then_on(tmp_path):
    cached = drapps.cached(Unpadded(tmp_path / "notes"), budget=1 << 20)
    expected = passes(Unpadded(), data.DataLoader, collate_fn=list)
    for batch, other in zip(
        passes(cached, data.DataLoader, collate_fn=list), expected, strict=True
    ):
        assert all(map(torch.equal, batch, other))
    assert cached.stats()["items"] == 60
    assert len(noted(tmp_path / "notes")) <= 60 + 6 + 2 * 16


def test_a_part_of_a_dataset_is_as_the_dataset(tmp_path):
    parts = data.Subset(Counted(tmp_path / "notes"), range(30))
    stacked = data.StackDataset(data.Subset(parts, range(20)), Lines(size=20))
    cached = drapps.cached(stacked, budget=1 << 20)
    for _ in range(2):
        assert len(cached.__getitems__(list(range(20)))) == 20
    assert sorted(noted(tmp_path / "notes")) == list(range(20)), "none was made twice"
    padded = drapps.cached(data.Subset(Padded(), range(30)), budget=1 << 20)
    for _ in range(2):
        assert len(set(map(len, padded.__getitems__([0, 1, 2, 3])))) == 1
    assert padded.stats()["items"] == 0


def test_a_part_that_changes_single_samples_is_compared():
    cached = drapps.cached(Augmented(Lines(), range(30)), budget=1 << 20)
    for _ in range(2):
        assert cached.__getitems__([3])[0].tolist() == Lines()[3].tolist()
        assert cached[3].tolist() == (Lines()[3] + 1).tolist()
    assert cached.stats()["items"] == 1, "the one that was asked for alone"


class Failing(Unpadded):
    def __getitem__(self, index):
        if index > 10:
            raise ValueError(f"sample {index} is bad")
        return super().__getitem__(index)


class Drawing(Unpadded):
    def __getitem__(self, index):
        if index > 10:
            random.random()
            np.random.rand()
            torch.rand(1)
        return super().__getitem__(index)


def states():
    return random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()


@pytest.mark.parametrize("kind", [Failing, Drawing])
def test_samples_that_nobody_has_asked_for_do_no_harm(kind):
    cached = drapps.cached(kind(), budget=1 << 20)
    before = states()
    for _ in range(6):
        assert [len(x) for x in cached.__getitems__([1, 2, 3])] == [8, 4, 11]
    assert states() == before


def test_random_samples_that_are_frozen_are_kept():
    class Random(Unpadded):
        def __getitem__(self, index):
            return super().__getitem__(index) + torch.rand(1)

    cached = drapps.cached(Random(), 1, budget=1 << 20, frozen=True)
    cached.__getitems__([0, 1])
    first = cached.__getitems__([2, 3])
    assert all(map(torch.equal, cached.__getitems__([2, 3]), first))
