"""Datasets that keep state on themselves: as under the stock loader, whatever processes there are.

With seeds of its own such a dataset draws the same numbers under both loaders.
"""

import functools
import json
import os
import random
import signal
import sqlite3
import threading
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.utils import data

from drapps import _core
from drapps.errors import StateError
from drapps.torch import DataLoader
from python.tests.cells import cells, full, some_full

SAMPLES = 36


class Base(data.Dataset):
    def __len__(self):
        return SAMPLES


class LazyGenerator(Base):
    """Seeds itself in the worker, as many people write it."""

    rng = None

    def __getitem__(self, index):
        if self.rng is None:
            self.rng = np.random.default_rng(data.get_worker_info().seed)
        return index, int(self.rng.integers(1 << 30))


class OfTransform(Base):
    """Its transform has a generator from the start: all workers have the same."""

    def __init__(self, generator):
        self.transform = Drawing(generator)

    def __getitem__(self, index):
        return index, self.transform()


class Drawing:
    def __init__(self, generator):
        self.steps = [{"of": generator}]

    def __call__(self):
        generator = self.steps[0]["of"]
        if isinstance(generator, torch.Generator):
            return int(torch.randint(1 << 30, (), generator=generator))
        return int((getattr(generator, "integers", None) or generator.randrange)(1 << 30))


class Counted(Base):
    """Counts its samples, and remembers which worker it is in."""

    def __init__(self):
        self.count, self.worker = 0, None

    def __getitem__(self, index):
        self.count += 1
        if self.worker is None:
            self.worker = data.get_worker_info().id
        return index, self.count, self.worker


