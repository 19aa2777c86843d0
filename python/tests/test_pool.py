"""How many worker processes there may be, by what they need besides cores."""

import os
import resource

import pytest
import torch
from torch.utils import data

import drapps.torch
from drapps import _core
from drapps.worker import worker_process
from drapps.worker.pool import board_of

OWN = 64 << 20  # bytes


class Hungry(data.Dataset):
    """Each process that makes samples takes some memory."""

    def __init__(self):
        self.maker, self.taken = os.getpid(), None

    def __len__(self):
        return 64

    def __getitem__(self, index):
        if self.taken is None and os.getpid() != self.maker:
            self.taken = bytearray(os.urandom(1) * OWN)
        return torch.tensor(index)


@pytest.fixture
def pool():
    loader = drapps.torch.DataLoader(Hungry(), 4, num_workers=2, persistent_workers=True)
    iterator = iter(loader)
    next(iterator)
    yield iterator._processes.pool
    del iterator, loader


def test_as_many_as_half_of_the_free_memory_holds(pool, monkeypatch):
    own = worker_process.own_bytes(pool.active[0].pid)
    assert OWN < own < 10 * OWN
    monkeypatch.setattr(_core, "available_memory", lambda: 10 * own + own // 2)
    assert pool.most(1000) == pytest.approx(len(pool.running) + 5, abs=1)
    monkeypatch.setattr(_core, "available_memory", lambda: 0)
    assert pool.most(1000) == len(pool.running)


def test_as_many_as_there_are_places_or_files_for(pool, monkeypatch):
    monkeypatch.setattr(_core, "available_memory", lambda: 1 << 50)
    assert pool.most(3) == 3
    monkeypatch.setattr(resource, "getrlimit", lambda _: (800, 4096))
    assert pool.most(1000) == 100
    monkeypatch.setattr(resource, "getrlimit", lambda _: (resource.RLIM_INFINITY,) * 2)
    assert pool.most(30) == 30


def test_each_process_has_two_batches_ahead_where_they_are_small(pool):
    assert len(pool.running) == 2
    assert pool.ahead(4, 0) == 1, "of four pieces each; how large they are is not known yet"
    assert pool.ahead(1, 0) == 4
    assert pool.ahead(4, 1000) == 4
    assert pool.ahead(4, (128 << 20) // 3) == 3
    assert pool.ahead(4, 1 << 40) == 1


def test_more_processes_than_workers_have_more_batches_ahead():
    settings = None
    for processes, ahead in ((2, 4), (5, 10)):
        loader = drapps.torch.DataLoader(
            range(4000), 40, num_workers=2, policy="initial", settings=settings
        )
        iterator = iter(loader)
        for _ in range(4):  # the first ones tell whether the dataset keeps a state
            next(iterator)
        settings = loader.export_settings()
        settings["knobs"]["processes"] = 5
        assert len(iterator._processes.pool.running) == processes
        assert len(iterator._requests.window.sent) == ahead


def test_memory_that_is_free_is_read_again():
    assert 0 < _core.available_memory() <= os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGESIZE")


def test_more_workers_than_a_board_has_room_for_are_refused_by_name():
    with pytest.raises(drapps.PipelineError, match="num_workers is too large: a board has 1 to"):
        board_of(5_000, 10_000)
