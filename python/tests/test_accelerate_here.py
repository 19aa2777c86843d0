"""Pictures of Python datasets in the user's process, and on its threads: made natively there."""

from __future__ import annotations

import copy
import gc
import multiprocessing
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image, JpegImagePlugin
from torch.utils import data

import drapps
import drapps.torch
from drapps.accelerate import here, proof
from drapps.accelerate.late import LatePixels
from python.tests.cells import some_full


class Photos(data.Dataset):
    """Pictures in a folder, as people read them."""

    def __init__(self, folder, transform=np.asarray):
        self.paths = sorted(Path(folder).rglob("*.jpg"))
        self.transform = transform

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        image = Image.open(self.paths[index]).convert("RGB")
        return self.transform(image.crop((3, 4, 60, 50)).resize((30, 20), 2))


class OnThreads(Photos):
    """The same where threads take the place of processes."""

    thread_safe = True


class Stream(data.IterableDataset):
    """The same as a stream, which holds a picture while it waits."""

    def __init__(self, folder):
        self.inner = Photos(folder, lambda image: image)

    def __iter__(self):
        for index in range(len(self.inner)):
            image = self.inner[index]
            yield np.asarray(image)
            assert image.size == (30, 20)


def held_by_pillow():
    return dict(vars(Image.Image)), dict(vars(JpegImagePlugin.JpegImageFile))


@pytest.fixture(autouse=True)
def nothing_is_left():
    before = held_by_pillow()
    yield
    gc.collect()
    assert held_by_pillow() == before
    assert here.hooks._users == 0


def load(dataset, **options):
    loader = drapps.torch.DataLoader(dataset, 2, **options)
    return list(loader), loader


def pictures(loader):
    return loader.explain().plan.pictures or {}


KINDS = [(Photos, 0), (OnThreads, 2), (Stream, 0)]


@pytest.mark.parametrize(("kind", "workers"), KINDS)
def test_batches_are_the_same_and_pictures_are_counted(kind, workers, photos):
    with_it, loader = load(kind(photos), num_workers=workers, accelerate=True)
    without, plain = load(kind(photos), num_workers=workers, accelerate=False)
    assert all(map(torch.equal, with_it, without))
    jpegs = len(list(photos.rglob("*.jpg")))
    assert pictures(loader) == {"native": jpegs, "resized": jpegs}
    assert f"{jpegs} pictures decoded natively" in str(loader.lifted())
    assert pictures(plain) == {}


@pytest.mark.parametrize(("kind", "workers"), some_full(KINDS, (Photos, 0)))
def test_it_is_off_here_where_nobody_asks_for_it(kind, workers, photos, monkeypatch):
    assert pictures(load(kind(photos), num_workers=workers)[1]) == {}
    monkeypatch.setenv("DRAPPS_ACCELERATE", "0")
    assert pictures(load(kind(photos), num_workers=workers, accelerate=True)[1]) == {}


def test_it_acts_on_the_thread_that_makes_a_sample_alone(photos):
    iterator = iter(drapps.torch.DataLoader(Photos(photos), 1, accelerate=True))
    next(iterator)
    assert vars(Image.Image)["crop"].__module__ == "PIL.Image"
    image = Image.open(Photos(photos).paths[0])
    image.load()
    assert type(image._im) is not LatePixels
    del iterator


class Watching(Photos):
    """Looks at what other threads see of a picture that is late on its own."""

    def __getitem__(self, index):
        image = Image.open(self.paths[index])
        image.load()
        assert type(image._im) is LatePixels
        with ThreadPoolExecutor(1) as pool:
            other = pool.submit(self._open, index).result()
            assert type(other._im) is not LatePixels
            assert pool.submit(image.tobytes).result() == other.tobytes()
        return np.asarray(image)

    def _open(self, index):
        image = Image.open(self.paths[index])
        image.load()
        return image


def test_other_threads_of_a_dataset_see_pillows_own(photos):
    _, loader = load(Watching(photos), accelerate=True, collate_fn=list)
    assert pictures(loader)["native"] == len(loader.dataset)


class Keeping(Photos):
    """Keeps pictures in many ways, and gives one away."""

    def __init__(self, folder):
        super().__init__(folder)
        self.kept = []

    def __getitem__(self, index):
        image = Image.open(self.paths[index])
        image.load()
        gray = image.convert("L")
        like, alone = image.copy(), image.copy()
        like.__dict__.update(gray.__dict__)
        cycle = [image.transpose(0)]
        cycle.append(cycle)
        self.kept += [image, like, cycle[0], copy.copy(gray), {"access": gray.load()}]
        return alone.crop((1, 2, 30, 40))


