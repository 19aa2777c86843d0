"""cv2.imread and cv2.imdecode: natively, and all as it is without."""

from __future__ import annotations

import io
import random
import sys
import types
from pathlib import Path

import cv2
import numpy as np
import pytest
from PIL import Image
from torch.utils import data

import drapps.torch
from drapps.accelerate import exif, opencv
from drapps.accelerate.tally import described
from python.tests.decode_files import jpeg
from python.tests.picture_files import any_file, large_file, photograph

QUICK, FULL = 100, 20_000
SHARES = 20  # tests among which the full ones are divided
COMMON = (-1, 0, 1, 1, 128, 256)  # of which each call is made more often
FLAGS = [*COMMON, *COMMON, 2, 3, 4, 5, 6, 16, 17, 32, 129, 130, 132, 134]
FLAGS += [384, 257, 258, 260, 1.0, None, "x", True]


def seen(act):
    """What a call gives, or how it fails."""
    try:
        array = act()
    except Exception as error:
        return type(error), str(error)
    if array is None:
        return None
    flags = (array.flags.writeable, array.flags.owndata, array.flags.c_contiguous)
    return array.dtype, array.shape, array.strides, flags, array.base is None, array.tobytes()


def call_of(rng, folder):
    """A call of one of the two, of a file of any kind."""
    content = photograph(rng) if rng.random() < 0.5 else any_file(rng)
    args = [rng.choice(FLAGS)] if rng.random() < 0.8 else []
    options = {"flags": args.pop()} if args and rng.random() < 0.1 else {}
    if rng.random() < 0.5:
        path = folder / rng.choice(["a.jpg", "a.png", "missing.jpg", "ä b"])
        if path.name != "missing.jpg":
            path.write_bytes(content)
        name = rng.choice([str(path), str(path), path, str(path).encode(), 7])
        return lambda: cv2.imread(name, *args, **options)
    buffer = np.frombuffer(content, np.uint8)
    given = rng.choice([buffer, buffer, buffer, buffer[None], buffer[::2], content, list(content)])
    return lambda: cv2.imdecode(given, *args, **options)


def compare(seeds, natively, folder):
    for seed in seeds:
        call = call_of(random.Random(seed), folder)
        assert natively(lambda call=call: seen(call)) == seen(call), f"seed {seed}"


@pytest.mark.usefixtures("standing")
def test_random_calls_show_nothing_of_it(natively, tmp_path):
    compare(range(QUICK), natively, tmp_path)
    assert natively.counts()["native"] > QUICK / 10
    assert natively.counts()["by_opencv"] > QUICK / 50


@pytest.mark.full
@pytest.mark.parametrize("share", range(SHARES))
def test_many_random_calls_show_nothing_of_it(natively, share, tmp_path):
    compare(range(QUICK + share, FULL, SHARES), natively, tmp_path)


@pytest.mark.usefixtures("standing")
@pytest.mark.parametrize("turn", range(10))
def test_orientations_are_followed_as_opencv_does(natively, turn, tmp_path):
    given = exif.with_orientation(jpeg("4:2:0", 33, 50), turn)
    path = tmp_path / "a.jpg"
    path.write_bytes(given)
    for flags in (1, 128 | 1, -1, 0):
        image = natively(lambda flags=flags: cv2.imread(str(path), flags))
        assert np.array_equal(image, cv2.imread(str(path), flags))
    assert natively.counts()["native"] == (4 if 1 <= turn <= 8 else 2)


@pytest.mark.usefixtures("standing")
@pytest.mark.parametrize("sampling", ["4:4:4", "4:2:2", "4:2:0", "4:4:0", "4:1:1", "gray"])
def test_gray_is_made_of_files_in_colour_as_opencv_does(natively, sampling):
    buffer = np.frombuffer(jpeg(sampling, 61, 90, quality=70), np.uint8)
    for flags in (0, 2, 4, 6, 128, 132):
        image = natively(lambda flags=flags: cv2.imdecode(buffer, flags))
        assert np.array_equal(image, cv2.imdecode(buffer, flags))
    assert natively.counts()["native"] == 6


