"""Copies of loaders."""

import copy
import pickle

import pytest
import torch
from torch.utils import data

from python.tests.torch_contract.samples import Calls, Squares, drawn, flat, plain

ways = pytest.mark.parametrize(
    "way", [copy.copy, copy.deepcopy, lambda loader: pickle.loads(pickle.dumps(loader))]
)


@ways
@pytest.mark.parametrize("workers", [0, 1])
def test_a_copy_gives_what_the_original_gives(loader_class, way, workers):
    loader = loader_class(Squares(7), 2, drop_last=True, num_workers=workers)
    again = way(loader)
    assert type(again) is type(loader)
    assert plain(again) == plain(loader) == [[0, 1], [4, 9], [16, 25]]


@ways
def test_the_arguments_are_copied(loader_class, way):
    loader = loader_class(
        Squares(), 3, num_workers=2, prefetch_factor=4, timeout=300, persistent_workers=True
    )
    again = way(loader)
    for name in ("batch_size", "num_workers", "prefetch_factor", "timeout", "persistent_workers"):
        assert getattr(again, name) == getattr(loader, name)
    with pytest.raises(ValueError, match="should not be set after"):
        again.batch_size = 1


@ways
def test_a_copy_shuffles_as_the_original_would(loader_class, way):
    def run(loader):
        torch.manual_seed(3)
        return flat(loader)

    loader = loader_class(Squares(20), 4, shuffle=True)
    assert run(way(loader)) == run(loader)


@ways
def test_a_generator_is_copied_with_its_state(loader_class, way):
    generator = torch.Generator().manual_seed(5)
    loader = loader_class(Squares(20), 4, shuffle=True, generator=generator)
    again = way(loader)
    one = flat(again)
    other = flat(loader)
    # a shallow copy shares the generator, which goes on
    assert (one == other) is (again.generator is not loader.generator)


@ways
def test_a_loader_that_has_run_can_be_copied(loader_class, way):
    loader = loader_class(Squares(4), 2, num_workers=1)
    list(loader)
    assert plain(way(loader)) == [[0, 1], [4, 9]]


@ways
def test_a_loader_whose_persistent_workers_run_can_be_copied(own_class, way):
    loader = own_class(Squares(4), 2, num_workers=1, persistent_workers=True)
    iterator = iter(loader)
    next(iterator)
    again = way(loader)
    assert again._iterator is None
    assert plain(again) == [[0, 1], [4, 9]]
    assert plain(iterator) == [[4, 9]]


@ways
def test_the_copys_epochs_are_its_own(loader_class, way):
    def run(loader):
        torch.manual_seed(2)
        return torch.cat(list(loader))

    loader = loader_class(Calls(drawn, 6), 2, num_workers=1)
    again = way(loader)
    first = run(again)
    assert torch.equal(run(loader), first)


def test_a_loader_may_be_an_attribute_of_what_is_pickled(loader_class):
    holder = {"train": loader_class(data.Subset(Squares(9), [2, 4]), 2)}
    assert plain(pickle.loads(pickle.dumps(holder))["train"]) == [[4, 16]]
