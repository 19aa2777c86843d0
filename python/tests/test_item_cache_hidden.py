"""Generators are found wherever a dataset has them; what could not be looked at is not kept."""

from __future__ import annotations

import collections
import contextvars
import copy
import copy as another
import dataclasses
import functools
import importlib
import logging
import pathlib
import random
import sys
import threading
import types
import weakref

import numpy as np
import pytest
import torch
from numpy.random import default_rng as of_numpy
from torch import initial_seed as seed_by_another_name
from torch.utils import data

import drapps
from drapps.item_cache import findings, kinds, walk
from drapps.item_cache.draws import Draws

importlib.import_module("python.tests.item_generators")  # for by_text(), which does not name it


class Plain:
    """Gives what `make` gives for its index."""

    def __init__(self, make, **attributes):
        self.make = make
        vars(self).update(attributes)

    def __len__(self):
        return 200

    def __getitem__(self, index):
        return index, self.make(self, index)


class Private:
    __slots__ = ("__rng",)

    def __init__(self):
        self.__rng = random.Random(1)

    def draw(self):
        return self.__rng.random()


@dataclasses.dataclass
class Line:
    path: str
    label: int


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


def annotations(count):
    return [
        {"id": i, "bbox": [1.0, 2.0, 3.0, float(i)], "segmentation": [[float(i)] * 12]}
        for i in range(count)
    ]


def objects(values):
    found = np.empty(len(values), object)
    found[:] = values
    return found


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


def counting(self, index):
    self.calls += 1
    return self.calls - self.calls + index


def remembering(self, index):
    self.memory[index] = {"image": np.ones(3), "names": ["a"]}
    return len(self.memory[index])


def with_a_generator_of_its_own(self, index):  # noqa: ARG001
    return np.random.default_rng(index).random()


KEPT = {
    "paths": lambda: Plain(
        lambda self, i: self.paths[i], paths=[f"{i}.jpg" for i in range(50_000)]
    ),
    "paths, seeded": lambda: Plain(
        with_a_generator_of_its_own, paths=[f"{i}.jpg" for i in range(50_000)]
    ),
    "pairs, seeded": lambda: Plain(
        with_a_generator_of_its_own, pairs=[(f"{i}.jpg", i) for i in range(120_000)]
    ),
    "a generator that is not used": lambda: Plain(
        lambda self, i: self.images[i].copy(), images=np.ones((50, 3)), rng=random.Random(1)
    ),
    "Paths": lambda: Plain(
        lambda self, i: str(self.paths[i]), paths=[pathlib.Path(f"{i}.jpg") for i in range(5000)]
    ),
    "pairs": lambda: Plain(
        lambda self, i: self.pairs[i], pairs=[(f"{i}.jpg", i) for i in range(50_000)]
    ),
    "objects": lambda: Plain(
        lambda self, i: self.lines[i].label, lines=[Line(f"{i}", i) for i in range(30_000)]
    ),
    "annotations": lambda: Plain(
        lambda self, i: self.coco[i],
        coco=annotations(10_000),
        by_id=dict(enumerate(annotations(5000))),
    ),
    "lists of lists": lambda: Plain(
        lambda self, i: self.many[i], many=[[[1, 2] for _ in range(300)] for _ in range(500)]
    ),
    "arrays": lambda: Plain(
        lambda self, i: self.arrays[i],
        arrays=[np.ones(2) for _ in range(3000)],
        whole=np.ones(9999),
    ),
    "tensors": lambda: Plain(
        lambda self, i: self.tensors[i], tensors=[torch.ones(2) for _ in range(3000)]
    ),
    "an array of texts": lambda: Plain(
        lambda self, i: self.names[i], names=objects([f"{i}" for i in range(5000)])
    ),
    "a logger": lambda: Plain(lambda self, _: self.log.name, log=logging.getLogger("a.b")),
    "a network": lambda: Plain(lambda _, i: i, net=torch.nn.Sequential(torch.nn.Linear(2, 2))),
    "a lock": lambda: Plain(lambda _, i: i, lock=threading.Lock(), local=threading.local()),
    "a counter": lambda: Plain(counting, calls=0),
    "what it remembers": lambda: Plain(remembering, memory={}),
    "a loop": lambda: Plain(lambda _, i: i, loop=looped()),
}


def looped():
    loop: list = [[]]
    loop[0].append(loop)
    return loop


@pytest.mark.parametrize("make", KEPT.values(), ids=KEPT)
def test_what_draws_nothing_is_kept_however_much_there_is(make, caplog):
    dataset = drapps.cached(make(), version=1, budget=1 << 22)
    for index in range(40):
        dataset[index]
    assert dataset.stats()["items"] == 40
    assert not caplog.records


