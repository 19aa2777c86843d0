"""Whole datasets of the kinds that people publish: the same batches, natively or not."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import drapps.torch
from python.tests.decode_files import jpeg
from python.tests.own_datasets import KINDS, Streamed

QUICK = ["fork", "here", "thread"]
WAYS = [*QUICK, "spawn", "forkserver"]  # new interpreters, which import all for seconds
COUNT = 6  # photographs
PAIRED = [*zip(KINDS, (*QUICK, *QUICK[:2], *QUICK * 3, *QUICK[:2]), strict=True)]


@pytest.fixture
def folder(tmp_path):
    """Photographs of several samplings, of which some are to be turned."""
    for number, sampling in enumerate(("4:4:4", "4:2:0", "4:2:2") * 2):
        exif = {} if number % 2 else {"exif": turned(3 + number)}
        picture = jpeg(sampling, 70 + number, 80 - number, quality=60, **exif)
        (tmp_path / f"{number}.jpg").write_bytes(picture)
    return tmp_path


def turned(turn):
    from PIL import Image

    exif = Image.Exif()
    exif[0x0112] = min(turn, 8)
    return exif.tobytes()


def batches(kind, way, folder, accelerate):
    dataset = kind(folder / ("on" if accelerate else "off"))
    options = {"num_workers": 0 if way == "here" else 2}
    if way == "thread":
        dataset.thread_safe = True
    elif way != "here":
        options["multiprocessing_context"] = way
    torch.manual_seed(11)
    loader = drapps.torch.DataLoader(dataset, 2, seed=5, accelerate=accelerate, **options)
    return list(loader), loader


def flat(value):
    """All numbers of a batch, and what they are held in."""
    if isinstance(value, (list, tuple)):
        return [flat(each) for each in value]
    if isinstance(value, torch.Tensor):
        return type(value), value.dtype, value.shape, value.stride(), value.numpy().tobytes()
    return value if isinstance(value, str) else np.asarray(value).tobytes()


def compare(kind, way, folder):
    if way == "thread" and kind.draws:
        way = "here"  # threads share the random numbers
    for name in ("on", "off"):
        (folder / name).mkdir()
        for path in folder.glob("*.jpg"):
            (folder / name / path.name).write_bytes(path.read_bytes())
    with_it, loader = batches(kind, way, folder, True)
    new = way not in QUICK
    without, plain = batches(kind, "fork" if new else way, folder, False)
    assert [flat(each) for each in with_it] == [flat(each) for each in without]
    passes = 2 if kind is Streamed and way != "here" else 1  # each worker has all of a stream
    counts = loader.explain().plan.pictures
    assert counts["native"] == passes * COUNT * kind.native
    assert counts.keys() <= {"native", "resized"}
    assert plain.explain().plan.pictures is None


@pytest.mark.parametrize(("kind", "way"), PAIRED)
def test_batches_are_the_same(kind, way, folder):
    compare(kind, way, folder)


@pytest.mark.full
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", KINDS)
def test_batches_are_the_same_however_workers_start(kind, way, folder):
    compare(kind, way, folder)
