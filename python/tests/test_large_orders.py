"""Shuffled orders of large datasets are computed: every sample once, and next to no memory."""

import itertools
import json
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch.utils import data  # noqa: E402

import drapps.torch  # noqa: E402
from drapps import _core  # noqa: E402
from drapps.torch import permuted  # noqa: E402
from python.tests.cells import full  # noqa: E402

SIZE = 203
MIB = 1 << 20


class Indices(data.Dataset):
    def __init__(self, size=SIZE):
        self.size = size

    def __len__(self):
        return self.size

    def __getitem__(self, index):
        return index


@pytest.fixture(autouse=True)
def all_are_large(monkeypatch):
    monkeypatch.setattr(permuted, "LARGE", 100)


def loader_of(workers=2, **options):
    return drapps.torch.DataLoader(
        Indices(), 8, **{"shuffle": True, "num_workers": workers, **options}
    )


def order_of(loader):
    return torch.cat(list(loader)).tolist()


@pytest.mark.parametrize("workers", [0, 2])
def test_every_sample_comes_once_in_an_order_per_pass(workers):
    torch.manual_seed(3)
    loader = loader_of(workers)
    first, second = order_of(loader), order_of(loader)
    assert sorted(first) == sorted(second) == list(range(SIZE))
    assert first != second != list(range(SIZE))


def test_the_order_is_the_documented_bijection_of_the_seed_that_stock_draws():
    torch.manual_seed(3)
    torch.empty((), dtype=torch.int64).random_()  # the base seed
    seed = int(torch.empty((), dtype=torch.int64).random_())
    after = torch.get_rng_state()
    expected = np.arange(SIZE, dtype=np.uint64)
    _core.permute(expected, SIZE, seed, 0)
    torch.manual_seed(3)
    assert order_of(loader_of()) == expected.tolist()
    assert torch.equal(torch.get_rng_state(), after)


def test_a_generator_makes_the_order():
    def order(seed):
        return order_of(loader_of(0, generator=torch.Generator().manual_seed(seed)))

    assert order(5) == order(5) != order(6)


@pytest.mark.parametrize(
    "options", [{}, full({"generator": 7}), {"batch_size": None}, full({"drop_last": True})]
)
def test_the_rest_is_what_was_left(options):
    def make(workers=2):
        torch.manual_seed(9)
        extra = dict(options)
        if "generator" in extra:
            extra["generator"] = torch.Generator().manual_seed(extra["generator"])
        arguments = {"batch_size": 8, "shuffle": True, "num_workers": workers, **extra}
        return drapps.torch.DataLoader(Indices(), **arguments)

    loader = make()
    taken = iter(loader)
    whole, states = [], [json.dumps(loader.state_dict())]
    for batch in taken:
        whole.append(torch.as_tensor(batch).tolist())
        states.append(json.dumps(loader.state_dict()))
    last = len(whole) - 1
    for steps, workers in ((1, 0), (11, 3)) if options else ((0, 2), (1, 0), (11, 3), (last, 2)):
        again = make(workers)
        torch.manual_seed(1)
        again.load_state_dict(json.loads(states[steps]))
        assert [torch.as_tensor(batch).tolist() for batch in again] == whole[steps:]


def ranks_of(world, drop_last=False, workers=0):
    for rank in range(world):
        sampler = data.DistributedSampler(range(SIZE), world, rank, seed=4, drop_last=drop_last)
        sampler.set_epoch(2)
        yield loader_of(workers, shuffle=None, sampler=sampler)


@pytest.mark.parametrize("drop_last", [False, True])
@pytest.mark.parametrize("world", [1, 2, 3, 16])
def test_ranks_take_as_many_samples_as_under_stock(world, drop_last):
    loaders = list(ranks_of(world, drop_last))
    parts = [order_of(loader) for loader in loaders]
    assert {len(part) for part in parts} == {len(loaders[0].sampler)}
    dealt = Counter(itertools.chain(*parts))
    over = len(loaders[0].sampler) * world - SIZE
    assert sum(dealt.values()) == SIZE + over
    assert len(dealt) == min(SIZE, SIZE + over) and max(dealt.values()) <= 2
    assert not drop_last or max(dealt.values()) == 1


@pytest.mark.parametrize("world", [1, full(3), 16])
def test_another_world_deals_out_what_is_left(world):
    before = [(loader, iter(loader)) for loader in ranks_of(2)]
    seen = [i for _, taken in before for b in itertools.islice(taken, 5) for i in b.tolist()]
    state = before[0][0].state_dict()
    rest = []
    for loader in ranks_of(world, workers=2 * (world < 16)):
        loader.load_state_dict(state)
        rest.append(order_of(loader))
    left = [i for row in itertools.zip_longest(*rest) for i in row if i is not None]
    assert sorted(seen + left[: SIZE - len(seen)]) == list(range(SIZE))


def test_torch_order_keeps_the_list_of_stock_and_the_states_do_not_mix():
    torch.manual_seed(3)
    expected = order_of(data.DataLoader(Indices(), 8, shuffle=True))
    torch.manual_seed(3)
    assert order_of(loader_of(2, torch_order=True)) == expected
    loader = loader_of()
    next(iter(loader))
    with pytest.raises(drapps.PipelineError, match="its order is 'permuted'"):
        loader_of(torch_order=True).load_state_dict(loader.state_dict())


def test_positions_outside_are_refused():
    with pytest.raises(IndexError):
        _core.permute(np.array([5], np.uint64), 5, 0, 0)
    with pytest.raises(ValueError, match="2\\^48"):
        _core.permute(np.zeros(1, np.uint64), (1 << 48) + 1, 0, 0)


# Each case in a fork, which counts its own memory.
FOOTPRINT = """
import itertools, os, resource, sys, time
import torch
from torch.utils import data
import drapps.torch

class Huge(data.Dataset):
    def __len__(self):
        return 10**9

    def __getitem__(self, index):
        return index

def footprint(ranks, workers, shuffle):
    dataset = Huge()
    sampler = data.DistributedSampler(dataset, ranks, 1) if ranks > 1 else None
    options = {"sampler": sampler} if sampler else {"shuffle": shuffle}
    loader = drapps.torch.DataLoader(dataset, 64, num_workers=workers, **options)
    began = time.monotonic()
    taken = [batch.tolist() for batch in itertools.islice(loader, 100)]
    took = time.monotonic() - began
    assert len(set(itertools.chain(*taken))) == 6400
    whose = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return max(resource.getrusage(who).ru_maxrss for who in whose) * 1024, took

for workers in 0, 2:
    for ranks, shuffle in (1, False), (1, True), (8, True):
        if (child := os.fork()) == 0:
            print(workers, ranks, shuffle, *footprint(ranks, workers, shuffle), flush=True)
            sys.exit(0)
        assert os.waitpid(child, 0)[1] == 0
"""


@pytest.mark.full
def test_a_billion_samples_are_shuffled_in_16_mib():
    command = [sys.executable, "-c", FOOTPRINT]
    out = subprocess.run(command, check=True, capture_output=True, text=True, timeout=600).stdout
    cases = [line.split() for line in out.splitlines()]
    for workers in "0", "2":
        peaks = {tuple(case[1:3]): int(case[3]) for case in cases if case[0] == workers}
        sequential = peaks.pop(("1", "False"))
        assert len(peaks) == 2
        assert all(peak - sequential <= 16 * MIB for peak in peaks.values()), peaks
    assert all(float(case[4]) < 300 for case in cases)