def test_what_libraries_hold_is_kept(photos, torchvision, tmp_path):
    h5py = pytest.importorskip("h5py")
    datasets = pytest.importorskip("datasets")
    pandas = pytest.importorskip("pandas")
    v2 = pytest.importorskip("torchvision.transforms.v2")
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["x"] = np.arange(100)
        table = pandas.DataFrame({"path": [f"{i}" for i in range(100)], "label": range(100)})
        rows = datasets.Dataset.from_dict({"x": list(range(100))})
        transform = v2.Compose([v2.Resize((8, 8)), v2.ToImage()])
        folder = torchvision.datasets.ImageFolder(photos, transform)
        for dataset in (
            Plain(lambda self, i: int(self.file["x"][i]), file=file),
            Plain(lambda self, i: self.table["path"][i], table=table),
            Plain(lambda self, i: self.rows[i], rows=rows),
            Plain(lambda self, i: self.folder[i % 4][1], folder=folder),
            rows,
        ):
            cached = drapps.cached(dataset, version=1, budget=1 << 22)
            for index in range(30):
                cached[index]
            assert cached.stats()["items"] == 30, dataset


class Opaque:
    """As an object of an extension module that nobody knows."""


@pytest.fixture
def opaque(monkeypatch):
    look = kinds.look_at
    monkeypatch.setattr(
        walk, "look_at", lambda kind: kinds.Look.UNKNOWN if kind is Opaque else look(kind)
    )


def test_extension_types_are_told_from_classes_of_python():
    numpys = type("Own", (np.ndarray,), {})
    assert kinds.look_at(Private) is kinds.look_at(Line) is kinds.Look.PARTS
    assert kinds.look_at(types.SimpleNamespace) is kinds.Look.PARTS
    assert kinds.look_at(torch.Tensor) is kinds.Look.PARTS
    assert kinds.look_at(numpys) is kinds.Look.OWN
    assert kinds.look_at(str) is kinds.look_at(np.float32) is kinds.Look.NOTHING
    kind = type(drapps._core.ItemCache)  # nanobind's, whatever it is
    assert kinds.look_at(kind) is not kinds.Look.UNKNOWN
    capsule = type(np.random.PCG64(1).capsule)
    assert kinds.look_at(capsule) is kinds.Look.UNKNOWN


@pytest.mark.usefixtures("opaque")
@pytest.mark.parametrize("frozen", [False, True])
def test_what_nobody_can_look_into_is_not_kept_unless_frozen(caplog, frozen):
    dataset = drapps.cached(
        Plain(lambda _, i: i, held=[Opaque()]), 1, budget=1 << 20, frozen=frozen
    )
    with caplog.at_level(logging.WARNING, "drapps"):
        for _ in range(2):
            for index in range(50):
                assert dataset[index] == (index, index)
    assert dataset.stats()["items"] == (50 if frozen else 0)
    told = [record.getMessage() for record in caplog.records]
    assert len(told) == (0 if frozen else 1)
    assert all("nobody can look into the" in text and "frozen=True" in text for text in told)


@pytest.mark.parametrize(
    ("limit", "why"),
    [("_MOST", "too many objects"), ("_MOST_DATA", "more than"), ("_MOST_PARTS", "too many")],
)
def test_a_search_that_was_cut_short_proves_nothing(monkeypatch, caplog, limit, why):
    monkeypatch.setattr(walk, limit, 10)
    held = [[[i, {}] for i in range(500)] for _ in range(4)]
    dataset = drapps.cached(Plain(lambda _, i: i, held=held), 1, budget=1 << 20)
    for index in range(50):
        dataset[index]
    assert dataset.stats()["items"] == 0
    assert len(caplog.records) == 1
    assert why in caplog.text


def test_what_is_replaced_again_and_again_is_not_kept_alive():
    class Big:
        pass

    def make(self, index):
        self.last = {"big": Big(), "all": [np.ones(100)] * 3}
        made.append(weakref.ref(self.last["big"]))
        return index

    made: list = []
    draws = Draws(dataset := Plain(make))
    for index in range(100):
        marks = draws.before()
        dataset[index]
        assert not draws.since(marks)
    assert sum(one() is not None for one in made) <= 3


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


def test_the_number_of_generators_that_are_watched_is_bounded():
    dataset = Plain(lambda _, i: i, rngs=[random.Random(i) for i in range(300)])
    assert findings._MOST_GENERATORS < 300
    assert "generators" in Draws(dataset).unknown()
