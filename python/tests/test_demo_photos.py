from __future__ import annotations

import io
import itertools
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from demo import photos, tiles, wallpapers

SIZES = [(2560, 1600), (1280, 1024), (1365, 1074), (2056, 3088), (6000, 4000)]


def overlap(a: tiles.Box, b: tiles.Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("seed", range(4))
def test_heldout_tiles_overlap_no_training_tile(size: tuple[int, int], seed: int) -> None:
    plan = tiles.plan_class("a", size, train=60, heldout=20, seed=seed)
    assert not any(overlap(a, b) for a, b in itertools.product(plan.train, plan.heldout))


@pytest.mark.parametrize("size", SIZES)
def test_tiles_lie_inside_the_photograph_and_are_only_ever_reduced(size: tuple[int, int]) -> None:
    plan = tiles.plan_class("a", size, train=60, heldout=20, seed=1)
    for left, top, right, bottom in plan.train + plan.heldout:
        assert left >= 0
        assert top >= 0
        assert right <= size[0]
        assert bottom <= size[1]
        assert right - left >= tiles.TILE[0]
        assert bottom - top >= tiles.TILE[1]


def test_training_tiles_differ_in_place_and_reduction() -> None:
    plan = tiles.plan_class("a", (2560, 1600), train=60, heldout=20, seed=1)
    assert len(set(plan.train)) == 60
    assert len({right - left for left, _, right, _ in plan.train}) > 40


def test_a_plan_follows_from_its_seed_and_class_alone() -> None:
    def plan(name: str, seed: int) -> tiles.ClassTiles:
        return tiles.plan_class(name, (2560, 1600), 20, 5, seed)

    assert plan("a", 1) == plan("a", 1)
    assert plan("a", 1) != plan("a", 2)
    assert plan("a", 1) != plan("b", 1)


def test_a_photograph_too_small_for_both_parts_is_refused() -> None:
    with pytest.raises(ValueError, match="holds no tile"):
        tiles.plan_class("a", (700, 400), 1, 1, 0)


def test_the_table_has_at_least_32_classes_and_2400_training_tiles() -> None:
    names = {photograph.name for photograph in wallpapers.PHOTOGRAPHS}
    assert len(names) == len(wallpapers.PHOTOGRAPHS) >= 32
    assert len(names) * photos.TRAIN_TILES >= 2400


@pytest.mark.parametrize(("sampling", "factors"), [("444", (1, 1)), ("420", (2, 2))])
def test_encoding_follows_sampling_and_grows_with_quality(
    sampling: str, factors: tuple[int, int]
) -> None:
    noise = np.random.default_rng(0).integers(0, 256, (375, 500, 3), dtype=np.uint8)
    tile = Image.fromarray(noise)
    sizes = [len(photos.encode(tile, sampling, quality)) for quality in (90.0, 96.4, 96.8)]
    assert sizes == sorted(set(sizes))
    with Image.open(io.BytesIO(photos.encode(tile, sampling, 97.0))) as decoded:
        assert decoded.layer[0][1:3] == factors


@pytest.fixture(scope="module")
def photographs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Two synthetic photographs."""
    folder = tmp_path_factory.mktemp("photographs")
    texture = np.random.default_rng(3).integers(0, 256, (40, 64, 3), dtype=np.uint8)
    paths = {}
    for name, flip in (("one", False), ("two", True)):
        picture = Image.fromarray(texture[::-1] if flip else texture)
        paths[name] = folder / f"{name}.png"
        picture.resize((1600, 1000), Image.Resampling.BILINEAR).save(paths[name], compress_level=1)
    return paths


@pytest.fixture
def small_recipe(
    photographs: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """A few tiles of each photograph, and a weight that their noise can reach."""
    monkeypatch.setattr(wallpapers, "locate", lambda _: photographs)
    monkeypatch.setattr(photos, "TRAIN_TILES", 2)
    monkeypatch.setattr(photos, "HELDOUT_TILES", 1)
    monkeypatch.setattr(photos, "TARGET_BYTES", 60_000)
    return tmp_path / "photos"


@pytest.fixture(scope="module")
def first_built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the set of the recipe is kept once a test has built it."""
    return tmp_path_factory.mktemp("built") / "photos"


@pytest.fixture
def built(small_recipe: Path, first_built: Path) -> Path:
    """A copy of the set that is built, for a test that changes it."""
    if not first_built.is_dir():
        photos.ensure(first_built)
    shutil.copytree(first_built, small_recipe)
    return small_recipe


def tree(root: Path) -> dict[str, bytes]:
    return {str(f.relative_to(root)): f.read_bytes() for f in root.rglob("*.jpg")}


def test_the_set_is_laid_out_weighed_and_the_same_each_time(built: Path) -> None:
    whole = photos.ensure(built)
    first = tree(built)
    assert set(first) == {
        f"{sampling}/{split}/{name}/{number:03}.jpg"
        for sampling in ("444", "420")
        for split, count in (("train", 2), ("heldout", 1))
        for name in ("one", "two")
        for number in range(count)
    }
    for sampling, mean in whole.mean_bytes.items():
        assert 0.8 < mean / 60_000 < 1.2, sampling
    again = photos.ensure(built.parent / "again")
    assert again.mean_bytes == whole.mean_bytes
    assert tree(built.parent / "again") == first


def test_a_built_set_is_kept(built: Path) -> None:
    file = built / "444/train/one/000.jpg"
    file.write_bytes(b"kept")
    photos.ensure(built)
    assert file.read_bytes() == b"kept"


def test_another_recipe_replaces_its_own_files_and_no_others(
    built: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    foreign = built / "444/train/one/mine.jpg"
    foreign.write_bytes(b"mine")
    assert (built / "444/train/one/001.jpg").exists()
    monkeypatch.setattr(photos, "TRAIN_TILES", 1)
    photos.ensure(built)
    assert not (built / "444/train/one/001.jpg").exists()
    assert foreign.read_bytes() == b"mine"


def test_an_interrupted_build_is_done_again(built: Path) -> None:
    manifest = json.loads((built / "manifest.json").read_text())
    (built / "manifest.json").write_text(json.dumps(manifest | {"complete": False}))
    (built / "420/heldout/two/000.jpg").write_bytes(b"half")
    photos.ensure(built)
    assert (built / "420/heldout/two/000.jpg").read_bytes() != b"half"
