"""How worker processes start."""

import multiprocessing
import os
import pickle

import pytest
import torch
from torch.utils import data

from python.tests.torch_contract.samples import (
    Calls,
    Counting,
    Squares,
    parent_process,
    plain,
    process,
    worker,
)

METHODS = ["fork", "forkserver"]  # spawn, which imports torch anew in each worker, has its own test


@pytest.fixture(autouse=True, scope="module")
def ready_server():
    """The server of forkserver imports torch once."""
    multiprocessing.set_forkserver_preload(["torch", "python.tests.torch_contract.modes"])


@pytest.mark.parametrize("method", METHODS)
def test_every_method_gives_the_same(loader_class, method):
    for context in (method, torch.multiprocessing.get_context(method)):
        loader = loader_class(Squares(5), 2, num_workers=2, multiprocessing_context=context)
        assert plain(loader) == [[0, 1], [4, 9], [16]]
        streaming = loader_class(Counting(3), num_workers=1, multiprocessing_context=context)
        assert plain(streaming) == [[0], [1], [2]]


def facts(loader_class, method):
    torch.manual_seed(5)
    loader = loader_class(
        Calls(worker, 4), batch_size=None, num_workers=2, multiprocessing_context=method
    )
    return list(loader)


def test_workers_are_the_same_however_they_started(loader_class):
    samples = facts(loader_class, "forkserver")
    assert samples == facts(loader_class, "fork")
    assert [sample[4] for sample in samples] == [1] * 4


def test_the_method_is_obeyed(loader_class):
    def parent(method):
        loader = loader_class(
            Calls(parent_process, 1), batch_size=None, num_workers=1, multiprocessing_context=method
        )
        return next(iter(loader))

    assert parent("fork") == os.getpid()
    assert parent("forkserver") != os.getpid()


def test_by_default_it_is_that_of_the_python(loader_class):
    default = torch.multiprocessing.get_start_method(allow_none=False)
    loader = loader_class(Calls(parent_process, 1), batch_size=None, num_workers=1)
    assert loader.multiprocessing_context is None
    assert (next(iter(loader)) == os.getpid()) is (default == "fork")


def test_closures_travel_by_fork(loader_class):
    secret = object()
    loader = loader_class(
        Calls(lambda _: id(secret), 1),
        batch_size=None,
        num_workers=1,
        multiprocessing_context="fork",
    )
    assert next(iter(loader)) == id(secret)


@pytest.mark.filterwarnings("ignore:Got pickle error")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # of stock
def test_and_otherwise_only_where_they_can(loader_class):
    loader = loader_class(
        Calls(lambda index: index + 5, 2),
        batch_size=None,
        num_workers=1,
        multiprocessing_context="forkserver",
    )
    if loader_class is data.DataLoader:
        with pytest.raises((pickle.PicklingError, AttributeError, TypeError)):
            iter(loader)
    else:
        assert list(loader) == [5, 6]


# test_workers_start_methods.py spawns workers in any run.
@pytest.mark.full
def test_spawned_workers(loader_class):
    loader = loader_class(
        Calls(process, 4), batch_size=None, num_workers=1, multiprocessing_context="spawn"
    )
    pids = set(loader)
    assert len(pids) == 1
    assert os.getpid() not in pids
