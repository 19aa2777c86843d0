"""``DistributedSampler``: each rank its share."""

import pytest
from torch.utils import data

from python.tests.torch_contract.samples import Squares, flat, plain

workers = pytest.mark.parametrize("workers", [0, 2])


def ranks(loader_class, size, world, workers=0, epoch=0, batch=3, drop_last=False, **arguments):
    """The batches of each rank."""
    shares = []
    for rank in range(world):
        sampler = data.DistributedSampler(Squares(size), world, rank, seed=4, **arguments)
        sampler.set_epoch(epoch)
        loader = loader_class(
            Squares(size), batch, sampler=sampler, num_workers=workers, drop_last=drop_last
        )
        shares.append(plain(loader))
        assert len(loader) == len(shares[-1])
    return shares


@workers
def test_the_shares_are_those_of_stock(loader_class, workers):
    for epoch in (0, 3):
        mine = ranks(loader_class, 20, 3, workers, epoch)
        assert mine == ranks(data.DataLoader, 20, 3, 0, epoch)


@workers
def test_together_they_are_everything(loader_class, workers):
    shares = ranks(loader_class, 12, 3, workers)
    samples = [sample for rank in shares for batch in rank for sample in batch]
    assert sorted(samples) == [n * n for n in range(12)]


def test_ranks_take_equal_steps(loader_class):
    for size in (10, 11, 12, 13):
        assert len({len(rank) for rank in ranks(loader_class, size, 4)}) == 1
        dropping = ranks(loader_class, size, 4, batch=2, drop_last=True)
        assert {len(batch) for rank in dropping for batch in rank} == {2}


def test_a_sampler_that_drops_the_tail_repeats_nothing(loader_class):
    samples = []
    for rank in range(3):
        sampler = data.DistributedSampler(Squares(11), 3, rank, drop_last=True)
        samples += flat(loader_class(Squares(11), 2, sampler=sampler))
    assert len(samples) == len(set(samples)) == 9


@workers
def test_set_epoch_on_the_sampler_shuffles_anew(loader_class, workers):
    sampler = data.DistributedSampler(Squares(30), 2, 0, seed=4)
    for persistent in {False, workers > 0}:
        loader = loader_class(
            Squares(30), 4, sampler=sampler, num_workers=workers, persistent_workers=persistent
        )
        orders = []
        for epoch in (0, 1, 0):
            sampler.set_epoch(epoch)
            orders.append(flat(loader))
        assert orders[0] == orders[2] != orders[1]


@workers
def test_a_late_set_epoch_takes_effect_when_it_does_under_stock(loader_class, workers):
    def orders(make):
        sampler = data.DistributedSampler(Squares(30), 2, 0, seed=4)
        loader = make(Squares(30), 4, sampler=sampler, num_workers=workers)
        begun = iter(loader)
        sampler.set_epoch(1)
        return flat(begun), flat(loader)

    assert orders(loader_class) == orders(data.DataLoader)


def test_set_epoch_on_the_loader_tells_the_sampler(own_class):
    sampler = data.DistributedSampler(Squares(30), 2, 0, seed=4)
    loader = own_class(Squares(30), 4, sampler=sampler, num_workers=1)
    loader.set_epoch(2)
    assert sampler.epoch == 2
    expected = data.DistributedSampler(Squares(30), 2, 0, seed=4)
    expected.set_epoch(2)
    assert flat(loader) == [index**2 for index in expected]
