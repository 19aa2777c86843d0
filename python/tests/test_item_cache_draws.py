"""Samples that drew random numbers are not kept, and what is drawn stays what it was."""

from __future__ import annotations

import copy
import functools
import logging
import pickle
import random
import types

import numpy as np
import pytest
import torch
from torch.utils import data

import drapps
import drapps.torch
from drapps.item_cache.draws import Draws
from python.tests.cells import some_full
from python.tests.item_datasets import Counted, Thrice, noted

ours = np.random.default_rng(1)
namespace = types.SimpleNamespace(rng=random.Random(2))


class Plain:
    """Gives what `make` gives."""

    def __init__(self, make, **attributes):
        self.make = make
        vars(self).update(attributes)

    def __len__(self):
        return 50

    def __getitem__(self, index):
        return index, self.make(self)


class Slotted:
    __slots__ = ("rng",)

    def __init__(self, rng):
        self.rng = rng


class OfTheClass(Plain):
    rng = np.random.default_rng(9)


def closure():
    rng = np.random.default_rng(3)
    return lambda _: rng.random()


def lazily(dataset):
    if getattr(dataset, "rng", None) is None:
        dataset.rng = np.random.default_rng(5)
    return dataset.rng.random()


def replaced(dataset):
    dataset.rng = np.random.default_rng(7)
    return dataset.rng.random()


def drew(dataset, before=()):
    for action in before:
        action()
    draws = Draws(dataset)
    marks = draws.before()
    dataset[0]
    return draws.since(marks)


GENERATORS = [
    *(
        np.random.default_rng(1),
        np.random.Generator(np.random.MT19937(1)),
        np.random.RandomState(1),
    ),
    *(random.Random(1), torch.Generator(), np.random.Generator(np.random.SFC64(4))),
]


def draw_from(generator):
    if isinstance(generator, torch.Generator):
        return float(torch.rand(1, generator=generator))
    return generator.random()


@pytest.mark.parametrize(
    "make",
    [
        lambda _: torch.rand(1),
        lambda _: torch.randperm(4),
        lambda _: np.random.rand(),
        lambda _: np.random.permutation(4),
        lambda _: random.random(),
        lambda _: random.choice("abc"),
        lambda _: random.seed(4),
        lambda _: ours.random(),
        lambda _: namespace.rng.random(),
        closure(),
        functools.partial(lambda rng, _: rng.random(), np.random.default_rng(6)),
        lazily,
        replaced,
        lambda _: drawn_by_system.random(),
        lambda _: np.random.default_rng(torch.initial_seed() + 1).random(),
        lambda _: data.get_worker_info() and data.get_worker_info().seed,
    ],
)
def test_what_draws_is_found(make):
    assert drew(Plain(make))


drawn_by_system = random.SystemRandom()


@pytest.mark.parametrize("generator", GENERATORS, ids=lambda one: type(one).__name__)
@pytest.mark.parametrize(
    "hold",
    [
        lambda rng: {"rng": rng},
        lambda rng: {"parts": [{"x": (1, rng)}]},
        lambda rng: {"transform": Plain(None, inner=Slotted(rng))},
        lambda rng: {"dataset": data.Subset(Plain(None, rng=rng), [0])},
        lambda rng: {"draw": functools.partial(draw_from, rng)},
        lambda rng: {"method": rng.random if hasattr(rng, "random") else (lambda: rng)},
        lambda rng: {"many": [0] * 500, "deep": [[[[[rng]]]]]},
    ],
)
def test_generators_that_a_dataset_holds_are_found(generator, hold):
    dataset = Plain(lambda _: draw_from(generator))
    dataset.make = types.MethodType(_calls, Slotted(None))  # nothing leads there from the code
    vars(dataset).update(hold(generator))
    _calls.generator = generator
    assert drew(dataset)
    _calls.generator = None
    assert not drew(dataset)


def _calls(_, __):
    return None if _calls.generator is None else draw_from(_calls.generator)


def test_a_gaussian_number_that_was_kept_is_a_draw():
    np.random.seed(1)
    assert drew(Plain(lambda _: np.random.randn()), [np.random.randn])
    assert drew(Plain(lambda _: random.gauss(0, 1)), [lambda: random.gauss(0, 1)])
    state = np.random.RandomState(1)
    assert drew(Plain(lambda _: state.randn(), rng=state), [state.randn])
    np.random.randn()
    assert not drew(Plain(lambda _: 3))


def test_a_circle_is_walked_once():
    dataset = Plain(lambda self: self.rng.random(), rng=np.random.default_rng(1))
    dataset.me = [dataset, {"me": dataset}]
    assert drew(dataset)


class Sometimes(Plain):
    """Draws from its own generator, for odd indices."""

    def __getitem__(self, index):
        return index, self.rng.random() if index % 2 else 0.0


def test_a_copy_has_generators_of_its_own():
    dataset = drapps.cached(Sometimes(None, rng=np.random.default_rng(1)), budget=1 << 20)
    for one in (dataset, copy.deepcopy(dataset), pickle.loads(pickle.dumps(dataset))):
        assert len({one[3] for _ in range(10)}) == 10
    assert dataset.stats()["items"] == 0
    assert dataset[2] == (2, 0.0)
    assert dataset.stats()["items"] == 1


