"""Python datasets in worker processes: how they start, what is sent to them, how they end."""

from __future__ import annotations

import gc
import itertools
import os
import signal
import threading
import time
from pathlib import Path

import pytest
import torch
from torch.utils import data

import drapps.torch
from python.tests.cells import full
from python.tests.worker_datasets import Plain


@pytest.mark.parametrize("method", [full("spawn"), "forkserver"])
def test_start_methods_give_the_same(method):
    loader = drapps.torch.DataLoader(Plain(), 8, num_workers=1, multiprocessing_context=method)
    expected = drapps.torch.DataLoader(Plain(), 8, num_workers=2)
    for ours, theirs in zip(loader, expected, strict=True):
        assert torch.equal(ours[0], theirs[0])
        assert torch.equal(ours[1], theirs[1])


def test_lambdas_and_local_classes_reach_spawned_workers():
    class Local(Plain):
        def __getitem__(self, index):
            return index

    loader = drapps.torch.DataLoader(
        Local(), 8, num_workers=1, multiprocessing_context="spawn", collate_fn=lambda batch: batch
    )
    assert list(itertools.chain(*loader)) == list(range(40))


def test_a_parent_that_cannot_be_forked_uses_a_server(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    seen = set()
    loader = drapps.torch.DataLoader(Plain(), 8, num_workers=1, collate_fn=lambda batch: len(batch))
    for _ in range(2):
        iterator = iter(loader)
        seen |= {process.pid for process in iterator._workers}
        assert sum(iterator) == 40
    assert len(seen) == 2
    assert loader.explain()["plan"]["start_method"] == "forkserver"


@pytest.mark.parametrize("method", ["fork", full("forkserver")])
def test_a_stopped_worker_of_an_iterator_that_is_garbage_ends(method):
    loader = drapps.torch.DataLoader(Plain(), 8, num_workers=1, multiprocessing_context=method)
    iterator = iter(loader)
    next(iterator)
    (process,) = iterator._workers
    pid = process.pid
    os.kill(pid, signal.SIGSTOP)
    iterator.itself = iterator
    del iterator, process
    gc.collect()
    end = time.monotonic() + 10
    while _runs(pid) and time.monotonic() < end:  # a fork server reaps its children when it can
        time.sleep(0.01)
    assert not _runs(pid)


def _runs(pid):
    try:
        return "zombie" not in Path(f"/proc/{pid}/status").read_text().splitlines()[2]
    except OSError:
        return False


def test_an_unpicklable_dataset_is_named_by_its_path():
    dataset = Plain()
    dataset.lock = threading.Lock()
    loader = drapps.torch.DataLoader(dataset, 8, num_workers=1, multiprocessing_context="spawn")
    with pytest.raises(TypeError, match=r"dataset\.lock \(_thread\.lock\) cannot be sent"):
        iter(loader)


class Late(data.Dataset):
    """The first sample takes long."""

    def __len__(self):
        return 8

    def __getitem__(self, index):
        time.sleep(0.3 if index == 0 else 0.0)
        return index


@pytest.mark.parametrize("persistent", [False, full(True)])
def test_the_time_to_the_first_batch_is_broken_down(persistent):
    began = time.monotonic()
    loader = drapps.torch.DataLoader(
        Late(),
        1,
        num_workers=1,
        persistent_workers=persistent,
        worker_init_fn=lambda _: time.sleep(0.2),
    )
    assert loader.explain()["plan"].get("first_batch") is None
    iterator = iter(loader)
    next(iterator)
    took = time.monotonic() - began
    first = loader.explain()["plan"]["first_batch"]
    assert 0.2 <= first["start_dataset_s"] < took
    assert 0.3 <= first["first_sample_s"] < took
    assert first["start_process_s"] > 0
    assert sum(first.values()) <= took
    list(iterator)
    assert loader.explain()["plan"]["first_batch"] == first
