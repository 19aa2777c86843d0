"""Headers of JPEG files that are read natively: Pillow's images have the same attributes."""

from __future__ import annotations

import io
import random
import re

import numpy as np
import pytest
from PIL import Image, JpegImagePlugin

from drapps import _core
from drapps.accelerate import headers
from drapps.accelerate.patches import Patches

XMP = b"http://ns.adobe.com/xap/1.0/\0<x/>"
SAVES = {
    "plain": {},
    "gray": {"mode": "L"},
    "cmyk": {"mode": "CMYK"},
    "4:2:0": {"subsampling": 2},
    "4:2:2": {"subsampling": 1, "quality": 31},
    "progressive": {"progressive": True},
    "restarts": {"restart_marker_blocks": 2},
    "inches": {"dpi": (72, 90)},
    "comment": {"comment": b"made by hand"},
    "exif": {"exif": b"Exif\0\0MM\0*\0\0\0\x08\0\0\0\0\0\0"},
    "profile": {"icc_profile": b"none" * 20},
    "keep_rgb": {"keep_rgb": True},
    "other segment": {"extra": b"\xff\xe5\0\x06mine"},
    "XMP": {"extra": b"\xff\xe1" + (len(XMP) + 2).to_bytes(2, "big") + XMP},
    "Adobe": {"extra": b"\xff\xee\0\x0eAdobe\0\x64\0\0\0\0\x01"},
    "Adobe, cut": {"extra": b"\xff\xee\0\x09Adobe\0\x64"},
    "a second frame": {"extra": b"\xff\xc0\0\x0b\x08\0\x10\0\x10\x01\x01\x11\0"},
    "filled": {"extra": b"\xff\xff\xff\xfe\0\x03a"},
    "junk": {"extra": b"junk"},
    "JFIF again, cut": {"extra": b"\xff\xe0\0\x09JFIF\0\x01\x02"},
    "JFIF in cm": {"extra": b"\xff\xe0\0\x10JFIF\0\x01\x02\x02\0\x07\0\x09\0\0"},
}
NATIVE = {"plain", "gray", "4:2:0", "4:2:2", "restarts", "inches", "comment"}
NATIVE |= {"keep_rgb", "other segment", "Adobe", "JFIF in cm"}


def encoded(mode="RGB", **options):
    pixels = np.random.default_rng(3).integers(0, 255, (23, 37, 4), np.uint8)
    channels = {"L": 0, "RGB": slice(3), "CMYK": slice(4)}[mode]
    file = io.BytesIO()
    Image.fromarray(pixels[..., channels], mode).save(file, "JPEG", **options)
    return file.getvalue()


@pytest.fixture(scope="module")
def files():
    return {name: encoded(**options) for name, options in SAVES.items()}


@pytest.fixture
def patched(monkeypatch):
    """Counts the headers that are read natively."""
    counts, plain = [], _core.plain_jpeg_header

    def counted(data):
        header = plain(data)
        counts.append(header is not None)
        return header

    Image.preinit()
    patches = Patches()
    headers.patch(patches)
    assert hasattr(JpegImagePlugin.JpegImageFile._open, "__wrapped__")
    monkeypatch.setattr(_core, "plain_jpeg_header", counted)
    yield counts
    patches.undo()
    assert not hasattr(JpegImagePlugin.JpegImageFile._open, "__wrapped__")


def outcome(act):
    """What it gives, or how it fails, but for where objects lie."""
    try:
        return act()
    except Exception as error:
        return type(error), re.sub(r"0x[0-9a-f]+", "", str(error))


def seen(open_it):
    """All that an image holds behind an open, and where its file stands; or how it failed."""

    def held():
        image = open_it()
        attributes = [(name, value) for name, value in vars(image).items() if name != "fp"]
        place = image.fp.tell()
        return type(image), attributes, place, outcome(image.getexif), outcome(image.tobytes)

    return outcome(held)


def both(patched, open_it):
    """As `seen` natively and by Pillow alone, and how many headers were read natively."""
    patched.clear()
    ours = seen(open_it)
    count, standing = sum(patched), JpegImagePlugin.JpegImageFile._open
    JpegImagePlugin.JpegImageFile._open = standing.__wrapped__
    try:
        return ours, seen(open_it), count
    finally:
        JpegImagePlugin.JpegImageFile._open = standing


@pytest.mark.parametrize("name", SAVES)
@pytest.mark.parametrize("way", ["path", "bytes", "file", "unbuffered"])
def test_images_hold_the_same(patched, files, tmp_path, name, way):
    path = tmp_path / "picture.jpg"
    path.write_bytes(files[name])
    ways = {
        "path": lambda: Image.open(path),
        "bytes": lambda: Image.open(io.BytesIO(files[name])),
        "file": lambda: Image.open(path.open("rb")),
        "unbuffered": lambda: Image.open(path.open("rb", buffering=0)),
    }
    ours, theirs, count = both(patched, ways[way])
    assert ours == theirs
    assert count == (name in NATIVE and way != "unbuffered")


@pytest.mark.parametrize("name", ["comment", "gray"])
def test_damaged_headers_are_judged_by_pillow(patched, files, name):
    data = files[name]
    end = _core.plain_jpeg_header(data)[0]
    rng = random.Random(7)
    for size in range(2, end + 2):
        ours, theirs, _ = both(patched, lambda size=size: Image.open(io.BytesIO(data[:size])))
        assert ours == theirs, size
    for _ in range(150):
        damaged = bytearray(data)
        damaged[rng.randrange(2, end)] = rng.choice([0, 1, 8, 0xC0, 0xD8, 0xDA, 0xE0, 0xFF])
        ours, theirs, _ = both(patched, lambda file=bytes(damaged): Image.open(io.BytesIO(file)))
        assert ours == theirs, bytes(damaged[:end])


def test_a_header_behind_what_is_buffered_is_pillows(patched, files, tmp_path):
    long = b"\xff\xfe\xff\xff" + b"x" * 0xFFFD
    path = tmp_path / "long.jpg"
    path.write_bytes(files["plain"][:2] + long + files["plain"][2:])
    ours, theirs, count = both(patched, lambda: Image.open(path))
    assert ours == theirs
    assert count == 0


def test_a_file_that_begins_elsewhere_is_pillows(patched, files):
    def open_it():
        file = io.BytesIO(b"before" + files["plain"])
        file.seek(6)
        return JpegImagePlugin.JpegImageFile(file)

    ours, theirs, count = both(patched, open_it)
    assert ours == theirs
    assert count == 0


def test_a_users_handler_of_a_marker_is_called(patched, files, monkeypatch):
    monkeypatch.setitem(JpegImagePlugin.MARKER, 0xFFFE, ("COM", "Mine", lambda *_: 1 / 0))
    with pytest.raises(ZeroDivisionError):
        Image.open(io.BytesIO(files["comment"]))
    assert not patched


def test_a_users_function_stays(monkeypatch):
    Image.preinit()
    mine = lambda self: None  # noqa: ARG005, E731
    monkeypatch.setattr(JpegImagePlugin.JpegImageFile, "_open", mine)
    headers.patch(Patches())
    assert JpegImagePlugin.JpegImageFile._open is mine
