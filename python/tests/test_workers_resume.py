"""Python datasets resume at every step, with any number of workers and ranks."""

from __future__ import annotations

import itertools
import json
import math
import random
import threading

import pytest
import torch
from torch.utils import data

import drapps
import drapps.torch
from python.tests.cells import cells, some_full
from python.tests.resumed_loaders import (
    ORDERS,
    SIZE,
    Drawn,
    Stateful,
    after,
    equal,
    loader_of,
    rest,
    run_of,
    uninterrupted,
)


class Stream(data.IterableDataset):
    """Streams of several lengths, one of them empty, without a state of their own."""

    def __iter__(self):
        info = data.get_worker_info()
        worker = 0 if info is None else info.id
        for i in range((11 + worker * 7) % 25):
            yield torch.tensor(worker * 100 + i), random.random()


# Without workers all orders are quick; with them the start of processes is what takes long.
QUICK = [
    *((order, 0) for order in ORDERS),
    *(("own batches", 1), ("random", 1), ("weighted", 3), ("no batches", 3)),
]


@pytest.mark.parametrize(
    ("order", "workers"), some_full(itertools.product(ORDERS, [0, 1, 3]), *QUICK)
)
def test_the_rest_is_what_was_left(order, workers):
    def make():
        return loader_of(order, workers)

    whole, states = run_of(make)
    first = 1 if workers == 0 else 0  # without workers, nothing is drawn before the first batch
    for steps in sorted({first, 1, 2, len(whole) - 1}):
        remaining = rest(make, states[steps])
        expected = whole[steps:]
        if workers == 0:  # the caller's random state is the caller's
            remaining, expected = ([b[0] for b in part] for part in (remaining, expected))
        assert equal(remaining, expected), steps


@pytest.mark.parametrize("order", ["random", "distributed"])
def test_workers_of_another_number_go_on_with_the_same_samples(order):
    whole = uninterrupted(lambda: loader_of(order, 3))
    state = after(lambda: loader_of(order, 3), 2)
    assert equal(rest(lambda: loader_of(order, 1), state), whole[2:])
    assert equal(
        [batch[0] for batch in rest(lambda: loader_of(order, 0), state)],
        [batch[0] for batch in whole[2:]],
    )


class Whose(Drawn):
    """Which virtual worker makes a sample."""

    def __getitem__(self, index):
        return data.get_worker_info().id


@pytest.mark.parametrize("torch_order", [False, True])
def test_the_workers_take_turns_as_before(torch_order):
    def make():
        return loader_of("sequential", 3, Whose, torch_order=torch_order)

    whole = uninterrupted(make)
    assert equal(rest(make, after(make, 4)), whole[4:])


def test_the_other_mode_takes_the_order_alone():
    whole = uninterrupted(lambda: loader_of("random", 2, torch_order=True))
    state = after(lambda: loader_of("random", 2, torch_order=True), 3)
    for workers in (2, 0):
        remaining = rest(lambda w=workers: loader_of("random", w), state)
        assert equal([batch[0] for batch in remaining], [batch[0] for batch in whole[3:]])


def test_another_batch_size_goes_on_behind_the_same_sample():
    state = after(lambda: loader_of("sequential", 2), 3)
    loader = drapps.torch.DataLoader(Drawn(), 5, num_workers=2)
    loader.load_state_dict(state)
    assert torch.cat([batch[0] for batch in loader]).tolist() == list(range(24, SIZE))


@pytest.mark.parametrize("workers", [0, 2])
def test_a_finished_pass_resumes_with_the_next(workers):
    def make():
        return loader_of("random", workers)

    torch.manual_seed(1)
    loader = make()
    list(loader)
    state = loader.state_dict()
    assert (state["epoch"], state["position"]) == (1, 0)
    assert sorted(torch.cat([b[0] for b in rest(make, state)]).tolist()) == list(range(SIZE))


# Of batches of 4 the last one is as long as the others, of 3 it is not.
@pytest.mark.parametrize(
    ("workers", "dataset", "batch"), cells([0, 1, 3], [Stream, Stateful], [4, 3])
)
def test_streams_go_on(dataset, workers, batch):
    def make():
        return drapps.torch.DataLoader(dataset(), batch, num_workers=workers)

    random.seed(3)
    whole, states = run_of(make)
    for steps in range(len(whole)):
        remaining = rest(make, states[steps])
        assert equal([_places(b) for b in remaining], [_places(b) for b in whole[steps:]]), steps


