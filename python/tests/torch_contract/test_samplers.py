"""Orders that the user gives."""

import functools
import itertools

import pytest
import torch
from torch.utils import data

from python.tests.cells import some_full
from python.tests.torch_contract.conftest import each_order
from python.tests.torch_contract.samples import Calls, Squares, flat, identity, plain

workers = pytest.mark.parametrize("workers", [0, 2])


@workers
@pytest.mark.parametrize("order", [[3, 1, 1, 0], (2, 0), range(9, 0, -3), torch.tensor([4, 2])])
def test_any_iterable_is_a_sampler(loader_class, workers, order):
    loader = loader_class(Squares(), 2, sampler=order, num_workers=workers)
    assert flat(loader) == flat(loader) == [int(index) ** 2 for index in order]


@workers
def test_negative_indices_are_the_datasets_business(loader_class, workers):
    assert flat(loader_class([5, 6, 7], sampler=[-1, 0], num_workers=workers)) == [7, 5]


@workers
def test_batches_may_be_any_iterable_of_lists_or_tuples(loader_class, workers):
    for batches in ([[1], [2, 3, 4], [0, 0]], ((1,), (2, 3, 4), (0, 0))):
        loader = loader_class(Squares(), batch_sampler=batches, num_workers=workers)
        assert plain(loader) == [[1], [4, 9, 16], [0, 0]]
        assert len(loader) == 3


@workers
def test_a_one_shot_iterable_gives_one_epoch(loader_class, workers):
    loader = loader_class(Squares(), 2, sampler=iter([1, 2, 3]), num_workers=workers)
    assert plain(loader) == [[1, 4], [9]]
    assert plain(loader) == []
    with pytest.raises(TypeError, match="has no len"):
        len(loader)


@workers
def test_indices_may_be_anything(loader_class, workers):
    words = {"a": 1, ("b", 2): 2, None: 3}
    loader = loader_class(
        words, 2, sampler=["a", ("b", 2), None], collate_fn=identity, num_workers=workers
    )
    assert list(loader) == [[1, 2], [3]]


KINDS = {
    "subset": lambda: data.SubsetRandomSampler(range(5, 10)),
    "weighted": lambda: data.WeightedRandomSampler([1.0, 5.0, 0.0, 3.0], 12),
    "replaced": lambda: data.RandomSampler(range(10), replacement=True, num_samples=15),
    "long": lambda: data.RandomSampler(range(10), num_samples=25),
}


@each_order
@workers
@pytest.mark.parametrize("kind", some_full(KINDS, "subset", "replaced"))
def test_torchs_samplers_give_what_they_give_under_stock(loader_class, workers, kind):
    assert sampled(loader_class, workers, kind) == sampled_by_stock(workers, kind)


def sampled(loader_class, workers, kind):
    """The length, and two epochs."""
    torch.manual_seed(2)
    loader = loader_class(Squares(), 4, sampler=KINDS[kind](), num_workers=workers)
    return [len(loader), plain(loader), plain(loader)]


@functools.cache
def sampled_by_stock(workers, kind):
    return sampled(data.DataLoader, workers, kind)


class Recording(data.Sampler):
    """Counts how often it is begun, and how far it is ahead."""

    def __init__(self, size):
        self.size = size
        self.begun = 0
        self.given = 0

    def __iter__(self):
        self.begun += 1
        for index in range(self.size):
            self.given = index + 1
            yield index


@each_order
@workers
def test_a_sampler_is_begun_once_an_epoch_and_not_before(loader_class, workers):
    sampler = Recording(6)
    loader = loader_class(Squares(), 2, sampler=sampler, num_workers=workers)
    assert sampler.begun == 0
    for epoch in (1, 2):
        assert flat(loader) == [0, 1, 4, 9, 16, 25]
        assert sampler.begun == epoch


@each_order
@workers
def test_an_endless_sampler_is_asked_for_a_bounded_number_ahead(loader_class, workers):
    sampler = Recording(10**9)
    loader = loader_class(Calls(identity), 1, sampler=sampler, num_workers=workers)
    iterator = iter(loader)
    assert [int(next(iterator)) for _ in range(5)] == [0, 1, 2, 3, 4]
    assert sampler.given <= 5 + 32


