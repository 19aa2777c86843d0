"""A generator is found at the bottom of containers of any kinds, among any number of others."""

from __future__ import annotations

import collections
import dataclasses
import functools
import itertools
import random
import threading
import types

import numpy as np
import pytest
import torch

from drapps.item_cache.reach import Reached


class Thing:
    pass


class Mapping(dict):
    pass


class Slotted:
    __slots__ = ("__held", "other")

    def __init__(self, held):
        self.__held = held


@dataclasses.dataclass
class Pair:
    left: object
    right: int = 3


def with_attribute(kind, value):
    holder = kind()
    holder.held = value
    return holder


def array_of(values):
    array = np.empty(len(values), object)
    array[:] = [None] * len(values)
    for at, value in enumerate(values):
        array[at] = value
    return array


def remembered(value):
    @functools.cache
    def find(_):
        return value

    find(1)
    return find


# Each puts a value, which stands among others, into something.
HOLDERS = [
    list,
    tuple,
    collections.deque,
    collections.UserList,
    array_of,
    lambda values: dict(enumerate(values)),
    lambda values: collections.ChainMap({}, dict(enumerate(values))),
    lambda values: itertools.chain(values, [1]),
]
HOLDERS_OF_ONE = [
    Slotted,
    Pair,
    remembered,
    lambda value: with_attribute(Thing, value),
    lambda value: with_attribute(Mapping, value),
    lambda value: with_attribute(threading.local, value),
    lambda value: with_attribute(torch.nn.Module, value),
    lambda value: functools.partial(print, value),
    lambda value: lambda: value,
    lambda value: types.SimpleNamespace(held=value),
    lambda value: types.MappingProxyType({"held": value}),
    lambda value: collections.OrderedDict(held=value),
    lambda value: type("Held", (), {"held": value}),
    lambda value: types.MethodType(lambda held: held, value),
]
OTHERS = [
    *(lambda i: i, lambda i: f"{i}", lambda i: (i, "x"), lambda i: [i], lambda i: {"a": [i]}),
    *(Pair, lambda _: np.ones(1), lambda _: torch.ones(1)),
]
GENERATORS = [
    *(random.Random, np.random.default_rng, np.random.RandomState, np.random.SeedSequence),
    *(np.random.PCG64, lambda seed: torch.Generator().manual_seed(seed)),
]


def held_somewhere(draw: random.Random, value):
    for _ in range(draw.randrange(1, 7)):
        if draw.random() < 0.5:
            value = draw.choice(HOLDERS_OF_ONE)(value)
            continue
        others = [draw.choice(OTHERS)(i) for i in range(draw.choice([0, 3, 200, 1500]))]
        others.insert(draw.randrange(len(others) + 1), value)
        value = draw.choice(HOLDERS)(others)
    return value


@pytest.mark.parametrize("seed", range(4))
def test_a_generator_is_found_anywhere(seed):
    draw = random.Random(seed)
    for _ in range(60):
        generator = draw.choice(GENERATORS)(3)
        reached = Reached(with_attribute(Thing, held_somewhere(draw, generator)))
        assert any(one is generator for one in reached.generators)
        assert not reached.missing


def test_it_is_found_where_it_is_put_later():
    draw = random.Random(7)
    for _ in range(60):
        root = with_attribute(Thing, [held_somewhere(draw, 1)])
        reached = Reached(root)
        assert not reached.generators
        generator = draw.choice(GENERATORS)(3)
        if draw.random() < 0.5:
            root.later = held_somewhere(draw, generator)
        else:
            root.held.append(held_somewhere(draw, generator))
        reached.refresh()
        assert any(one is generator for one in reached.generators)