def _places(batch):
    return batch[:, 0] if isinstance(batch, torch.Tensor) else batch[0]


def test_a_stream_with_a_state_is_not_run_again():
    def make():
        return drapps.torch.DataLoader(Stateful(), 4, num_workers=1)

    first = rest(make, after(make, 3))[0]
    assert first.tolist() == [[13, 1], [14, 2], [15, 3], [16, 4]]


def test_a_state_that_does_not_pickle_is_named_by_its_path_to_who_asks_for_it(caplog):
    class Locked(Stateful):
        def state_dict(self):
            return {"place": self.place, "locks": [threading.Lock()]}

    loader = drapps.torch.DataLoader(Locked(), 4, num_workers=1)
    iterator = iter(loader)
    next(iterator)
    assert caplog.text == ""
    state = loader.state_dict()
    assert "Locked.state_dict()['locks'][0] (_thread" in caplog.text
    again = drapps.torch.DataLoader(Locked(), 4, num_workers=1)
    again.load_state_dict(state)
    assert equal(list(again), list(iterator))


def test_streams_keep_their_number_of_workers():
    state = after(lambda: drapps.torch.DataLoader(Stream(), 4, num_workers=2), 1)
    with pytest.raises(drapps.PipelineError, match="its workers is 2, this loader's is 3"):
        drapps.torch.DataLoader(Stream(), 4, num_workers=3).load_state_dict(state)


def test_an_unseeded_order_that_changed_is_refused():
    class Fickle(data.Sampler):
        def __iter__(self):
            return iter(random.sample(range(SIZE), SIZE))

        def __len__(self):
            return SIZE

    def make():
        return drapps.torch.DataLoader(Drawn(), 8, sampler=Fickle(), num_workers=1)

    random.seed(0)
    with pytest.raises(drapps.PipelineError, match="another order than when the state was saved"):
        rest(make, after(make, 2))


def test_persistent_workers_resume():
    def make():
        return loader_of("random", 2, persistent_workers=True)

    torch.manual_seed(1)
    loader = make()
    list(loader)
    iterator = iter(loader)
    for _ in range(3):
        next(iterator)
    state = loader.state_dict()
    expected = list(iterator)
    del iterator
    assert equal(rest(make, state), expected)
    loader.load_state_dict(state)  # also the loader that is running
    assert equal(list(loader), expected)


def test_a_state_is_small_and_quick():
    import time

    loader = loader_of("random", 1)
    iterator = iter(loader)
    next(iterator)
    times = []
    for _ in range(5):
        began = time.perf_counter()
        state = loader.state_dict()
        times.append(time.perf_counter() - began)
    assert len(json.dumps(state)) <= 4096
    assert min(times) < 0.1  # it does not grow with the data; the bar of a millisecond is measured


def ranks_of(world, workers, state=None):
    for rank in range(world):
        sampler = data.DistributedSampler(range(SIZE), world, rank, seed=3)
        loader = drapps.torch.DataLoader(Drawn(), 4, sampler=sampler, num_workers=workers)
        if state is not None:
            loader.load_state_dict(state)
        yield loader


def indices(batches):
    return [int(index) for batch in batches for index in batch[0]]


WORLDS = {"cut": ((1, 3, 16), (0, 2)), "full": ((1, 2, 3, 6, 16), (0, 1, 7))}


@pytest.mark.full
@pytest.mark.parametrize("part", WORLDS)
def test_any_world_gets_every_remaining_sample_once(part):
    worlds, workers = WORLDS[part]
    saved = 8
    for step in range(math.ceil(math.ceil(SIZE / saved) / 4)):
        iterators = [(loader, iter(loader)) for loader in ranks_of(saved, 0)]
        seen = [i for _, it in iterators for i in indices(itertools.islice(it, step))]
        records = [loader.state_dict() for loader, _ in iterators]
        assert len({(r["epoch"], r["position"]) for r in records}) == 1
        for world, count in itertools.product(worlds, workers):
            parts = [list(loader) for loader in ranks_of(world, count, records[0])]
            assert len({len(batches) for batches in parts}) == 1, "ranks take unequal steps"
            left = SIZE - len(seen)
            dealt = [indices(batches) for batches in parts]
            in_order = [i for row in itertools.zip_longest(*dealt) for i in row if i is not None]
            once, padding = in_order[:left], in_order[left:]
            assert sorted(seen + once) == list(range(SIZE)), (step, world, count)
            assert len(padding) < world
