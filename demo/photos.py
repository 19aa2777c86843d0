"""The labelled photo set: tiles of real photographs in two chroma samplings, built once and kept.

    <cache>/{444,420}/{train,heldout}/<class>/<nnn>.jpg      <cache>/manifest.json

Both samplings hold the same tiles. JPEG quality is searched per sampling until the mean file has
TARGET_BYTES, the weight of photographs as data sets hold them; it need not be a whole number, as
the quantisation tables are scaled here and given to the encoder.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from PIL import Image

from demo import tiles, wallpapers

SAMPLINGS = {"444": "4:4:4", "420": "4:2:0"}
TRAIN_TILES, HELDOUT_TILES = 76, 12  # of each class
SEED = 4
TARGET_BYTES = 102_500
_SAMPLE_TILES = 5  # of each class, for the search of the quality
_QUALITY_RANGE = (80.0, 99.9)
_RECIPE_VERSION = 1  # goes up whenever the same plan makes other files

Progress = Callable[[str, int, int], None]  # what is done, steps done, steps in all


@dataclass(frozen=True)
class PhotoSet:
    """A built set: where it lies and what a file weighs on average, by sampling, in bytes."""

    root: Path
    mean_bytes: dict[str, float]
    classes: int
    train: int
    heldout: int


def ensure(cache: Path, progress: Progress = lambda *_: None) -> PhotoSet:
    """Returns the photo set in `cache`, building it when it is not there or made otherwise.

    Files of an earlier recipe are deleted, but only those which its manifest names. Raises
    wallpapers.FetchError when the photographs cannot be had.
    """
    manifest_path = cache / "manifest.json"
    manifest = json.loads(manifest_path.read_text()) if manifest_path.is_file() else None
    if manifest is None or not manifest["complete"] or manifest["recipe"] != _recipe():
        if manifest is not None:
            for file in manifest["files"]:
                (cache / file).unlink(missing_ok=True)
        progress("fetching photographs", 0, 1)
        manifest = _build(cache, wallpapers.locate(cache.parent / "wallpapers"), progress)
    return PhotoSet(root=cache, **manifest["set"])


def _recipe() -> str:
    """A hash of everything that decides which bytes the files hold."""
    parts = [
        [asdict(p) for p in wallpapers.PHOTOGRAPHS],
        [tiles.TILE, tiles.HELDOUT_SHARE, tiles.LEAST_REDUCTION_SHARE],
        [TRAIN_TILES, HELDOUT_TILES, SEED, TARGET_BYTES, _SAMPLE_TILES, _QUALITY_RANGE],
        _RECIPE_VERSION,
    ]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _build(cache: Path, photographs: dict[str, Path], progress: Progress) -> dict[str, Any]:
    cache.mkdir(parents=True, exist_ok=True)
    counts = {"train": TRAIN_TILES, "heldout": HELDOUT_TILES}
    manifest: dict[str, Any] = {
        "complete": False,
        "recipe": _recipe(),
        "files": [
            f"{sampling}/{split}/{name}/{number:03}.jpg"
            for sampling in SAMPLINGS
            for split, count in counts.items()
            for name in photographs
            for number in range(count)
        ],
    }
    # Written first, so that a build which was interrupted is known to be one, file by file.
    _write_manifest(cache, manifest)
    with ProcessPoolExecutor(max_workers=len(os.sched_getaffinity(0))) as pool:
        samples: list[bytes] = []
        for done, pictures in enumerate(pool.map(_sample, photographs.items()), 1):
            samples += pictures
            progress("choosing the quality", done, 2 * len(photographs))
        search = pool.map(_quality, SAMPLINGS, [samples] * len(SAMPLINGS))
        quality = dict(zip(SAMPLINGS, search, strict=True))
        jobs = [(cache, name, file, quality) for name, file in photographs.items()]
        sizes: dict[str, list[int]] = {sampling: [] for sampling in SAMPLINGS}
        for done, written in enumerate(pool.map(_write_class, jobs), 1):
            for sampling, found_sizes in written.items():
                sizes[sampling] += found_sizes
            progress("cutting tiles", done, len(jobs))
    manifest["complete"] = True
    manifest["quality"] = quality
    manifest["set"] = {
        "mean_bytes": {sampling: sum(all_) / len(all_) for sampling, all_ in sizes.items()},
        "classes": len(photographs),
        "train": TRAIN_TILES * len(photographs),
        "heldout": HELDOUT_TILES * len(photographs),
    }
    _write_manifest(cache, manifest)
    return manifest


def _write_manifest(cache: Path, manifest: dict[str, Any]) -> None:
    written = cache / "manifest.json.new"
    written.write_text(json.dumps(manifest, indent=1))
    written.replace(cache / "manifest.json")


def cut(photograph: Path, boxes: tuple[tiles.Box, ...]) -> Iterator[Image.Image]:
    """Yields the tile of each box."""
    with closing(Image.open(photograph)) as opened:
        picture = opened.convert("RGB")
    for box in boxes:
        yield picture.crop(box).resize(tiles.TILE, Image.Resampling.LANCZOS)


def encode(tile: Image.Image, sampling: str, quality: float) -> bytes:
    """Returns the tile as a JPEG; `sampling` is "444" or "420", the quality may be a fraction."""
    out = io.BytesIO()
    tables = [_scaled(table, quality) for table in (_LUMA, _CHROMA)]
    tile.save(out, "JPEG", qtables=tables, subsampling=SAMPLINGS[sampling], optimize=False)
    return out.getvalue()


def _scaled(table: tuple[int, ...], quality: float) -> list[int]:
    """The scaling of libjpeg for qualities of 50 and more, without its rounding of the quality."""
    scale = 200 - 2 * quality
    return [min(max(int((value * scale + 50) / 100), 1), 255) for value in table]


def _sample(photograph: tuple[str, Path]) -> list[bytes]:
    name, file = photograph
    return [tile.tobytes() for tile in cut(file, _plan(name, file).train[:_SAMPLE_TILES])]


def _quality(sampling: str, samples: list[bytes]) -> float:
    """Halves the range of qualities until the mean file weighs what it should."""
    pictures = [Image.frombytes("RGB", tiles.TILE, sample) for sample in samples]
    low, high = _QUALITY_RANGE
    while high - low > 0.1:
        middle = (low + high) / 2
        mean = sum(len(encode(tile, sampling, middle)) for tile in pictures) / len(pictures)
        low, high = (middle, high) if mean < TARGET_BYTES else (low, middle)
    return round((low + high) / 2, 2)


def _plan(name: str, file: Path) -> tiles.ClassTiles:
    with Image.open(file) as picture:
        return tiles.plan_class(name, picture.size, TRAIN_TILES, HELDOUT_TILES, SEED)


def _write_class(job: tuple[Path, str, Path, dict[str, float]]) -> dict[str, list[int]]:
    cache, name, file, quality = job
    plan = _plan(name, file)
    sizes: dict[str, list[int]] = {sampling: [] for sampling in SAMPLINGS}
    for split, boxes in (("train", plan.train), ("heldout", plan.heldout)):
        for sampling in SAMPLINGS:
            (cache / sampling / split / name).mkdir(parents=True, exist_ok=True)
        for number, tile in enumerate(cut(file, boxes)):
            for sampling in SAMPLINGS:
                encoded = encode(tile, sampling, quality[sampling])
                (cache / sampling / split / name / f"{number:03}.jpg").write_bytes(encoded)
                sizes[sampling].append(len(encoded))
    return sizes


# The tables of the JPEG standard (ITU-T T.81, annex K.1), row by row.
# fmt: off
_LUMA = (
    16, 11, 10, 16, 24, 40, 51, 61, 12, 12, 14, 19, 26, 58, 60, 55,
    14, 13, 16, 24, 40, 57, 69, 56, 14, 17, 22, 29, 51, 87, 80, 62,
    18, 22, 37, 56, 68, 109, 103, 77, 24, 35, 55, 64, 81, 104, 113, 92,
    49, 64, 78, 87, 103, 121, 120, 101, 72, 92, 95, 98, 112, 100, 103, 99,
)
_CHROMA = (
    17, 18, 24, 47, 99, 99, 99, 99, 18, 21, 26, 66, 99, 99, 99, 99,
    24, 26, 56, 99, 99, 99, 99, 99, 47, 66, 99, 99, 99, 99, 99, 99,
    *[99] * 32,
)
# fmt: on
