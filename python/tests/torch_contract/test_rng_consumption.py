"""What a loader takes from the random generators of the training process, and when."""

import functools
import random

import numpy as np
import pytest
import torch
from torch.utils import data

from python.tests.cells import some_full
from python.tests.torch_contract.conftest import each_order
from python.tests.torch_contract.samples import Calls, Counting, Sharded, Squares, drawn

workers = pytest.mark.parametrize("workers", [0, 2])


def states(loader_class, generator=None, dataset=None, **arguments):
    """The generator's states: constructed, begun, a batch, the epoch's end, another epoch."""
    torch.manual_seed(5)
    random.seed(5)
    np.random.seed(5)
    own = None if generator is None else torch.Generator().manual_seed(generator)
    dataset = Squares(9) if dataset is None else dataset
    loader = loader_class(dataset, 2, generator=own, **arguments)

    def state():
        numpy_state = np.random.get_state()[1].tolist()
        mine = torch.zeros(0) if own is None else own.get_state()
        return mine.tolist(), torch.get_rng_state().tolist(), random.getstate(), numpy_state

    history = [state()]
    iterator = iter(loader)
    history.append(state())
    next(iterator)
    history.append(state())
    list(iterator)
    history.append(state())
    del iterator
    list(loader)
    history.append(state())
    return history


@functools.cache
def states_of_stock(**arguments):
    return states(data.DataLoader, **arguments)


@each_order
@workers
@pytest.mark.parametrize("generator", [None, 3])
@pytest.mark.parametrize("shuffle", some_full([False, True], True))
def test_the_generators_go_through_the_states_of_stock(loader_class, workers, generator, shuffle):
    arguments = {"shuffle": shuffle, "num_workers": workers, "generator": generator}
    assert states(loader_class, **arguments) == states_of_stock(**arguments)


@workers
def test_streams_take_their_one_seed_too(loader_class, workers):
    arguments = {"dataset": Sharded(9), "num_workers": workers}
    assert states(loader_class, **arguments) == states(data.DataLoader, **arguments)


@each_order
def test_persistent_workers_take_one_seed_for_all_epochs(loader_class):
    arguments = {"num_workers": 2, "persistent_workers": True, "shuffle": True}
    assert states(loader_class, **arguments) == states_of_stock(**arguments)


def test_without_workers_the_dataset_draws_from_the_process(loader_class):
    arguments = {"dataset": Calls(drawn, 7), "shuffle": True}
    assert states(loader_class, **arguments) == states(data.DataLoader, **arguments)


@each_order
@workers
def test_one_number_is_drawn_when_an_iterator_begins(loader_class, workers):
    for dataset in (Squares(), Counting()):
        loader = loader_class(dataset, num_workers=workers)
        torch.manual_seed(11)
        iterator = iter(loader)
        after = torch.get_rng_state()
        torch.manual_seed(11)
        torch.empty((), dtype=torch.int64).random_()
        assert torch.equal(after, torch.get_rng_state())
        del iterator


@workers
def test_a_generator_of_its_own_leaves_the_global_one_alone(loader_class, workers):
    before = torch.get_rng_state()
    own = torch.Generator().manual_seed(3)
    loader = loader_class(Squares(), 2, shuffle=True, generator=own, num_workers=workers)
    assert len(list(loader)) == 5
    assert torch.equal(torch.get_rng_state(), before)
    assert not torch.equal(own.get_state(), torch.Generator().manual_seed(3).get_state())


class Dice(data.Sampler):
    """Draws each index from the global generator, when it is asked for."""

    def __iter__(self):
        for _ in range(12):
            yield int(torch.randint(10, ()))

    def __len__(self):
        return 12


def thrown(loader_class, workers):
    """Batches, and what the training loop draws after each."""
    torch.manual_seed(8)
    loader = loader_class(Squares(), 2, sampler=Dice(), num_workers=workers)
    return [(batch.tolist(), float(torch.rand(()))) for batch in loader]


def test_a_sampler_that_draws_as_it_goes_meets_the_training_loop_as_in_stock(serial_class):
    for number in (0, 2):
        assert thrown(serial_class, number) == thrown(data.DataLoader, number)


def test_without_workers_it_does_so_in_every_mode(loader_class):
    assert thrown(loader_class, 0) == thrown(data.DataLoader, 0)
