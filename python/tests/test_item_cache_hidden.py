"""Generators are found wherever a dataset has them."""

from __future__ import annotations

import collections
import contextvars
import copy
import copy as another
import functools
import importlib
import random
import sys
import threading
import weakref

import numpy as np
import pytest
import torch
from numpy.random import default_rng as of_numpy
from torch import initial_seed as seed_by_another_name
from torch.utils import data

import drapps
from python.tests.item_holders import Line, Plain, Private, annotations, objects

importlib.import_module("python.tests.item_generators")  # for by_text(), which does not name it


class Numbers(list):
    pass


class Draw(random.Random):
    """Has a state of its own."""

    def random(self):
        self.at = getattr(self, "at", 0) + 1
        return self.at


@functools.cache
def kept_generator(index):
    return random.Random(index)


def with_attribute():
    return with_attribute.rng.random()


with_attribute.rng = np.random.default_rng(1)
local = threading.local()
local.rng = random.Random(1)
variable = contextvars.ContextVar("variable")
variable.set(random.Random(1))
reference = random.Random(2)
ours = random.Random(3)


def info():
    return data.get_worker_info()


def seed_of_worker():
    return np.random.default_rng(getattr(info(), "seed", 3)).random()


def seed_of_torch():
    return torch.initial_seed()


def forked():
    with torch.random.fork_rng():
        return torch.rand(1)


def restored():
    state = random.getstate()
    value = random.random()
    random.setstate(state)
    return value


def restored_numpy():
    state = np.random.get_state()
    value = np.random.rand()
    np.random.set_state(state)
    return value


def global_of_late():
    global late
    if "late" not in globals():
        late = random.Random(3)
    return late.random()


def imported_within():
    from python.tests import item_generators

    return item_generators.rng.random()


def by_text():
    return getattr(sys.modules["python.tests.item_generators"], "rng").random()  # noqa: B009


def filled(self, index):
    if self.rngs[index] is None:
        self.rngs[index] = random.Random(3)
    return self.rngs[index].random()


def filled_by(self, index):
    if self.rngs[index] is None:
        self.rngs[index] = self.make_rng(3)
    return self.rngs[index].random()


def hundred():
    return [random.Random(i) for i in range(100)]


