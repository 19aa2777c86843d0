"""The search for generators: what has none is kept; what could not be looked at is not kept."""

from __future__ import annotations

import logging
import pathlib
import random
import threading
import types
import weakref

import numpy as np
import pytest
import torch

import drapps
from drapps.item_cache import findings, kinds, walk
from drapps.item_cache.draws import Draws
from python.tests.cells import some_full
from python.tests.item_holders import Line, Plain, Private, annotations, objects


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


# As "pairs" and "paths, seeded", and larger.
LARGE = ("pairs, seeded", "lists of lists")
QUICK = [make for name, make in KEPT.items() if name not in LARGE]


@pytest.mark.parametrize("make", some_full(KEPT.values(), *QUICK), ids=KEPT)
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
    messages = [record.getMessage() for record in caplog.records]
    assert len(messages) == (0 if frozen else 1)
    assert all("nobody can look into the" in text and "frozen=True" in text for text in messages)


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
        references.append(weakref.ref(self.last["big"]))
        return index

    references: list = []
    draws = Draws(dataset := Plain(make))
    for index in range(100):
        marks = draws.before()
        dataset[index]
        assert not draws.since(marks)
    assert sum(one() is not None for one in references) <= 3


def test_the_number_of_generators_that_are_watched_is_bounded():
    dataset = Plain(lambda _, i: i, rngs=[random.Random(i) for i in range(300)])
    assert findings._MOST_GENERATORS < 300
    assert "generators" in Draws(dataset).unknown()
