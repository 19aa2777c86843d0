"""Differences from the stock loader that generated scripts have found."""

import itertools
from collections.abc import Sequence

import numpy as np
import pytest
import torch
from torch.utils import data

from drapps.torch import DataLoader
from python.tests.cells import some_full
from python.tests.torch_contract.modes import MODES
from python.tests.torch_contract.samples import Calls, Squares, plain


def tensors():
    return data.TensorDataset(torch.arange(12))


ORDERS = [{}, {"num_samples": 40}, {"num_samples": 13}, {"replacement": True, "num_samples": 71}]


def broken_off(loader_class, batches, workers, **order):
    """A sampler's generator in a pass that is left behind `batches`, and the next pass."""
    own = torch.Generator().manual_seed(11)
    loader = loader_class(
        tensors(),
        3,
        sampler=data.RandomSampler(tensors(), generator=own, **order),
        num_workers=workers,
    )
    iterator, states = iter(loader), [own.get_state().tolist()]
    states += [own.get_state().tolist() for _ in itertools.islice(iterator, batches)]
    return states, [batch.tolist() for (batch,) in loader], own.get_state().tolist()


@pytest.mark.parametrize("mode", ["default", "torch_order"])
@pytest.mark.parametrize("workers", [0, 1])
@pytest.mark.parametrize("batches", [1, 4, 9])
@pytest.mark.parametrize("order", some_full(ORDERS, ORDERS[0], ORDERS[3]))
def test_a_samplers_generator_and_the_order_behind_a_pass_that_was_left(
    mode, workers, batches, order
):
    actual, expected = (
        broken_off(MODES[each], batches, workers, **order) for each in (mode, "stock")
    )
    assert actual == expected


def two_at_once(loader_class):
    """An older pass, behind one that began and ended within it."""
    own = torch.Generator().manual_seed(11)
    sampler = data.RandomSampler(tensors(), True, 40, generator=own)
    loader = loader_class(tensors(), 4, sampler=sampler)
    older = iter(loader)
    next(older)
    list(loader)
    return [batch.tolist() for (batch,) in older]


@pytest.mark.xfail(
    strict=True,
    reason="a lifted loader has the order of a pass when it begins, where a sampler that draws on "
    "from a generator of the user's goes on with what another pass has left",
)
def test_two_passes_at_once_of_a_sampler_that_draws_within_them():
    assert two_at_once(MODES["default"]) == two_at_once(MODES["stock"])


def outcomes(loader_class, sampler, workers=0, **options):
    """What each ``next()`` gave or raised, to the end."""
    iterator = iter(loader_class(tensors(), 2, sampler=sampler, num_workers=workers, **options))
    history = []
    while outcome := outcome_of(iterator):
        history.append(outcome)
    return history


def outcome_of(iterator):
    """What ``next()`` gives or raises; None at the end."""
    try:
        return next(iterator)[0].tolist()
    except StopIteration:
        return None
    except Exception as error:
        return type(error).__name__


WRONG = {
    "in the second batch": [0, 1, 2, 12, 4, 5],
    "in the first, and twice in the last but one": [-13, 1, 2, 3, 99, 12, 4],
    "in a batch that is left out": [0, -12, 12],
    "everywhere": [12],
}


@pytest.mark.parametrize("drop_last", [False, True])
@pytest.mark.parametrize("workers", [0, 1])
@pytest.mark.parametrize("indices", WRONG.values(), ids=WRONG.keys())
def test_the_batches_around_an_index_that_is_not_there(indices, workers, drop_last):
    assert DataLoader(tensors(), 2, sampler=indices).lifted().native
    options = {"workers": workers, "drop_last": drop_last}
    ours, expected = (outcomes(MODES[mode], indices, **options) for mode in ("default", "stock"))
    assert ours == expected


class Fails(Sequence):
    """Indices, and an error at the fifth."""

    def __getitem__(self, place):
        if place == 4:
            raise LookupError("no more")
        return place

    def __len__(self):
        return 8


@pytest.mark.parametrize("drop_last", [False, True])
def test_the_batches_before_an_error_of_the_sampler(drop_last):
    assert DataLoader(tensors(), 2, sampler=Fails()).lifted().native
    ours, expected = (
        outcomes(MODES[mode], Fails(), drop_last=drop_last) for mode in ("default", "stock")
    )
    assert ours == expected == [[0, 1], [2, 3], "LookupError"]


def test_a_state_goes_on_behind_an_index_that_is_not_there():
    def make():
        return DataLoader(tensors(), 2, sampler=[0, 12, 2, 3, 13, 5, 6])

    loader = make()
    iterator = iter(loader)
    with pytest.raises(IndexError, match="index 12 of a dataset of 12"):
        next(iterator)
    again = make()
    again.load_state_dict(loader.state_dict())
    behind = iter(again)
    assert next(behind)[0].tolist() == next(iterator)[0].tolist() == [2, 3]
    state = again.state_dict()
    with pytest.raises(IndexError, match="index 13"):
        next(behind)
    assert next(behind)[0].tolist() == [6]
    assert again.state_dict()["epoch"] == 1
    again.load_state_dict(state)
    with pytest.raises(IndexError, match="index 13"):
        next(iter(again))


def test_a_state_of_a_batch_sampler_that_yields_iterators():
    def make():
        groups = Calls(lambda index: iter([2 * index, 2 * index + 1]), 3)
        return MODES["default"](Squares(6), batch_sampler=Sampled(groups))

    loader = make()
    next(iter(loader))
    again = make()
    again.load_state_dict(loader.state_dict())
    assert plain(again) == [[4, 9], [16, 25]]


class Sampled(data.Sampler):
    """What a dataset holds, in its order."""

    def __init__(self, dataset):
        self.dataset = dataset

    def __iter__(self):
        return (self.dataset[index] for index in range(len(self.dataset)))

    def __len__(self):
        return len(self.dataset)


def ahead_in_later_passes(loader_class):
    """States of a generator that a sampler draws from, behind each ``iter()``."""
    own = torch.Generator().manual_seed(3)
    arguments = {"shuffle": True, "generator": own, "num_workers": 2, "persistent_workers": True}
    loader = loader_class(Squares(9), 3, **arguments)
    states = []
    for _ in range(3):
        iterator = iter(loader)
        states.append(own.get_state().tolist())
        list(iterator)
    return states


def test_persistent_workers_read_the_sampler_as_far_ahead_in_each_pass():
    assert ahead_in_later_passes(MODES["torch_order"]) == ahead_in_later_passes(MODES["stock"])


def swapped(loader_class):
    """The dtype of an array of the other order of bytes, in a list."""
    loader = loader_class(
        Calls(lambda _: np.arange(3, dtype=">i4"), 1), num_workers=1, collate_fn=list
    )
    return str(next(iter(loader))[0].dtype)


def test_arrays_of_the_other_order_of_bytes():
    assert swapped(MODES["default"]) == swapped(MODES["stock"])
