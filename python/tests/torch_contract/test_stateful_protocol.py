"""``state_dict`` and ``load_state_dict``, as torchdata's StatefulDataLoader has them."""

import json

import pytest
import torch
from torch.utils import data

from python.tests.cells import some_full
from python.tests.torch_contract.conftest import each_own_order
from python.tests.torch_contract.samples import Calls, Sharded, Squares, drawn, flat, plain

workers = pytest.mark.parametrize("workers", [0, 2])


@each_own_order
@workers
def test_a_state_of_every_step_gives_the_identical_rest(own_class, workers):
    def build():
        return own_class(Squares(11), 3, shuffle=True, num_workers=workers)

    torch.manual_seed(1)
    loader = build()
    batches, states = [], []
    for batch in loader:
        batches.append(batch.tolist())
        states.append(loader.state_dict())
    for taken, state in enumerate(states[:-1], 1):
        torch.manual_seed(50 + taken)
        again = build()
        again.load_state_dict(state)
        assert plain(again) == batches[taken:]


@workers
def test_what_was_prefetched_but_not_yielded_does_not_count(own_class, workers):
    loader = own_class(Squares(20), 2, num_workers=workers)
    iterator = iter(loader)
    for taken in range(1, 5):
        next(iterator)
        again = own_class(Squares(20), 2, num_workers=workers)
        again.load_state_dict(loader.state_dict())
        assert flat(again) == [n * n for n in range(2 * taken, 20)]


@workers
def test_after_the_rest_comes_a_whole_epoch(own_class, workers):
    loader = own_class(Squares(6), 2, num_workers=workers)
    next(iter(loader))
    again = own_class(Squares(6), 2, num_workers=workers)
    again.load_state_dict(loader.state_dict())
    assert plain(again) == [[4, 9], [16, 25]]
    assert plain(again) == [[0, 1], [4, 9], [16, 25]]


@workers
def test_the_state_at_the_end_begins_the_next_epoch(own_class, workers):
    loader = own_class(Squares(4), 2, num_workers=workers)
    list(loader)
    again = own_class(Squares(4), 2, num_workers=workers)
    again.load_state_dict(loader.state_dict())
    assert plain(again) == [[0, 1], [4, 9]]


def test_the_state_of_a_fresh_loader_is_the_beginning(own_class):
    loader = own_class(Squares(4), 2)
    again = own_class(Squares(4), 2)
    again.load_state_dict(loader.state_dict())
    assert plain(again) == [[0, 1], [4, 9]]


def test_it_is_json_and_small(own_class):
    loader = own_class(Squares(1000), 10, shuffle=True, num_workers=1)
    iterator = iter(loader)
    for _ in range(20):
        next(iterator)
    text = json.dumps(loader.state_dict())
    assert len(text) <= 4096
    again = own_class(Squares(1000), 10, shuffle=True, num_workers=1)
    again.load_state_dict(json.loads(text))
    assert plain(again) == plain(iterator)


@pytest.mark.parametrize("saved", [1, 2])
@pytest.mark.parametrize("resumed", some_full([1, 3], 3))
def test_the_number_of_workers_may_change_and_the_drawn_numbers_stay(elastic_class, saved, resumed):
    def build(number):
        return elastic_class(Calls(drawn, 12), 2, shuffle=True, num_workers=number)

    torch.manual_seed(3)
    loader = build(saved)
    iterator = iter(loader)
    for _ in range(2):
        next(iterator)
    state = loader.state_dict()
    again = build(resumed)
    again.load_state_dict(state)
    assert torch.equal(torch.cat(list(again)), torch.cat(list(iterator)))


@workers
def test_streams_go_on_by_replay(own_class, workers):
    loader = own_class(Sharded(12), 2, num_workers=workers)
    iterator = iter(loader)
    for _ in range(3):
        next(iterator)
    state = loader.state_dict()
    again = own_class(Sharded(12), 2, num_workers=workers)
    again.load_state_dict(state)
    assert plain(again) == plain(iterator)


class Stateful(data.IterableDataset):
    """Goes on by its own state, and tells how often it was begun from the start."""

    def __init__(self):
        self.place = 0

    def __iter__(self):
        while self.place < 8:
            self.place += 1
            yield self.place
        self.place = 0

    def state_dict(self):
        return {"place": self.place}

    def load_state_dict(self, state):
        self.place = state["place"]


@pytest.mark.parametrize("workers", [0, 1])
def test_streams_with_a_state_go_on_by_it(own_class, workers):
    loader = own_class(Stateful(), 2, num_workers=workers)
    iterator = iter(loader)
    assert next(iterator).tolist() == [1, 2]
    state = loader.state_dict()
    again = own_class(Stateful(), 2, num_workers=workers)
    again.load_state_dict(state)
    assert plain(again) == [[3, 4], [5, 6], [7, 8]]


def test_a_state_of_another_stream_is_refused(own_class):
    state = own_class(Squares(4), 2).state_dict()
    with pytest.raises(ValueError, match="another stream"):
        own_class(Squares(5), 2).load_state_dict(state)
    with pytest.raises(ValueError, match="state_dict"):
        own_class(Squares(4), 2).load_state_dict({"epoch": 0})
