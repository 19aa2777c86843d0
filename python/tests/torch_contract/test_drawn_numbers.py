"""The random numbers that datasets and collate functions draw in workers."""

import random

import numpy as np
import pytest
import torch
from torch.utils import data
from torch.utils.data.datapipes.iter import IterableWrapper

from python.tests.cells import some_full
from python.tests.torch_contract.conftest import each_order
from python.tests.torch_contract.samples import Calls, drawn, draws

workers = pytest.mark.parametrize("workers", [1, 2])


class Noise(data.IterableDataset):
    """Numbers drawn as they are asked for, by each worker."""

    def __iter__(self):
        for number in range(5):
            yield drawn(number)


def reseeded(number):
    torch.manual_seed(1000 + number)
    random.seed(1000 + number)
    np.random.seed(1000 + number)


def with_noise(samples):
    """Collates, and draws."""
    return torch.stack([*samples, torch.tensor([-1.0, *draws()], dtype=torch.float64)])


def epochs(loader_class, dataset=None, number=2, seed=7, **arguments):
    """Two epochs of a loader, all the numbers in one tensor each."""
    torch.manual_seed(seed)
    random.seed(seed)
    np.random.seed(seed)
    dataset = Calls(drawn, 14) if dataset is None else dataset
    loader = loader_class(dataset, 3, num_workers=number, **arguments)
    return [torch.cat(list(loader)) for _ in range(2)]


def equal(ours, theirs):
    return len(ours) == len(theirs) and all(map(torch.equal, ours, theirs))


@pytest.mark.parametrize("number", some_full([0, 1, 2, 3], 0, 2))
@pytest.mark.parametrize("shuffle", [False, True])
def test_in_torch_order_they_are_those_of_stock(serial_class, number, shuffle):
    arguments = {"number": number, "shuffle": shuffle, "collate_fn": with_noise}
    assert equal(epochs(serial_class, **arguments), epochs(data.DataLoader, **arguments))


def test_in_torch_order_persistent_workers_go_on_drawing_as_in_stock(serial_class):
    arguments = {"persistent_workers": True, "shuffle": True}
    numbers = epochs(serial_class, **arguments)
    assert equal(numbers, epochs(data.DataLoader, **arguments))
    assert not torch.equal(numbers[0], numbers[1])


@workers
def test_in_torch_order_worker_init_fn_seeds_as_in_stock(serial_class, workers):
    arguments = {"number": workers, "worker_init_fn": reseeded}
    assert equal(epochs(serial_class, **arguments), epochs(data.DataLoader, **arguments))


def test_a_stream_draws_what_it_draws_in_stock(loader_class):
    # A stream is serial in every mode: it has no positions before it has run.
    for number in (0, 1, 2):
        numbers = epochs(loader_class, Noise(), number)
        assert equal(numbers, epochs(data.DataLoader, Noise(), number)), number


def test_without_workers_every_mode_draws_what_stock_draws(loader_class):
    arguments = {"number": 0, "shuffle": True, "collate_fn": with_noise}
    assert equal(epochs(loader_class, **arguments), epochs(data.DataLoader, **arguments))


@pytest.mark.parametrize("shuffle", some_full([False, True], True))
def test_by_default_they_do_not_depend_on_the_number_of_workers(elastic_class, shuffle):
    arguments = {"shuffle": shuffle, "collate_fn": with_noise}
    one = epochs(elastic_class, number=1, **arguments)
    for number in (2, 3):
        assert equal(epochs(elastic_class, number=number, **arguments), one)


def test_by_default_they_do_not_depend_on_the_cores(elastic_class):
    arguments = {"shuffle": True, "collate_fn": with_noise}
    one = epochs(elastic_class, cpu_budget=1.0, **arguments)
    assert equal(epochs(elastic_class, cpu_budget=2.0, **arguments), one)


def test_the_seed_decides_and_epochs_and_samples_differ(loader_class):
    one, again, other = (epochs(loader_class, seed=seed) for seed in (7, 7, 8))
    assert equal(one, again)
    for source in (1, 2, 3):
        drawn_numbers = torch.cat([one[0][:, source], one[1][:, source], other[0][:, source]])
        assert len(drawn_numbers.unique()) == len(drawn_numbers), source


@each_order
def test_a_sample_that_comes_twice_in_an_epoch_draws_apart(loader_class):
    torch.manual_seed(1)
    loader = loader_class(Calls(drawn), 2, sampler=[4] * 6, num_workers=2)
    numbers = torch.cat(list(loader))
    assert numbers[:, 0].tolist() == [4.0] * 6
    for source in (1, 2, 3):
        assert len(numbers[:, source].unique()) == 6


def test_what_the_training_loop_draws_changes_nothing_in_the_workers(loader_class):
    def run(draw):
        torch.manual_seed(3)
        loader = loader_class(Calls(drawn, 8), 2, num_workers=1)
        batches = []
        for batch in loader:
            batches.append(batch)
            torch.rand(draw)
        return torch.cat(batches)

    assert torch.equal(run(0), run(5))


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("number", [0, 2])
@pytest.mark.parametrize("persistent", some_full([False, True], True))
def test_what_pipes_shuffle_is_shuffled_as_in_stock(loader_class, number, persistent):
    def draws_of(kind):
        pipe = IterableWrapper([torch.tensor([i]) for i in range(12)]).shuffle().sharding_filter()
        options = {"number": number, "persistent_workers": persistent and number > 0}
        return [*epochs(kind, pipe, **options), torch.rand(1)]

    assert equal(draws_of(loader_class), draws_of(data.DataLoader))
