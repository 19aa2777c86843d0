"""Streaming datasets of other libraries, unmodified, beside torch's loader and their own."""

import importlib

import numpy as np
import pytest
import torch
from torch.utils import data

from drapps.torch import DataLoader
from python.tests.cells import full

SAMPLES = 50


@pytest.fixture(scope="session")
def mosaic(tmp_path_factory):
    """What makes a dataset of mosaicml-streaming, and its own loader."""
    streaming = pytest.importorskip("streaming")
    root = str(tmp_path_factory.mktemp("mds"))
    columns = {"i": "int", "x": "ndarray"}
    with streaming.MDSWriter(out=root, columns=columns, size_limit=2000) as writer:
        for i in range(SAMPLES):
            writer.write({"i": i, "x": np.full(3, i, np.float32)})

    def make():
        streaming.base.util.clean_stale_shared_memory()
        return streaming.StreamingDataset(
            local=root, shuffle=True, shuffle_seed=7, batch_size=4, cache_limit=None
        )

    return make, streaming.StreamingDataLoader


@pytest.fixture(scope="session")
def lit(tmp_path_factory):
    """The same of litdata."""
    litdata = pytest.importorskip("litdata")
    root = str(tmp_path_factory.mktemp("lit"))
    writer = importlib.import_module("litdata.streaming.writer").BinaryWriter(root, chunk_bytes=999)
    for i in range(SAMPLES):
        writer[i] = {"i": i, "x": torch.full((3,), float(i))}
    writer.done()
    writer.merge()
    return lambda: litdata.StreamingDataset(root, shuffle=True, seed=7), litdata.StreamingDataLoader


@pytest.fixture(params=["mosaic", "lit"])
def library(request):
    """One of the libraries."""
    return request.getfixturevalue(request.param)


def rows(batches):
    return [(batch["i"].tolist(), np.asarray(batch["x"]).tolist()) for batch in batches]


def passes(kind, dataset, workers):
    loader = kind(dataset, batch_size=4, num_workers=workers)
    return [rows(loader) for _ in range(2)]


@pytest.mark.parametrize("workers", [full(0), 2])
def test_they_give_what_they_give_under_torchs_loader(library, workers):
    make, _ = library
    epochs = passes(DataLoader, make(), workers)
    assert epochs == passes(data.DataLoader, make(), workers)
    assert sorted(i for batch, _ in epochs[0] for i in batch) == list(range(SAMPLES))


@pytest.mark.parametrize("name", ["mosaic", "lit"])
def test_without_workers_they_give_what_they_give_under_their_own(name, request):
    make, own = request.getfixturevalue(name)
    assert passes(DataLoader, make(), 0) == passes(own, make(), 0)


def test_with_workers_mosaics_gives_what_it_gives_under_its_own(mosaic):
    make, own = mosaic
    assert passes(DataLoader, make(), 2) == passes(own, make(), 2)


@pytest.mark.parametrize("workers", [0, full(2)])
def test_a_pass_goes_on_where_it_was_and_says_that_they_told_no_state(library, workers, caplog):
    make, _ = library
    loader = DataLoader(make(), batch_size=4, num_workers=workers)
    iterator = iter(loader)
    for _ in range(3):
        next(iterator)
    state = loader.state_dict()
    assert "StreamingDataset.state_dict()" in caplog.text
    rest = rows(iterator)
    again = DataLoader(make(), batch_size=4, num_workers=workers)
    again.load_state_dict(state)
    assert rows(again) == rest