def test_the_number_ahead_is_that_of_stock(serial_class):
    sampler = Recording(100)
    loader = serial_class(Calls(identity), 1, sampler=sampler, num_workers=2, prefetch_factor=3)
    iterator = iter(loader)
    assert sampler.given == 6
    for taken in range(1, 10):
        next(iterator)
        assert sampler.given == 6 + taken


def test_without_workers_nothing_is_asked_for_ahead(loader_class):
    sampler = Recording(100)
    iterator = iter(loader_class(Calls(identity), 1, sampler=sampler))
    assert sampler.given == 0
    for taken in range(1, 5):
        next(iterator)
        assert sampler.given == taken


class Fails(data.Sampler):
    """Gives `good` indices, and raises."""

    def __init__(self, good):
        self.good = good

    def __iter__(self):
        yield from range(self.good)
        raise LookupError("the sampler is broken")


@workers
@pytest.mark.parametrize("good", [0, 3, 20])
def test_an_error_of_the_sampler_reaches_the_user(loader_class, workers, good):
    samples = []
    with pytest.raises(LookupError, match=r"^'?the sampler is broken'?$"):
        for sample in loader_class(Calls(identity), sampler=Fails(good), num_workers=workers):
            samples.append(int(sample))  # noqa: PERF401
    assert samples == list(range(good))[: len(samples)]


class Epochs(data.Sampler):
    """An order that `set_epoch` decides."""

    def __init__(self):
        self.epoch = 0

    def set_epoch(self, epoch):
        self.epoch = epoch

    def __iter__(self):
        return iter([self.epoch, self.epoch + 1])

    def __len__(self):
        return 2


@workers
def test_an_epoch_set_before_an_iterator_begins_counts(loader_class, workers):
    sampler = Epochs()
    for persistent in {False, workers > 0}:
        loader = loader_class(
            Squares(), sampler=sampler, num_workers=workers, persistent_workers=persistent
        )
        for epoch in range(3):
            sampler.set_epoch(epoch)
            assert flat(loader) == [epoch**2, (epoch + 1) ** 2]


@workers
def test_a_batch_sampler_of_torch_around_an_own_one(loader_class, workers):
    batches = data.BatchSampler(itertools.islice(range(100), 5), 2, drop_last=True)
    loader = loader_class(Squares(), batch_sampler=batches, num_workers=workers)
    assert plain(loader) == [[0, 1], [4, 9]]


@workers
def test_an_empty_batch_is_collates_business(loader_class, workers):
    loader = loader_class(
        Squares(), batch_sampler=[[1], [], [2]], collate_fn=identity, num_workers=workers
    )
    assert list(loader) == [[1], [], [4]]


class Eager:
    """Draws its order when it is asked for an iterator, from the global generator."""

    def __init__(self, of):
        self.of = of

    def __iter__(self):
        return iter([self.of[place] for place in torch.randperm(len(self.of)).tolist()])

    def __len__(self):
        return len(self.of)


EAGER = {
    "batch sampler": lambda: {"batch_sampler": Eager([[0, 1], [2], [3, 4, 5], [6]])},
    "no batches": lambda: {"batch_size": None, "sampler": Eager(range(7))},
    "batches": lambda: {"batch_size": 2, "sampler": Eager(range(7))},
}


@pytest.mark.parametrize("workers", [0, 2])
# The first epoch of persistent workers is that of others.
@pytest.mark.parametrize("persistent", some_full([False, True], True))
@pytest.mark.parametrize("name", EAGER)
def test_in_torch_order_a_sampler_that_draws_at_once_draws_as_often(
    serial_class, name, persistent, workers
):
    def orders(kind):
        torch.manual_seed(3)
        options = {"persistent_workers": persistent and workers > 0, **EAGER[name]()}
        loader = kind(Squares(), num_workers=workers, **options)
        return [[torch.as_tensor(b).tolist() for b in loader] for _ in range(3)], float(
            torch.rand(1)
        )

    assert orders(serial_class) == orders(data.DataLoader)
