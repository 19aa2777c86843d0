"""Every rank of a job lifts alike, whatever the sizes are."""

import itertools
import json

import pytest

torch = pytest.importorskip("torch")

from torch.utils import data  # noqa: E402

import drapps.torch  # noqa: E402
from python.tests.cells import some_full  # noqa: E402


def loader(dataset, world, rank, batch, drop_last=False):
    sampler = data.DistributedSampler(dataset, world, rank, shuffle=True, seed=3)
    return drapps.torch.DataLoader(dataset, batch, sampler=sampler, drop_last=drop_last, seed=1)


@pytest.mark.parametrize(
    ("world", "drop_last"),
    some_full([*itertools.product([2, 3, 8], [False, True])], (2, True), (3, False)),
)
def test_all_ranks_of_a_job_are_lifted_and_deal_as_stock_does(world, drop_last):
    for size in (1, 2, 3, 5, 7, 13, 17, 25):
        dataset = data.TensorDataset(torch.arange(size))
        for batch in (1, 2, 3, 4):
            for rank in range(world):
                mine = loader(dataset, world, rank, batch, drop_last)
                place = (size, batch, rank)
                assert mine.lifted(), (place, str(mine.lifted()))
                stock = data.DataLoader(dataset, batch, sampler=mine.sampler, drop_last=drop_last)
                rows, wanted = [x.tolist() for (x,) in mine], [x.tolist() for (x,) in stock]
                assert rows == wanted, place


def test_a_state_of_one_rank_is_taken_by_another(photos, torchvision, v1):
    chain = v1.Compose([v1.RandomResizedCrop(16), v1.ToTensor()])
    dataset = torchvision.datasets.ImageFolder(photos, chain)
    assert len(dataset) == 21
    loaders = [loader(dataset, 4, rank, 10) for rank in range(4)]  # 21 mod (10 * 2) = 1 < 2
    states = [json.dumps(one.state_dict()) for one in loaders]
    assert len(set(states)) == 1
    for one in loaders:
        one.load_state_dict(json.loads(states[1]))


def test_ranks_with_one_seed_augment_apart_and_as_they_always_did(photos, torchvision, v1):
    chain = v1.Compose([v1.RandomResizedCrop(16), v1.ToTensor()])
    one = torchvision.datasets.ImageFolder(photos, chain)
    same = data.Subset(one, [5] * 8)
    pictures = [next(iter(loader(same, 2, rank, 4)))[0] for rank in range(2)]
    assert not torch.equal(*pictures)
    plain = drapps.torch.DataLoader(same, 4, sampler=range(4), seed=1 + 0x9E3779B97F4A7C15)
    assert torch.equal(next(iter(plain))[0], pictures[1])
