"""The files of scenario cache: pictures of four kinds, as many of each.

    build/bench/cache/files/444, 420    photographs, hard links to the demo's photo set
    build/bench/cache/files/digits      Fashion-MNIST, each picture a PNG of 28 x 28
    build/bench/cache/files/gray16      16-bit gray PNGs, made of the photographs

A 16-bit picture is the luminance (0.299, 0.587, 0.114) of a photograph times 257, averaged over the
3 x 3 pixels around each, so that its low byte is not that of a stretched 8-bit one.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import shutil
from pathlib import Path

import numpy as np
from PIL import Image

from benchmarks.contestant import ROOT
from benchmarks.image_cpu import data as photos

_EACH = 500
_DIGITS = Path("/usr/share/datasets/fashion-mnist/train-images-idx3-ubyte.gz")
_HEADER = 16  # bytes before the pixels of an IDX file of pictures
_SIDE = 28
_VERSION = "1"


def ensure() -> Path:
    """Returns the folder, whose files lie in the page cache."""
    folder = ROOT / "build/bench/cache/files"
    stamp = folder.with_suffix(".stamp")
    by_sampling = photos.ensure()
    lists = {kind: by_sampling[kind].files.read_text().splitlines() for kind in ("444", "420")}
    digest = hashlib.sha256(repr((_VERSION, _EACH, lists)).encode()).hexdigest()
    if not stamp.is_file() or stamp.read_text() != digest:
        stamp.unlink(missing_ok=True)
        shutil.rmtree(folder, ignore_errors=True)
        for kind, files in lists.items():
            _link(folder / kind, files)
        _digits(folder / "digits")
        _gray(folder / "gray16", lists["444"])
        stamp.write_text(digest)
    for file in folder.rglob("*.*"):
        file.read_bytes()
    return folder


def _link(folder: Path, files: list[str]) -> None:
    folder.mkdir(parents=True)
    for i in range(_EACH):
        os.link(files[i % len(files)], folder / f"{i:04}.jpg")


def _digits(folder: Path) -> None:
    folder.mkdir(parents=True)
    pixels = np.frombuffer(gzip.decompress(_DIGITS.read_bytes()), np.uint8)[_HEADER:]
    for i, picture in enumerate(pixels.reshape(-1, _SIDE, _SIDE)[:_EACH]):
        Image.fromarray(picture).save(folder / f"{i:04}.png")


def _gray(folder: Path, files: list[str]) -> None:
    folder.mkdir(parents=True)
    pictures: dict[str, Path] = {}
    for i in range(_EACH):
        source, path = files[i % len(files)], folder / f"{i:04}.png"
        if source in pictures:
            os.link(pictures[source], path)
            continue
        with Image.open(source) as photo:
            colours = np.asarray(photo.convert("RGB"), np.float64)
        light = np.pad(colours @ (0.299, 0.587, 0.114) * 257, 1, mode="edge")
        rows = light[:-2] + light[1:-1] + light[2:]
        mean = (rows[:, :-2] + rows[:, 1:-1] + rows[:, 2:]) / 9
        Image.fromarray(np.rint(mean).astype(np.uint16)).save(path)
        pictures[source] = path
