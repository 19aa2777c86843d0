"""Workers of Python datasets that resume go on with the random numbers that they had drawn."""

from __future__ import annotations

import itertools
import json
import random

import numpy as np
import pytest
import torch
from torch.utils import data

import drapps
import drapps.torch
from python.tests.cells import cells, full, some_full
from python.tests.resumed_loaders import (
    ORDERS,
    Drawn,
    Stateful,
    after,
    equal,
    loader_of,
    rest,
    run_of,
)

QUICK = [("random", 3), ("no batches", 3), ("generator", 1), ("stateful", 1)]


@pytest.mark.parametrize(("order", "workers"), some_full(itertools.product(ORDERS, [1, 3]), *QUICK))
def test_serial_workers_go_on_with_their_own_numbers(order, workers):
    def make():
        return loader_of(order, workers, torch_order=True)

    whole, states = run_of(make)
    for steps in sorted({0, 1, 2, len(whole) - 1}):
        assert equal(rest(make, states[steps]), whole[steps:]), steps


class Gaussian(data.Dataset):
    """Numbers of which the generators make two at a time; some samples raise behind them."""

    def __len__(self):
        return 12

    def __getitem__(self, index):
        numbers = random.gauss(0, 1), np.random.standard_normal(), torch.randn(3)
        if index % 4 == 2:
            raise ValueError(f"sample {index}")
        return torch.tensor(index), *numbers


def each(iterator):
    """What comes, and of errors the kind."""
    end = object()
    while (batch := one_of(iterator, end)) is not end:
        yield batch


def one_of(iterator, end):
    try:
        return next(iterator, end)
    except ValueError:
        return "error"


@pytest.mark.parametrize("persistent", [full(False), True])
def test_their_numbers_go_on_behind_errors_and_passes_that_were_left(persistent):
    def make():
        options = {"num_workers": 2, "torch_order": True, "persistent_workers": persistent}
        return drapps.torch.DataLoader(Gaussian(), 1, **options)

    loader = make()
    next(iter(loader))
    whole, states = [], []
    for batch in each(iter(loader)):
        whole.append(batch)
        states.append(json.loads(json.dumps(loader.state_dict())))
    assert whole.count("error") == 3
    for step, state in enumerate(states[:-1], 1):
        again = make()
        again.load_state_dict(state)
        tail = list(each(iter(again)))
        assert [batch == "error" for batch in tail] == [b == "error" for b in whole[step:]]
        for one, other in zip(tail, whole[step:], strict=True):
            assert one == "error" or equal(one, other), step


class DrawingStream(Stateful):
    """A stream that knows its place, and not its random numbers."""

    def __iter__(self):
        for place in super().__iter__():
            yield place[:1], torch.rand(1), random.random(), np.random.random()


def test_streams_with_a_state_go_on_with_their_numbers():
    def make():
        return drapps.torch.DataLoader(DrawingStream(), 3, num_workers=2)

    whole, states = run_of(make)
    for steps in range(len(whole)):
        assert equal(rest(make, states[steps]), whole[steps:]), steps


def test_a_state_holds_the_numbers_that_were_drawn_and_no_others():
    class Undrawn(Drawn):
        def __getitem__(self, index):
            return torch.tensor(index)

    class OfTorch(Drawn):
        def __getitem__(self, index):
            return torch.rand(1)

    def state_of(dataset):
        return after(lambda: loader_of("sequential", 2, dataset, torch_order=True), 1)

    assert len(json.dumps(state_of(Undrawn))) <= 4096
    state = state_of(OfTorch)
    assert [list(worker.get("drawn", ())) for worker in state["workers"]] == [["torch"], []]
    state["workers"][0]["drawn"]["torch"] = "AAAA"
    with pytest.raises(drapps.PipelineError, match="cut or edited"):
        rest(lambda: loader_of("sequential", 2, OfTorch, torch_order=True), state)


class Numbers(data.IterableDataset):
    """A stream of random numbers."""

    def __iter__(self):
        for _ in range(9):
            yield torch.rand(1), random.random(), np.random.random()


KINDS = {
    "torch order": {"dataset": Drawn(20), "torch_order": True},
    "default": {"dataset": Drawn(20)},
    "stream": {"dataset": Numbers()},
}


@pytest.mark.parametrize(("kind", "broken_off"), cells(KINDS, [False, True]))
def test_workers_that_persist_go_on_with_their_numbers_in_the_next_pass(kind, broken_off):
    def make():
        return drapps.torch.DataLoader(
            **KINDS[kind], batch_size=3, num_workers=2, persistent_workers=True
        )

    loader = make()
    states = []
    batches = iter(loader)
    first = list(itertools.islice(batches, 2) if broken_off else batches)
    if not broken_off:
        states.append(loader.state_dict())
    second = iter(loader)
    states.append(loader.state_dict())
    whole = [next(second)]
    states.append(loader.state_dict())
    whole.extend(second)
    assert not equal(whole[: len(first)], first)
    for state, steps in zip(states[::-1], (1, 0, 0), strict=False):
        assert equal(rest(make, json.loads(json.dumps(state))), whole[steps:]), steps
