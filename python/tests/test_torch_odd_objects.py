"""Datasets and samplers that mind being looked at: nothing is asked of them until it is needed."""

import json
import threading

import pytest
import torch
from torch.utils import data

from drapps.torch import DataLoader
from python.tests.cells import cells

WORKERS = [0, 1]


class Forbidding:
    """Has no attributes but its own, and says so in its own way."""

    def __getattr__(self, name):
        raise KeyError(name)


class Endless:
    """Looks its attributes up in itself."""

    def __getattr__(self, name):
        return getattr(self.inner, name)


class WithoutGroup:
    """Its rank needs a process group, which is not there yet."""

    @property
    def rank(self):
        raise ValueError("Default process group has not been initialized")

    generator = epoch = state_dict = set_epoch = rank


KINDS = pytest.mark.parametrize(
    ("kind", "workers"), cells([Forbidding, Endless, WithoutGroup], WORKERS)
)


def sampler_of(kind):
    class Backwards(kind):
        def __iter__(self):
            return iter(range(11, -1, -1))

        def __len__(self):
            return 12

    return Backwards()


@KINDS
def test_a_sampler_that_minds_gives_its_order(kind, workers):
    loader = DataLoader(range(12), 4, sampler=sampler_of(kind), num_workers=workers)
    iterator = iter(loader)
    assert next(iterator).tolist() == [11, 10, 9, 8]
    again = DataLoader(range(12), 4, sampler=sampler_of(kind), num_workers=workers)
    again.load_state_dict(json.loads(json.dumps(loader.state_dict())))
    again.explain()
    assert [batch.tolist() for batch in again] == [batch.tolist() for batch in iterator]


@KINDS
def test_a_stream_that_minds_gives_its_samples(kind, workers):
    class Numbers(kind, data.IterableDataset):
        def __iter__(self):
            return iter(range(6))

    loader = DataLoader(Numbers(), 4, num_workers=workers)
    iterator = iter(loader)
    assert next(iterator).tolist() == [0, 1, 2, 3]
    loader.state_dict()
    assert next(iterator).tolist() == [4, 5]
    loader.explain()


@KINDS
def test_a_dataset_that_minds_gives_its_samples_one_by_one(kind, workers):
    class Numbers(kind):
        thread_safe = False

        def __getitem__(self, index):
            return torch.tensor(index)

    loader = DataLoader(Numbers(), None, sampler=range(5), num_workers=workers)
    assert torch.stack(list(loader)).tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("workers", WORKERS)
def test_a_dataset_whose_length_is_not_known_needs_none(workers):
    class Numbers(data.Dataset):
        def __len__(self):
            raise NotImplementedError

        def __getitem__(self, index):
            return torch.tensor(index)

    loader = DataLoader(Numbers(), 2, sampler=range(5), num_workers=workers)
    assert torch.cat(list(loader)).tolist() == [0, 1, 2, 3, 4]


class Raising:
    def state_dict(self):
        raise RuntimeError("not now")


class Asking:
    def state_dict(self, num_samples, from_beginning):  # noqa: ARG002
        raise AssertionError


class Unsendable:
    def state_dict(self):
        return {"lock": threading.Lock()}


STATES = pytest.mark.parametrize(("kind", "workers"), cells([Raising, Asking, Unsendable], WORKERS))


@STATES
def test_a_stream_without_a_state_after_all_is_run_again(kind, workers, caplog):
    class Numbers(kind, data.IterableDataset):
        def __iter__(self):
            return iter(range(10))

    def make():
        return DataLoader(Numbers(), 2, num_workers=workers)

    loader = make()
    iterator = iter(loader)
    next(iterator), next(iterator)
    assert "Numbers" not in caplog.text.replace("get_worker_info", "")
    state = json.loads(json.dumps(loader.state_dict()))
    assert "Numbers.state_dict()" in caplog.text
    assert "will be run again" in caplog.text
    again = make()
    again.load_state_dict(state)
    assert [b.tolist() for b in again] == [b.tolist() for b in iterator] == [[4, 5], [6, 7], [8, 9]]


@STATES
def test_a_sampler_without_a_state_after_all_is_run_again(kind, workers, caplog):
    class Drawing(kind):
        def __iter__(self):
            yield from torch.randperm(12).tolist()

        def __len__(self):
            return 12

    def make():
        return DataLoader(range(12), 2, sampler=Drawing(), num_workers=workers)

    torch.manual_seed(8)
    loader = make()
    iterator = iter(loader)
    next(iterator), next(iterator)
    assert caplog.text == ""
    state = json.loads(json.dumps(loader.state_dict()))
    assert "Drawing.state_dict()" in caplog.text
    torch.manual_seed(9)
    again = make()
    again.load_state_dict(state)
    next_again = iter(again)
    assert next(next_again).tolist() == next(iterator).tolist()
    assert [b.tolist() for b in next_again] == [b.tolist() for b in iterator]


class Counted:
    asked = 0

    def state_dict(self):
        self.asked += 1
        return {}


def test_without_workers_a_state_is_asked_for_when_it_is_wanted():
    class Numbers(Counted, data.IterableDataset):
        def __iter__(self):
            return iter(range(6))

    class Order(Counted):
        def __iter__(self):
            return iter(range(6))

        def __len__(self):
            return 6

    for owner, options in ((Numbers(), {}), (order := Order(), {"sampler": order})):
        loader = DataLoader(range(6) if options else owner, 2, **options)
        iterator = iter(loader)
        next(iterator), next(iterator)
        assert owner.asked == 0
        loader.state_dict()
        assert owner.asked == 1


@pytest.mark.parametrize("workers", [0, 2])
def test_a_list_that_holds_itself(workers):
    class Numbers(data.Dataset):
        def __init__(self):
            self.x = []
            self.x.append(self.x)
            self.y = {"x": self.x, "y": [self]}

        def __len__(self):
            return 4

        def __getitem__(self, index):
            return index

    loader = DataLoader(Numbers(), 2, num_workers=workers)
    assert [batch.tolist() for batch in loader] == [[0, 1], [2, 3]]
