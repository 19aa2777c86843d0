"""`drapps.cached` gives a dataset: its indices, attributes, copies, budget, and what it refuses."""

from __future__ import annotations

import copy
import gc
import mmap
import multiprocessing
import os
import pickle

import numpy as np
import pytest
import torch
from torch.utils import data

import drapps
import drapps.torch
from drapps import _core, hf
from drapps.errors import PipelineError, SampleError
from drapps.item_cache.dataset import CachedDataset
from python.tests.item_datasets import Counted, note, noted


@pytest.fixture
def notes(tmp_path):
    return tmp_path / "notes"


def test_other_indices_are_the_other_datasets_business(notes):
    dataset = drapps.cached(Counted(notes), budget=1 << 20)
    with pytest.raises(IndexError, match="there is no sample 60"):
        dataset[60]
    with pytest.raises(IndexError, match="there is no sample -1"):
        dataset[-1]
    rows = drapps.cached([10, 20, 30], budget=1 << 20)
    assert rows[-1] == 30
    assert rows[1:] == [20, 30]
    assert list(rows) == [10, 20, 30]
    with pytest.raises(TypeError):
        rows["a"]


class Echo(Counted):
    def __getitem__(self, index):
        note(self.notes, 0)
        return index


def test_a_sample_may_show_the_class_of_its_index(notes):
    dataset = drapps.cached(Echo(notes), budget=1 << 20)
    for index in (3, np.int64(3), np.uint8(3), torch.tensor(3), 3, np.int64(3), True):
        assert type(dataset[index]) is type(index)
        assert dataset[index] == index
    kept = len(noted(notes))
    assert dataset[3] == 3
    assert len(noted(notes)) == kept


def test_an_error_leaves_nothing_behind(notes):
    class Once(Counted):
        def __getitem__(self, index):
            if not noted(self.notes):
                note(self.notes, index)
                raise KeyError("not yet")
            return super().__getitem__(index)

    dataset = drapps.cached(Once(notes), budget=1 << 20)
    with pytest.raises(KeyError, match="not yet"):
        dataset[5]
    assert dataset[5]["name"] == "sample 5"
    assert dataset.stats()["items"] == 1


def test_attributes_are_the_other_datasets(notes):
    inner = Counted(notes)
    dataset = drapps.cached(inner, budget=1 << 20)
    assert isinstance(dataset, CachedDataset)
    assert isinstance(dataset, data.Dataset)
    assert dataset.dataset is inner
    assert dataset.size == 60
    assert len(dataset) == 60
    assert repr(dataset) == f"drapps.cached({inner!r})"
    with pytest.raises(AttributeError, match="no attribute 'other'"):
        dataset.other  # noqa: B018
    with pytest.raises(AttributeError, match="set it there"):
        dataset.size = 3
    dataset.mine = 4
    assert dataset.mine == 4
    assert not hasattr(inner, "mine")


def test_copies_have_the_same_items(notes):
    dataset = drapps.cached(Counted(notes), budget=1 << 20)
    dataset[1]
    for other in (copy.copy(dataset), copy.deepcopy(dataset), pickle.loads(pickle.dumps(dataset))):
        assert other[1]["name"] == "sample 1"
        assert other.stats() == dataset.stats()
    assert noted(notes) == [1]


def test_a_process_that_cannot_attach_says_why(notes, tmp_path):
    def write():
        pickled = pickle.dumps(drapps.cached(Counted(notes), budget=1 << 20))
        (tmp_path / "dataset").write_bytes(pickled)

    child = multiprocessing.get_context("fork").Process(target=write)
    child.start()
    child.join()
    assert child.exitcode == 0
    with pytest.raises(PipelineError, match=r"cannot be attached to .*must be running"):
        pickle.loads((tmp_path / "dataset").read_bytes())


def test_a_process_with_other_code_makes_its_samples_itself(notes, monkeypatch, caplog):
    dataset = drapps.cached(Counted(notes), budget=1 << 20)
    pickled = pickle.dumps(dataset)
    monkeypatch.setattr("drapps.item_cache.dataset.cache_here", lambda _: None)
    other = pickle.loads(pickled)
    other[4]
    assert dataset[4]["name"] == "sample 4"
    assert noted(notes) == [4]
    monkeypatch.setattr("drapps.item_cache.dataset.code_of", lambda _: b"other")
    apart = pickle.loads(pickled)
    assert apart[4]["name"] == "sample 4"
    assert apart.stats() == {}
    assert pickle.loads(pickle.dumps(apart))[4]["name"] == "sample 4"
    assert noted(notes) == [4, 4, 4]
    assert caplog.text.count("has other code for Counted than the process that made its cache") == 1


class Stream(data.IterableDataset):
    def __iter__(self):
        return iter(range(3))


class NoLength:
    def __getitem__(self, index):
        return index