class Cached(Base):
    """What it has once made it gives again; who made it shows."""

    def __init__(self):
        self.cache = {}

    def __getitem__(self, index):
        return self.cache.setdefault(index // 2, (index, data.get_worker_info().id))


class Reader:
    def __init__(self):
        self.offset, self.base, self.lock = 5, sqlite3.connect(":memory:"), threading.Lock()


class Handles(Base):
    """Opens a file, a database and a lock with its first sample, and keeps them."""

    file = reader = None

    def __getitem__(self, index):
        if self.file is None:
            self.file = Path("/dev/zero").open("rb")  # noqa: SIM115
            self.reader = Reader()
        return index, self.file.read(1)[0] + float(torch.rand(()))


class Batches(LazyGenerator):
    """Makes whole batches."""

    def __getitems__(self, indices):
        return [self[index] for index in indices]


module_generator = random.Random(8)


class OfModule(Base):
    """Draws from a generator of its module."""

    def __getitem__(self, index):
        return [index, *(module_generator.randrange(1 << 30) for _ in range(2))]


STATEFUL = {
    "lazy": LazyGenerator,
    "numpy": lambda: OfTransform(np.random.default_rng(4)),
    "python": lambda: OfTransform(random.Random(4)),
    "torch": lambda: OfTransform(torch.Generator().manual_seed(4)),
    "counted": Counted,
    "cached": Cached,
    "batches": Batches,
    "module": OfModule,
}


def passes(kind, dataset, count=2, **options):
    torch.manual_seed(5)
    loader = kind(dataset, batch_size=3, shuffle=True, **options)
    return [[torch.stack(list(b), -1).tolist() for b in loader] for _ in range(count)], loader


@pytest.mark.parametrize("name", some_full(STATEFUL, "lazy", "torch", "batches", "module"))
def test_it_gives_what_it_gives_under_the_stock_loader(name):
    expected, _ = passes(data.DataLoader, STATEFUL[name](), num_workers=3)
    samples, loader = passes(DataLoader, STATEFUL[name](), num_workers=3)
    assert samples == expected
    explained = loader.explain()
    assert explained["plan"]["bound"]
    assert explained["plan"]["own_state"]
    assert "making samples changes" in explained["decisions"]["entries"][0]["why"]


@pytest.mark.parametrize(
    "options",
    [
        {"cpu_budget": 1},
        {"persistent_workers": True},
        full({"on_worker_death": "restart"}),
        full({"torch_order": True}),
        {"worker_init_fn": np.random.seed},
        full({"settings": json.loads(_core.settings_of_processes(2))}),
        {"settings": json.loads(_core.settings_of_processes(7))},
    ],
    ids=lambda options: "-".join(options),
)
def test_however_many_processes_there_are(options):
    stock = {n: v for n, v in options.items() if n in ("persistent_workers", "worker_init_fn")}
    assert passes(DataLoader, LazyGenerator(), num_workers=4, **options)[0] == of_stock(**stock)


@functools.cache
def of_stock(**options):
    return passes(data.DataLoader, LazyGenerator(), num_workers=4, **options)[0]


def test_auto_is_eight_workers():
    expected, _ = passes(data.DataLoader, LazyGenerator(), 1, num_workers=8)
    assert passes(DataLoader, LazyGenerator(), 1, num_workers="auto")[0] == expected


@pytest.mark.parametrize("dead", [full(1), 4, full(9)])
def test_a_worker_that_died_comes_back_to_where_it_was(dead):
    whole, _ = passes(DataLoader, LazyGenerator(), 1, num_workers=2)
    torch.manual_seed(5)
    options = {"num_workers": 2, "on_worker_death": "restart"}
    rows = []
    for batch in DataLoader(LazyGenerator(), 3, True, **options).__iter__():
        rows.append(torch.stack(list(batch), -1).tolist())
        if len(rows) == dead:
            os.kill(_child(), signal.SIGKILL)
    assert [rows] == whole


def _child():
    """A process that this one has started."""
    children = Path(f"/proc/self/task/{threading.get_native_id()}/children")
    return int(children.read_text().split()[0])


@pytest.mark.parametrize("kind", [Handles, lambda: list(range(SAMPLES))])
def test_handles_do_not_bind(kind):
    samples, loader = passes(DataLoader, kind(), 1, num_workers=3)
    assert not loader.explain()["plan"]["bound"]
    assert loader.explain()["plan"]["own_state"] == []
    assert samples == passes(DataLoader, kind(), 1, num_workers=1)[0]


class Late(Base):
    """Keeps nothing on itself for a while."""

    rng = np.random.default_rng(3)

    def __getitem__(self, index):
        return index, int(self.rng.integers(9)) if index > 20 else 0


def test_what_is_seen_late_binds_from_the_next_start_on():
    loader = DataLoader(Late(), batch_size=3, num_workers=2)
    for _ in loader:
        pass
    assert not loader.explain()["plan"]["bound"]
    assert "too late" in loader.explain()["decisions"]["entries"][0]["why"]
    for _ in loader:
        pass
    assert loader.explain()["plan"]["bound"]


@pytest.mark.parametrize(
    ("place", "name"), cells([1, 5, 11], ["lazy", "numpy", "counted", "module"])
)
def test_a_state_goes_on_where_the_dataset_was(name, place):
    (whole,), _ = passes(DataLoader, STATEFUL[name](), 1, num_workers=2)
    torch.manual_seed(5)
    loader = DataLoader(STATEFUL[name](), 3, True, num_workers=2)
    iterator = iter(loader)
    for _ in range(place):
        next(iterator)
    state = loader.state_dict()
    again = DataLoader(STATEFUL[name](), 3, True, num_workers=2)
    again.load_state_dict(state)
    iterator = iter(again)
    assert again.state_dict() == state
    assert [torch.stack(list(b), -1).tolist() for b in iterator] == whole[place:]


@pytest.mark.parametrize("place", [3, SAMPLES // 3])
def test_what_passes_of_the_same_workers_kept_begins_anew(place, caplog):
    options = {"num_workers": 2, "persistent_workers": True}
    loader = DataLoader(Counted(), 3, **options)
    list(loader)
    iterator = iter(loader)
    for _ in range(place):
        next(iterator)
    next(iterator, None)
    again = DataLoader(Counted(), 3, **options)
    again.load_state_dict(loader.state_dict())
    assert next(iter(again))[1].tolist() == [1, 2, 3]
    assert "dataset.count" in caplog.text


@pytest.mark.parametrize(
    ("options", "kind"),
    cells(
        [{"num_workers": 3}, {"num_workers": 2, "batch_size": 4}],
        [LazyGenerator, Batches, "torch_order"],
    ),
)
def test_a_state_that_depends_on_the_workers_or_the_batches_says_so(kind, options):
    mode = {"torch_order": True} if kind == "torch_order" else {}
    dataset = Handles if mode else kind
    loader = DataLoader(dataset(), batch_size=3, num_workers=2, **mode)
    next(iter(loader))
    again = DataLoader(dataset(), **{"batch_size": 3, **options}, **mode)
    with pytest.raises(StateError, match=r"num_workers is 2|batch_size is 3"):
        again.load_state_dict(loader.state_dict())


def test_a_cache_does_not_keep_a_state_from_another_number_of_workers():
    loader = DataLoader(Cached(), batch_size=3, num_workers=2)
    next(iter(loader))
    again = DataLoader(Cached(), batch_size=3, num_workers=3)
    again.load_state_dict(loader.state_dict())
    assert len(list(again)) == SAMPLES // 3 - 1


class Sleepy(Base):
    """One sample takes long, in a worker that the others know by its number."""

    worker = None

    def __getitem__(self, index):
        if self.worker is None:
            self.worker = data.get_worker_info().id
        if index == 0:
            time.sleep(1.0)
        return index, self.worker


class SleepyStream(data.IterableDataset):
    def __iter__(self):
        info = data.get_worker_info()
        for number in range(5):
            if info.id == 0 and number == 0:
                time.sleep(1.0)
            yield number, info.id


@pytest.mark.parametrize("dataset", [Sleepy, SleepyStream])
def test_batches_in_any_order_come_from_the_worker_that_is_quick(dataset):
    def order(kind):
        loader = kind(dataset(), batch_size=2, num_workers=2, in_order=False)
        return [batch[0].tolist() + batch[1].tolist() for batch in loader]

    assert order(DataLoader) == order(data.DataLoader)


def test_a_state_with_batches_to_come_that_were_overtaken_is_refused():
    def make():
        return DataLoader(Sleepy(), batch_size=2, num_workers=2, in_order=False)

    loader = make()
    iterator = iter(loader)
    assert next(iterator)[0].tolist() == [2, 3]
    with pytest.raises(StateError, match="in_order=False"):
        make().load_state_dict(loader.state_dict())
    list(iterator)
    make().load_state_dict(loader.state_dict())