def test_functions_that_a_module_has_imported_by_name_are_answered_too(natively, monkeypatch):
    module = types.ModuleType("a_module_of_a_user")
    module.read, module.imdecode = cv2.imread, cv2.imdecode
    module.other = len
    monkeypatch.setitem(sys.modules, module.__name__, module)
    before = dict(vars(module))
    buffer = np.frombuffer(jpeg("4:2:0", 40, 50), np.uint8)

    def act():
        assert module.imdecode is cv2.imdecode
        assert module.read is cv2.imread
        return module.imdecode(buffer, 1)

    assert np.array_equal(natively(act), cv2.imdecode(buffer, 1))
    assert natively.counts()["native"] == 1
    assert dict(vars(module)) == before


def with_exif(**options):
    out = io.BytesIO()
    held = Image.Exif()
    held[0x0112] = 6
    held[0x0110] = "a camera of this name"
    Image.new("RGB", (20, 30)).save(out, "JPEG", exif=held.tobytes(**options))
    return out.getvalue()


def test_orientations_are_read_where_all_agree_on_them():
    plain = jpeg("4:4:4", 20, 30)
    assert exif.orientation_in(plain) == 1
    assert exif.orientation_in(with_exif()) == 6
    assert exif.orientation_in(exif.with_orientation(plain, 3)) == 3
    twice = exif.with_orientation(exif.with_orientation(plain, 3), 3)
    for unusual in (
        exif.with_orientation(plain, 0),
        exif.with_orientation(plain, 9),
        twice,
        plain[:100],
        with_exif().replace(b"II*\0", b"JJ*\0").replace(b"MM\0*", b"JJ\0*"),
        with_exif().replace(b"Exif\0\0", b"Exif\0\1"),
    ):
        assert exif.orientation_in(unusual) is None


class Photos(data.Dataset):
    """As people write them who use OpenCV."""

    def __init__(self, folder):
        self.paths = sorted(map(str, Path(folder).rglob("*.jpg")))

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        image = cv2.cvtColor(cv2.imread(self.paths[index]), cv2.COLOR_BGR2RGB)
        again = cv2.imdecode(np.fromfile(self.paths[index], np.uint8), cv2.IMREAD_COLOR)
        return cv2.resize(image, (24, 20)), again[:20, :20]


@pytest.mark.parametrize("start", ["fork", pytest.param("spawn", marks=pytest.mark.full), None])
def test_a_dataset_gives_the_same_and_is_counted(start, photos):
    options = {"multiprocessing_context": start, "num_workers": 2 if start else 0}
    loader = drapps.torch.DataLoader(Photos(photos), 2, accelerate=True, **options)
    plain = drapps.torch.DataLoader(Photos(photos), 2, accelerate=False, **options)
    for ours, theirs in zip(loader, plain, strict=True):
        assert all(map(np.array_equal, ours, theirs))
    assert loader.explain().plan.pictures == {"native": 2 * len(loader.dataset)}
    assert type(cv2.imread).__name__ == "builtin_function_or_method"


def test_an_opencv_that_decodes_otherwise_is_left_alone_and_named(natively, monkeypatch):
    monkeypatch.setattr(opencv, "_same", lambda *_: False)
    buffer = np.frombuffer(large_file(), np.uint8)
    natively(lambda: cv2.imdecode(buffer, 1))
    assert natively.counts()["native"] == 0
    assert "by OpenCV, which decodes them otherwise" in described(natively.counts())


def test_a_function_of_the_users_stays_his(natively, monkeypatch):
    monkeypatch.setattr(cv2, "imread", lambda *_: "mine")
    buffer = np.frombuffer(large_file(), np.uint8)
    assert natively(lambda: (cv2.imread("a.jpg"), cv2.imdecode(buffer, 1).shape)) == (
        "mine",
        (300, 400, 3),
    )
    assert natively.counts()["native"] == 1