@pytest.mark.parametrize(
    ("dataset", "options", "message"),
    [
        (Stream(), {}, "Stream is an iterable-style dataset or a DataPipe, whose samples have no"),
        ((x for x in "ab"), {}, "generator has no __getitem__"),
        (NoLength(), {}, "NoLength has no length"),
        ([1], {"budget": -1}, "budget=-1 must be a whole number from 0"),
        ([1], {"budget": 1.5}, "budget=1.5 must be"),
        ([1], {"budget": 1 << 60}, "a budget of up to"),
        (range(1 << 40), {"budget": 1 << 30}, "a table of 1099511627776 items takes"),
        ([1], {"version": 1.5}, "version=1.5 must be a text or a whole number"),
    ],
)
def test_what_makes_no_sense_is_refused(dataset, options, message):
    with pytest.raises(PipelineError, match=message):
        drapps.cached(dataset, **options)


def test_the_budget_counts_as_used_while_the_dataset_lives(notes):
    def used():
        gc.collect()
        return _core.memory()["accounts"]["processes"]["used"]

    before = used()
    dataset = drapps.cached(Counted(notes), budget=1 << 24)
    assert used() - before == (1 << 24) + dataset.stats()["table_bytes"]
    del dataset
    assert used() == before
    free = _core.memory()["limit"] - _core.memory()["used"]
    budget = drapps.cached(Counted(notes)).stats()["budget"]
    assert free // 8 < budget <= free // 2 + 1


def test_a_budget_beyond_the_ram_budget_leaves_memory_to_lifted_loaders(notes, caplog):
    rows = data.TensorDataset(torch.arange(100_000).reshape(1000, 100))
    limit = _core.memory()["limit"]
    dataset = drapps.cached(Counted(notes), budget=10**13)
    assert "budget=10000000000000 is more than this process's RAM budget" in caplog.text
    assert limit // 2 < dataset.stats()["budget"] <= limit
    assert _core.memory()["used"] <= limit
    loader = drapps.torch.DataLoader(rows, 100)
    assert loader.lifted().native
    for _ in range(2):
        assert torch.equal(torch.cat([batch for (batch,) in loader]), rows.tensors[0])
    dataset[3]
    assert dataset.stats()["items"] == 1


def test_a_cached_folder_of_pictures_is_not_lifted(photos, torchvision):
    v1 = torchvision.transforms
    transform = v1.Compose([v1.Resize((32, 32)), v1.ToTensor()])
    folder = torchvision.datasets.ImageFolder(photos, transform)
    cached = drapps.cached(folder, budget=1 << 26)
    assert drapps.torch.DataLoader(folder).lifted().native
    for dataset in (cached, data.Subset(cached, [1, 2])):
        report = drapps.torch.DataLoader(dataset).lifted()
        assert not report.native
        assert "drapps.item_cache.dataset.CachedDataset" in report.reasons[0]
    assert cached.classes == folder.classes
    for index in (4, 4):
        assert torch.equal(cached[index][0], folder[index][0])
    assert cached.stats()["items"] == 1


class Safe(Counted):
    thread_safe = True

    def __getitem__(self, index):
        note(self.notes, os.getpid())
        return index


def test_a_cache_is_no_state_that_a_dataset_keeps(notes):
    dataset = drapps.cached(Safe(notes), budget=1 << 22)
    loader = drapps.torch.DataLoader(dataset, 4, num_workers=2)
    for _ in range(2):
        list(loader)
    plan = loader.explain()["plan"]
    assert not plan.get("own_state")
    assert os.getpid() not in noted(notes), "it is for processes, not for threads"
    assert dataset.stats()["items"] == 60


def test_memory_that_was_overwritten_is_an_error(notes):
    dataset = drapps.cached(Counted(notes), budget=1 << 20)
    dataset[2]
    cache = dataset._keeper.cache
    item = bytes(cache.get(2))
    with mmap.mmap(cache.fd, os.fstat(cache.fd).st_size) as memory:
        place = memory.find(item)
        memory[place + 30] ^= 255
    with pytest.raises(SampleError, match=r"corrupt.*sample 2.*something has written over"):
        dataset[2]


class Raising(data.Dataset):
    """Its attributes that are not there raise KeyError, and one of them without end."""

    def __len__(self):
        return 4

    def __getitem__(self, index):
        return index * index

    def __getattr__(self, name):
        if name == "endless":
            return self.endless
        return {}[name]


def test_looking_at_a_datasets_attributes_raises_nothing():
    kept = drapps.cached(Raising(), budget=1 << 20)
    assert [kept[index] for index in (*range(4), *range(4))] == [0, 1, 4, 9] * 2
    assert not hasattr(kept, "__getitems__")
    kept.endless = 3  # of the wrapper: the other has none that can be read
    assert kept.endless == 3
    with pytest.raises(PipelineError, match=r"no datasets\.Dataset"):
        hf.images(Raising())