def test_of_a_class():
    assert drew(OfTheClass(lambda self: self.rng.random()))


def test_what_draws_nothing_is_kept():
    dataset = Plain(lambda self: sum(self.table), table=list(range(5000)), rng=random.Random(3))
    assert not drew(dataset)
    counting = Plain(lambda self: setattr(self, "calls", self.calls + 1), calls=0, rng=ours)
    assert not drew(counting)


def everything():
    return (
        torch.get_rng_state().tolist(),
        [
            part if isinstance(part, (str, int, float)) else part.tolist()
            for part in np.random.get_state()
        ],
        random.getstate(),
    )


@pytest.mark.parametrize("frozen", [False, True])
def test_a_hit_draws_nothing_and_neither_does_a_miss(tmp_path, frozen):
    dataset = drapps.cached(Counted(tmp_path / "notes"), budget=1 << 20, frozen=frozen)
    before = everything()
    for index in (3, 4, 3, 3):
        dataset[index]
    assert everything() == before
    assert noted(tmp_path / "notes") == [3, 4]


def pass_over(dataset, loader, **options):
    torch.manual_seed(3)
    np.random.seed(4)
    random.seed(5)
    batches = [batch for _ in range(2) for batch in loader(dataset, 8, shuffle=True, **options)]
    return [[torch.as_tensor(part).clone() for part in batch[:2]] for batch in batches]


LOADERS = [data.DataLoader, drapps.torch.DataLoader]
FORKS = {"num_workers": 2, "multiprocessing_context": "fork"}
CASES = [(loader, options) for options in ({}, FORKS) for loader in LOADERS]


@pytest.mark.parametrize(("loader", "options"), some_full(CASES, *CASES[:2], CASES[3]))
def test_streams_are_the_same_with_and_without(tmp_path, loader, options):
    with_cache = Thrice(drapps.cached(Counted(tmp_path / "a"), budget=1 << 22))
    without = Thrice(Counted(tmp_path / "b"))
    for left, right in zip(
        pass_over(with_cache, loader, **options), pass_over(without, loader, **options), strict=True
    ):
        assert all(map(torch.equal, left, right))
    assert len(noted(tmp_path / "a")) == 60
    assert len(noted(tmp_path / "b")) == 120


CASES = [(loader, workers) for workers in (0, 2) for loader in LOADERS]


@pytest.mark.parametrize(("loader", "workers"), some_full(CASES, *CASES[:3]))
def test_a_dataset_that_draws_gives_what_it_gives_without(tmp_path, loader, workers):
    dataset = Thrice(Counted(tmp_path / "notes"))
    cached = drapps.cached(dataset, budget=1 << 22)
    passes = [pass_over(one, loader, num_workers=workers) for one in (cached, dataset)]
    for left, right in zip(*passes, strict=True):
        assert all(map(torch.equal, left, right))
    assert cached.stats()["items"] == 0


def test_after_some_that_draw_most_are_not_looked_at_and_one_line_says_so(tmp_path, caplog):
    dataset = drapps.cached(Thrice(Counted(tmp_path / "notes")), budget=1 << 22)
    with caplog.at_level(logging.WARNING, "drapps"):
        for _ in range(4):
            for index in range(60):
                dataset[index]
    assert [record.name for record in caplog.records] == ["drapps"]
    assert "frozen=True" in caplog.text
    assert "samples of Thrice are not kept because making them draws random numbers" in caplog.text
    stats = dataset.stats()
    assert stats["items"] == 0
    assert 16 <= stats["abandoned"] <= 16 + 240 // 64 + 1


def test_a_sample_that_draws_nothing_after_many_that_do_is_kept_in_time():
    dataset = drapps.cached(Plain(lambda _: random.random() if drawing else 1), budget=1 << 20)
    drawing = True
    for _ in range(2):
        for index in range(50):
            dataset[index]
    drawing = False
    for _ in range(8):
        for index in range(50):
            dataset[index]
    assert dataset.stats()["items"] == 50


def test_frozen_keeps_what_was_drawn_first(tmp_path):
    dataset = drapps.cached(Thrice(Counted(tmp_path / "notes")), budget=1 << 22, frozen=True)
    first = [dataset[index][0] for index in range(60)]
    assert all(torch.equal(dataset[index][0], first[index]) for index in range(60))
    assert len({float(image.mean()) % 1 for image in first}) > 50
    assert len(noted(tmp_path / "notes")) == 60


def test_samples_of_another_class_are_not_kept_and_one_line_says_why(caplog):
    dataset = drapps.cached(Plain(lambda _: {1, 2}), budget=1 << 20)
    with caplog.at_level(logging.WARNING, "drapps"):
        for index in range(50):
            assert dataset[index] == (index, {1, 2})
    assert [record.getMessage() for record in caplog.records] == [
        "a sample of Plain is not kept because it holds a builtins.set"
    ]