@pytest.mark.parametrize("workers", some_full([0, 2], 2))
def test_what_outlives_a_sample_is_pillows_own(photos, workers):
    kept = []
    for accelerate in (True, False):
        dataset = Keeping(photos)
        dataset.thread_safe = True
        given, loader = load(dataset, num_workers=workers, accelerate=accelerate, collate_fn=list)
        assert bool(pictures(loader)) is accelerate
        images = [each for batch in given for each in batch]
        images += [each for each in dataset.kept if isinstance(each, Image.Image)]
        held = [vars(each).get("_im", vars(each).get("im")) for each in images]
        assert not any(type(each) is LatePixels for each in held)
        accesses = [each["access"][5, 6] for each in dataset.kept if isinstance(each, dict)]
        pixels = [each.tobytes() for each in images]
        kept.append((sorted(pixels), sorted(accesses)))
    assert kept[0] == kept[1]


class Failing(Photos):
    """Keeps a picture in an exception."""

    def __getitem__(self, index):
        image = Image.open(self.paths[index])
        image.load()
        error = KeyError(str(self.paths[index]))
        error.image = image
        raise error


def test_an_error_passes_and_what_it_holds_is_pillows_own(photos):
    iterator = iter(drapps.torch.DataLoader(Failing(photos), 1, accelerate=True))
    with pytest.raises(KeyError, match="jpg") as raised:
        next(iterator)
    assert type(raised.value.image._im) is not LatePixels
    with pytest.raises(KeyError):
        next(iterator)
    del iterator, raised


def test_what_a_user_puts_there_stays_his(photos, monkeypatch):
    called = []
    plain = Image.Image.copy

    def mine(self):
        called.append(self)
        return plain(self)

    def later(self, box):
        called.append(self)
        return now(self, box)

    monkeypatch.setattr(Image.Image, "copy", mine)
    loader = drapps.torch.DataLoader(Photos(photos, lambda image: image.copy()), 1, accelerate=True)
    loader.collate_fn = list
    iterator = iter(loader)
    next(iterator)
    assert len(called) == 2
    now = vars(Image.Image)["crop"]
    Image.Image.crop = later
    try:
        next(iterator)
        assert len(called) == 5
        del iterator
        assert vars(Image.Image)["crop"] is later
    finally:
        Image.Image.crop = now.__wrapped__
        monkeypatch.undo()


def test_loaders_at_once_count_each_its_own(photos):
    class Nested(Photos):
        def __getitem__(self, index):
            return next(iter(inner)), super().__getitem__(index)

    inner = drapps.torch.DataLoader(Photos(photos), 3, accelerate=True)
    given, loader = load(Nested(photos), accelerate=True)
    assert len(given) == len(loader)
    count = len(loader.dataset)
    assert (pictures(loader)["native"], pictures(inner)["native"]) == (count, 3 * count)


def test_threads_at_once_leave_nothing(photos):
    failures = []

    def run():
        try:
            for _ in range(3):
                loaded, _ = load(Photos(photos), accelerate=True)
                assert all(map(torch.equal, loaded, wanted))
        except BaseException as error:
            failures.append(error)

    wanted, _ = load(Photos(photos), accelerate=False)
    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_workers_that_are_forked_meanwhile_have_it_anew(photos):
    iterator = iter(drapps.torch.DataLoader(Photos(photos), 1, accelerate=True))
    next(iterator)
    _, loader = load(Photos(photos), num_workers=1, multiprocessing_context="fork")
    assert pictures(loader)["native"] == len(loader.dataset)
    process = multiprocessing.get_context("fork").Process(target=next, args=(iterator,))
    process.start()
    process.join()
    assert process.exitcode == 0
    next(iterator)
    del iterator


def test_why_pillow_is_left_alone_is_said(photos, monkeypatch):
    monkeypatch.setattr(proof, "_known", None)
    monkeypatch.setattr(proof, "_is", lambda *_: False)
    _, loader = load(Photos(photos), accelerate=True)
    monkeypatch.setattr(proof, "_known", None)
    assert "this Pillow decodes, resizes or loads pictures otherwise" in str(loader.lifted())
    assert set(pictures(loader)) == {"left_alone"}


def test_items_are_cached_as_others_are(photos):
    kept = drapps.cached(Photos(photos, lambda image: image), budget=64 << 20)
    wanted = [Photos(photos)[index] for index in range(len(kept))]
    for _ in range(2):
        given, _ = load(kept, accelerate=True, collate_fn=list)
        arrays = [np.asarray(each) for batch in given for each in batch]
        assert all(map(np.array_equal, arrays, wanted))


def test_an_accelerate_that_is_neither_is_refused(photos):
    with pytest.raises(drapps.PipelineError, match="accelerate=3 must be True or False"):
        drapps.torch.DataLoader(Photos(photos), accelerate=3)
