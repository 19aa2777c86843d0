"""Pictures of Python datasets in worker processes: made natively, the same, counted, or not."""

from __future__ import annotations

import io
import zipfile
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from PIL import Image, ImageOps
from torch.utils import data

import drapps.torch
from python.tests.decode_files import jpeg
from python.tests.photo_batches import FORKED, Photos, batches, same


class Pairs(Photos):
    """Two crops of one picture, and a gray one from bytes."""

    def __getitem__(self, index):
        image = Image.open(io.BytesIO(self.paths[index].read_bytes()))
        image.load()
        left = int(torch.randint(0, 20, ()))
        crops = [image.convert("RGB").crop((left, each, left + 50, each + 40)) for each in (0, 20)]
        gray = image.convert("L").resize((33, 21), Image.Resampling.BILINEAR)
        flipped = crops[1].transpose(Image.Transpose.FLIP_LEFT_RIGHT)
        return np.stack([np.array(each) for each in (crops[0], flipped)]), np.array(gray)


class Zipped(Photos):
    """Gray pictures, from members of an archive that each process opens."""

    archive = None

    def __getitem__(self, index):
        if self.archive is None:
            self.archive = zipfile.ZipFile(self.paths[0].parent / "all.txt")
        with self.archive.open(f"{index}") as file, Image.open(file) as image:
            upright = ImageOps.exif_transpose(image).convert("L")
        return np.asarray(upright.crop((2, 3, 70, 60)).resize((37, 29), 2)), upright.size


class Stream(data.IterableDataset):
    """The same as a stream."""

    def __init__(self, folder):
        self.inner = Zipped(folder)

    def __iter__(self):
        return iter(self.inner)


class Replaced(Photos):
    """Puts a method of its own in Pillow's place."""

    def __getitem__(self, index):
        def copy(self):  # noqa: ARG001
            return Image.new("RGB", (8, 8), (1, 2, 3))

        Image.Image.copy = copy
        return np.asarray(Image.open(self.paths[0]).copy())


def chain(transforms):
    return transforms.Compose(
        [
            transforms.RandomResizedCrop(40),
            transforms.RandomHorizontalFlip(),
            transforms.ToTensor(),
            transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]),
        ]
    )


@pytest.mark.parametrize("start", FORKED)
def test_batches_are_the_same_and_pictures_are_counted(start, photos, v1):
    dataset = Photos(photos, chain(v1))
    options = {"multiprocessing_context": start, "shuffle": True}
    with_it, loader = batches(dataset, **options)
    without, plain = batches(dataset, accelerate=False, **options)
    assert same(with_it, without)
    counts = loader.explain().plan.pictures
    jpegs = len(list(photos.rglob("*.jpg")))
    assert counts["native"] == jpegs
    assert counts["resized"] > 0
    assert f"{jpegs} pictures decoded natively" in str(loader.lifted())
    assert f"{jpegs} pictures decoded natively" in str(loader.explain())
    assert plain.explain().plan.pictures is None
    assert plain.lifted().pictures == ""


@pytest.mark.parametrize("start", FORKED)
@pytest.mark.parametrize("kind", [Photos, Pairs, Zipped, Stream])
def test_whole_datasets_are_the_same(kind, start, tmp_path):
    for number, sampling in enumerate(("4:4:4", "4:2:0", "4:2:2", "gray")):
        (tmp_path / f"{number}.jpg").write_bytes(jpeg(sampling, 90 + number, 111, quality=60))
        progressive = jpeg(sampling, 75, 80 + number, progressive=True)
        (tmp_path / f"{number}p.jpg").write_bytes(progressive)
    with zipfile.ZipFile(tmp_path / "all.txt", "w") as archive:
        for number, path in enumerate(sorted(tmp_path.glob("*.jpg"))):
            archive.write(path, f"{number}")
    options = {"multiprocessing_context": start, "num_workers": 1}
    with_it, loader = batches(kind(tmp_path), batch_size=1, **options)
    assert same(with_it, batches(kind(tmp_path), num_workers=0, batch_size=1)[0])
    counts = loader.explain().plan.pictures
    assert (counts["native"], counts["progressive"]) == (4, 4)
    assert "4 by Pillow (4 progressive)" in str(loader.lifted())


def test_counts_outlive_a_pass_and_are_of_all_passes(photos):
    loader = drapps.torch.DataLoader(Photos(photos), 1, num_workers=1)
    jpegs = len(list(photos.rglob("*.jpg")))
    for number in (1, 2):
        for _ in loader:
            pass
        assert loader.explain().plan.pictures["native"] == number * jpegs
    persistent = drapps.torch.DataLoader(Photos(photos), 1, num_workers=1, persistent_workers=True)
    for number in (1, 2):
        for _ in persistent:
            pass
        assert persistent.explain().plan.pictures["native"] == number * jpegs


def test_the_variable_switches_it_off(photos, monkeypatch):
    monkeypatch.setenv("DRAPPS_ACCELERATE", "0")
    baseline, loader = batches(Photos(photos), batch_size=1)
    assert loader.explain().plan.pictures is None
    monkeypatch.setenv("DRAPPS_ACCELERATE", "1")
    again, loader = batches(Photos(photos), batch_size=1)
    assert loader.explain().plan.pictures["native"] > 0
    assert same(baseline, again)


def test_nothing_of_it_is_in_this_process(photos):
    before = dict(vars(Image.Image))
    batches(Photos(photos), batch_size=1)
    batches(Photos(photos), batch_size=1, num_workers=0)
    assert dict(vars(Image.Image)) == before


def test_what_a_dataset_replaces_in_its_worker_is_called(photos):
    pictures, _ = batches(Replaced(photos), batch_size=1)
    assert {tuple(batch.shape) for batch in pictures} == {(1, 8, 8, 3)}


def test_why_pillow_is_left_alone_is_said(photos, monkeypatch):
    plain = Image.Image.load
    monkeypatch.setattr(Image.Image, "load", lambda self: plain(self))
    _, loader = batches(Photos(photos), batch_size=1, multiprocessing_context="fork")
    assert "functions of Pillow that all pictures go through were replaced" in str(loader.lifted())
    assert set(loader.explain().plan.pictures) == {"left_alone"}


class Threaded(Photos):
    """Threads of its own make a sample."""

    def __getitem__(self, index):
        image = Image.open(self.paths[index])
        image.load()
        boxes = [(each, each, each + 40, each + 30) for each in range(16)]
        with ThreadPoolExecutor(4) as pool:
            crops = list(pool.map(lambda box: np.asarray(image.crop(box).resize((31, 23))), boxes))
        return np.stack([np.asarray(Image.fromarray(each).convert("RGB")) for each in crops])


def test_threads_of_a_dataset_share_a_picture(photos):
    with_it, loader = batches(Threaded(photos), batch_size=1)
    assert loader.explain().plan.pictures["native"] > 0
    assert same(
        [[each] for each in with_it],
        [[each] for each in batches(Threaded(photos), batch_size=1, num_workers=0)[0]],
    )
