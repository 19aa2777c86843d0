"""``seed=`` fixes the order and the numbers of Python datasets, as it does of lifted data."""

import json
import random

import numpy as np
import pytest
import torch
from torch.utils import data
from torch.utils.data.datapipes.iter import IterableWrapper

from drapps.torch import DataLoader
from python.tests.cells import cells


class Drawn(data.Dataset):
    """Indices beside a number of each library, and of a generator seeded by the worker."""

    rng = None

    def __init__(self, keeps=False):
        self.keeps = keeps

    def __len__(self):
        return 26

    def __getitem__(self, index):
        numbers = [float(index), float(torch.rand(())), random.random(), np.random.rand()]
        if self.keeps and (info := data.get_worker_info()) is not None:
            self.rng = self.rng or np.random.default_rng(info.seed)
            numbers.append(self.rng.random())
        return torch.tensor(numbers, dtype=torch.float64)


class Stream(data.IterableDataset):
    """Draws its order and its numbers."""

    def __iter__(self):
        for index in torch.randperm(11).tolist():
            yield torch.tensor([float(index), random.random(), np.random.rand()])


def seeded(number):
    torch.manual_seed(number)
    random.seed(number)
    np.random.seed(number)


def passes(dataset, number=0, **options):
    seeded(number)
    loader = DataLoader(dataset, 4, seed=3, **options)
    return [torch.cat(list(loader)).tolist() for _ in range(2)]


DATASETS = [Drawn(), Drawn(keeps=True), Stream()]
WORKERS = [
    {"num_workers": 0},
    {"num_workers": 2},
    {"num_workers": 2, "persistent_workers": True},
]


@pytest.mark.parametrize(("dataset", "options"), cells(DATASETS, WORKERS))
def test_it_fixes_order_and_numbers(dataset, options):
    options = {**options, **({} if isinstance(dataset, Stream) else {"shuffle": True})}
    first, second = passes(dataset, 1, **options)
    assert [first, second] == passes(dataset, 2, **options)
    assert first != second


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("workers", [0, 2])
def test_it_fixes_what_pipes_shuffle(workers):
    def pipe():
        return IterableWrapper(list(range(26))).shuffle().sharding_filter()

    first = passes(pipe(), 1, num_workers=workers)
    assert first == passes(pipe(), 2, num_workers=workers)
    assert sorted(first[0]) == list(range(26))


def test_the_same_for_any_number_of_workers():
    one = passes(Drawn(), 1, shuffle=True, num_workers=1)
    assert one == passes(Drawn(), 2, shuffle=True, num_workers=3)
    assert one == passes(Drawn(), 3, shuffle=True, num_workers=0)
    assert passes(Stream(), 1, num_workers=1) == passes(Stream(), 2, num_workers=0)


def test_the_order_is_that_of_lifted_data():
    numbers = data.TensorDataset(torch.arange(26))

    def order(lift, **options):
        loader = DataLoader(numbers, 4, shuffle=True, seed=3, lift=lift, **options)
        assert loader.lifted().native == lift
        return [torch.cat([b for (b,) in loader]).tolist() for _ in range(2)]

    assert order(False) == order(True)
    generator = torch.Generator().manual_seed(1)
    assert order(False, generator=generator) == order(True)
    assert [row[0] for row in passes(Drawn(), shuffle=True)[0]] == order(True)[0]


@pytest.mark.parametrize(("generator", "workers"), cells([None, 5], [0, 1]))
def test_it_draws_from_generators_what_stock_draws(generator, workers):
    def left(kind, **options):
        seeded(4)
        own = None if generator is None else torch.Generator().manual_seed(generator)
        loader = kind(range(26), 4, shuffle=True, num_workers=workers, generator=own, **options)
        list(loader)
        return [torch.rand(2).tolist(), own and own.get_state().tolist()]

    assert left(DataLoader, seed=3) == left(data.DataLoader)


def test_without_workers_the_state_of_the_caller_is_the_callers():
    seeded(1)
    loader = DataLoader(Drawn(), 4, seed=3)
    for _ in loader:
        pass
    numbers = random.random(), np.random.rand()
    seeded(1)
    assert numbers == (random.random(), np.random.rand())


@pytest.mark.parametrize(
    ("dataset", "workers", "steps"), cells([Drawn(), Stream()], [0, 2], [0, 1, 3])
)
def test_a_state_has_the_seed(dataset, workers, steps):
    options = {} if isinstance(dataset, Stream) else {"shuffle": True}

    def make(**more):
        return DataLoader(dataset, 4, num_workers=workers, **options, **more)

    loader = make(seed=3)
    loader.set_epoch(5)
    iterator = iter(loader)
    for _ in range(steps):
        next(iterator)
    state = json.loads(json.dumps(loader.state_dict()))
    rest = [batch.tolist() for batch in iterator]
    for more in ({"seed": 3}, {"seed": 4}, {}) if steps == 1 else ({},):
        seeded(9)
        again = make(**more)
        again.load_state_dict(state)
        assert [batch.tolist() for batch in again] == rest


def test_a_state_of_a_loader_without_one_goes_on_in_its_order():
    loader = DataLoader(Drawn(), 4, shuffle=True, num_workers=1)
    iterator = iter(loader)
    next(iterator)
    again = DataLoader(Drawn(), 4, shuffle=True, num_workers=1, seed=3)
    again.load_state_dict(loader.state_dict())
    assert [b[:, 0].tolist() for b in again] == [b[:, 0].tolist() for b in iterator]


@pytest.mark.parametrize("workers", [0, 1])
def test_in_torch_order_it_is_not_used(workers):
    def order(kind, **options):
        torch.manual_seed(2)
        return torch.cat(list(kind(Drawn(), 4, shuffle=True, num_workers=workers, **options)))[
            :, :2
        ]

    loader = DataLoader(Drawn(), seed=3, torch_order=True, num_workers=workers)
    assert "seed is not used" in loader.lifted().notes
    indices = order(DataLoader, seed=3, torch_order=True)
    assert torch.equal(indices, order(data.DataLoader))
