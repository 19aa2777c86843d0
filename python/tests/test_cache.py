"""The cache of native loaders, seen from Python."""

from __future__ import annotations

import os
import time
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torchvision import datasets, transforms

import drapps
import drapps.torch as front

FORMS = ["bytes", "jpeg+index", "coefficients", "raw", "raw+lz4", "raw+zstd", "raw+snappy"]
FORMS += ["prepared", "index", "auto"]


@pytest.fixture(scope="module")
def settled(photos: str) -> str:
    """Photographs that were written long enough ago to be kept."""
    time.sleep(0.03)
    return photos


def streams(loader: drapps.Loader, epochs: int = 3) -> list[int]:
    """A checksum of each batch."""
    return [
        zlib.crc32(np.ascontiguousarray(batch.numpy()["image"]).data)
        for _ in range(epochs)
        for batch in loader
    ]


def pipeline(photos: str, storage: Any = None) -> Any:
    """Some ops that draw, behind one that does not."""
    source = drapps.image_folder(photos)
    if storage is not None:
        source = source.on(storage)
    return source.resize(48, 56).random_resized_crop(32).flip().shuffle(3)


@pytest.mark.parametrize("form", FORMS)
def test_no_form_shows_in_the_stream(settled, form):
    expected = streams(pipeline(settled).batch(4, cache="off"))
    for budget in (64 << 20, 200_000):
        loader = pipeline(settled).batch(4, cache=budget, form=form)
        assert streams(loader) == expected
        cache = loader.explain()["forms"]["cache"]  # other loaders may have larger budgets
        assert budget <= cache["budget"] and cache["bytes"] <= cache["budget"]
        if form not in ("index", "auto") and budget > 1 << 20:
            assert cache["hits"] >= 2 * 21


def test_storage_is_asked_once_for_what_is_kept(own_photos):
    time.sleep(0.03)
    storage = drapps.emulate(latency=0.0005)
    loader = pipeline(own_photos, storage).batch(4)
    streams(loader, 1)
    first = loader.stats().storage.bytes
    streams(loader, 2)
    assert loader.stats().storage.bytes == first
    forms = loader.explain()["forms"]
    assert forms["bytes"]["share"] == pytest.approx(1)
    assert forms["bytes"]["bytes"] >= first > 0
    assert forms["bytes"]["saved_us"] >= 500 * forms["bytes"]["samples"]
    assert forms["bytes"]["encode_us"] == 0


def test_a_lifted_loader_says_what_it_keeps(settled):
    steps = transforms.Compose([transforms.RandomResizedCrop(32), transforms.ToTensor()])
    dataset = datasets.ImageFolder(settled, steps)

    def loader(**options: Any) -> Any:
        return front.DataLoader(dataset, batch_size=4, shuffle=True, seed=5, **options)

    kept = loader(cache=64 << 20, form="raw+zstd")
    assert "raw+zstd, in at most 64.0 MiB" in str(kept.lifted())
    assert "wait" in str(loader().lifted())
    assert "nothing is kept" in str(loader(cache="off").lifted())
    plain = loader(cache="off")
    for _ in range(2):
        for ours, theirs in zip(kept, plain, strict=True):
            assert torch.equal(ours[0], theirs[0])
    forms = kept.explain()["forms"]
    assert forms["raw+zstd"]["share"] == pytest.approx(1)
    assert forms["raw+zstd"]["encode_us"] > 0
    assert "raw+zstd" in str(kept.explain())


def test_a_file_that_was_written_to_is_read_anew(tmp_path):
    from PIL import Image

    for i in range(6):
        Image.new("RGB", (40, 40), (i, 0, 0)).save(tmp_path / f"{i}.png")
    time.sleep(0.03)
    files = sorted(str(each) for each in tmp_path.iterdir())
    loader = drapps.images(files).center_crop(40).batch(6, cache=8 << 20, form="raw")
    before = next(iter(loader)).numpy()["image"].copy()
    was = Path(files[2]).stat()
    Image.new("RGB", (40, 40), (200, 0, 0)).save(files[2])
    os.utime(files[2], ns=(was.st_atime_ns, was.st_mtime_ns))
    after = next(iter(loader)).numpy()["image"]
    assert not np.array_equal(before[2], after[2])
    assert np.array_equal(np.delete(before, 2, 0), np.delete(after, 2, 0))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cache": "on"}, '"auto", "off" or a number of bytes'),
        ({"cache": 0}, "cache"),
        ({"form": "lz4"}, '"raw\\+lz4"'),
        ({"cache": "off", "form": "raw"}, "leave out one"),
    ],
)
def test_wrong_options_say_what_is_known(settled, options, message):
    with pytest.raises(drapps.PipelineError, match=message):
        pipeline(settled).batch(4, **options)