DRAWING = {
    "a list of generators": lambda: Plain(
        lambda self, i: self.rngs[i % 100].random(), rngs=hundred()
    ),
    "a generator per sample": lambda: Plain(
        lambda self, i: self.rngs[i].random(), rngs=[random.Random(i) for i in range(2000)]
    ),
    "among many": lambda: Plain(
        lambda self, _: self.rngs[-1].random(), rngs=[*range(70_000), random.Random(1)]
    ),
    "among many objects": lambda: Plain(
        lambda self, _: self.rngs[-1].random(),
        rngs=[*(Line(str(i), i) for i in range(20_000)), random.Random(1)],
    ),
    "behind annotations": lambda: Plain(
        lambda self, _: self.transform.inner.rng.random(),
        coco=Plain(None, dataset={"annotations": annotations(20_000)}),
        transform=Plain(None, inner=Plain(None, rng=np.random.default_rng(1))),
    ),
    "in annotations": lambda: Plain(
        lambda self, _: self.coco[-1]["rng"][0].random(),
        coco=[*annotations(9000), {"rng": [random.Random(1)]}],
    ),
    "ChainMap": lambda: Plain(
        lambda self, _: self.map["rng"].random(),
        map=collections.ChainMap({}, {"rng": random.Random(1)}),
    ),
    "UserDict": lambda: Plain(
        lambda self, _: self.map["rng"].random(), map=collections.UserDict(rng=random.Random(1))
    ),
    "an array of objects": lambda: Plain(
        lambda self, i: self.rngs[i % 3].random(), rngs=objects(hundred()[:3])
    ),
    "a large array of objects": lambda: Plain(
        lambda self, _: self.rngs[-1].random(), rngs=objects([*range(3000), random.Random(1)])
    ),
    "a class among many objects": lambda: Plain(
        lambda self, _: self.classes[-1].rng.random(),
        classes=[
            *(Line(str(i), i) for i in range(500)),
            type("Held", (), {"rng": random.Random(1)}),
        ],
    ),
    "a private slot": lambda: Plain(lambda self, _: self.held.draw(), held=Private()),
    "lru_cache": lambda: Plain(lambda _, i: kept_generator(i).random()),
    "threading.local": lambda: Plain(lambda *_: local.rng.random()),
    "ContextVar": lambda: Plain(lambda *_: variable.get().random()),
    "weakref": lambda: Plain(lambda self, _: self.ref().random(), ref=weakref.ref(reference)),
    "an attribute of a function": lambda: Plain(lambda *_: with_attribute()),
    "a subclass of list": lambda: Plain(
        lambda self, _: self.rngs[0].random(), rngs=Numbers([random.Random(1)])
    ),
    "a global that is not yet there": lambda: Plain(lambda *_: global_of_late()),
    "a module that is not yet imported": lambda: Plain(lambda *_: imported_within()),
    "a module by a text": lambda: Plain(lambda *_: by_text()),
    "a global by a text": lambda: Plain(lambda *_: globals()["ours"].random()),
    "made when needed": lambda: Plain(filled, rngs=[None] * 200),
    "made when needed, of many": lambda: Plain(filled, rngs=[None] * 20_000),
    "made by another name": lambda: Plain(filled_by, rngs=[None] * 20_000, make_rng=of_numpy),
    "made by a class": lambda: Plain(filled_by, rngs=[None] * 20_000, make_rng=random.Random),
    "torch's seed by another name": lambda: Plain(lambda *_: seed_by_another_name()),
    "SeedSequence.spawn": lambda: Plain(
        lambda self, _: np.random.default_rng(self.seeds.spawn(1)[0]).random(),
        seeds=np.random.SeedSequence(1),
    ),
    "Generator.spawn": lambda: Plain(
        lambda self, _: self.rng.spawn(1)[0].random(), rng=np.random.default_rng(1)
    ),
    "a copy of a generator": lambda: Plain(
        lambda self, _: copy.deepcopy(self.rng).random(), rng=np.random.default_rng(1)
    ),
    "a copy by another name": lambda: Plain(
        lambda self, _: another.copy(self.rng).random(), rng=random.Random(1)
    ),
    "a generator with a state of its own": lambda: Plain(
        lambda self, _: self.rng.random(), rng=Draw(1)
    ),
    "fork_rng": lambda: Plain(lambda *_: forked()),
    "getstate": lambda: Plain(lambda *_: restored()),
    "np.random.get_state": lambda: Plain(lambda *_: restored_numpy()),
    "a worker's seed": lambda: Plain(lambda *_: seed_of_worker()),
    "torch's seed": lambda: Plain(lambda *_: seed_of_torch()),
}


@pytest.mark.parametrize("make", DRAWING.values(), ids=DRAWING)
def test_what_draws_is_not_kept_wherever_its_generator_is(make):
    dataset = drapps.cached(make(), version=1, budget=1 << 20)
    for index in (199, 150, 99, 99):
        dataset[index]
    assert dataset.stats()["items"] == 0


def test_each_of_many_generators_goes_on_as_without():
    dataset = drapps.cached(DRAWING["a list of generators"](), budget=1 << 20)
    other = random.Random(99)
    assert [dataset[99] for _ in range(4)] == [(99, other.random()) for _ in range(4)]


def test_generators_of_a_library_are_found(monkeypatch, tmp_path):
    folder = tmp_path / "site-packages"
    folder.mkdir()
    source = (
        "import numpy, random\nrng = numpy.random.default_rng(1)\n"
        "class Shared:\n    R = random.Random(1)\n    def draw(self): return self.R.random()\n"
        "def draw(): return rng.random()\n"
    )
    (folder / "library_that_draws.py").write_text(source)
    monkeypatch.syspath_prepend(str(folder))
    import library_that_draws as library

    for dataset in (
        Plain(lambda *_: library.draw()),
        Plain(lambda self, _: self.held.draw(), held=library.Shared()),
    ):
        cached = drapps.cached(dataset, 1, budget=1 << 20)
        cached[1]
        assert cached.stats()["items"] == 0
