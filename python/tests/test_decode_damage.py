"""What is no picture, or a damaged one: Pillow's verdict, whatever the region is."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from drapps import _core
from python.tests.cells import some_full
from python.tests.damage import DAMAGES, intact_files
from python.tests.decode_files import (
    CODINGS,
    Pixels,
    chunk,
    encode,
    frame_at,
    jpeg,
    picture,
    pillow,
    png,
    verdict,
    verdict_of_pillow,
)


@pytest.mark.parametrize(
    ("data", "code", "says"),
    [
        (b"", "truncated", "empty"),
        (b"\xff\xd8", "truncated", "signature"),
        (b"\x89PNG", "truncated", "signature"),
        (b"RIFF\0\0", "truncated", "signature"),
        (b"GIF89a" + b"\0" * 20, "unsupported", "GIF"),
        (b"BM" + b"\0" * 20, "unsupported", "BMP"),
        (b"II*\0" + b"\0" * 20, "unsupported", "TIFF"),
        (b"\n <!DOCTYPE html><html>404</html>", "unsupported", "HTML"),
        (b"version https://git-lfs.github.com/spec/v1", "unsupported", "Git LFS"),
        (b"\0\0\0\x20ftypavif" + b"\0" * 20, "unsupported", "AVIF"),
        (b"hello, world", "unsupported", "text"),
        (b"\1\2\3\4" * 9, "unsupported", "no picture"),
    ],
)
def test_what_is_no_picture_is_named(data: bytes, code: str, says: str) -> None:
    for call in (_core.inspect, _core.decode):
        with pytest.raises(_core.SampleError) as caught:
            call(data)
        stage, what, _, offset, _, message = caught.value.args
        assert (stage, what) == ("decode", code)
        assert says in message
        assert offset >= 0


def test_sizes_are_checked_before_memory_is_taken() -> None:
    no_pixels = bytearray(jpeg("4:4:4", 16, 16))
    struct.pack_into(">HH", no_pixels, frame_at(bytes(no_pixels)) + 5, 0, 16)
    huge = bytearray(no_pixels)
    struct.pack_into(">HH", huge, frame_at(bytes(huge)) + 5, 65535, 65535)
    header = struct.pack(">IIBBBBB", 1 << 20, 1 << 20, 8, 2, 0, 0, 0)
    bomb = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", b"") + chunk(b"IEND", b"")
    for data, code in (
        (bytes(no_pixels), "corrupt"),
        (bytes(huge), "too large"),
        (bomb, "too large"),
    ):
        with pytest.raises(_core.SampleError) as caught:
            _core.inspect(data)
        assert caught.value.args[1] == code
        assert not verdict_of_pillow(data)


def test_a_region_outside_the_picture_is_refused() -> None:
    data = jpeg("4:4:4", 16, 16)
    for region in (
        (0, 0, 17, 1),
        (-1, 0, 2, 2),
        (0, 16, 1, 1),
        (0, 0, 0, 4),
        (2**31 - 1, 0, 2**31 - 1, 1),
    ):
        with pytest.raises(_core.SampleError) as caught:
            _core.decode(data, region=region)
        assert caught.value.args[1] == "invalid argument"


def small_files() -> Iterator[tuple[str, bytes]]:
    for sampling in ("4:4:4", "4:2:0", "gray"):
        for coding in ("baseline", "progressive", "restart-blocks"):
            yield f"jpeg-{sampling}-{coding}", jpeg(sampling, 41, 57, **CODINGS[coding])
    yield "png-rgb", encode(picture("RGB", 21, 17), "PNG")
    yield "png-palette", encode(picture("P", 21, 17), "PNG")
    yield "png-interlaced", png(np.asarray(picture("RGB", 21, 17)), 2, 8, True, piece=300)
    yield "webp-lossy", encode(picture("RGB", 41, 57), "WEBP")
    yield "webp-lossless", encode(picture("RGBA", 21, 17), "WEBP", lossless=True)


FILES = dict(small_files())
KINDS = some_full(
    FILES,
    *("jpeg-4:4:4-baseline", "jpeg-4:2:0-progressive", "jpeg-gray-restart-blocks"),
    *("png-palette", "png-interlaced", "webp-lossy", "webp-lossless"),
)


def assert_region_does_not_matter(data: bytes, regions: list[tuple[int, int, int, int]]) -> None:
    """One verdict for all regions, and the same pixels."""
    whole = verdict(data)
    try:
        info = _core.inspect(data)
    except _core.SampleError:
        assert not whole
        return
    pixels = _core.decode(data, depth="clip") if whole else None
    for top, left, rows, columns in regions:
        top, left = top % info["height"], left % info["width"]
        rows, columns = 1 + rows % (info["height"] - top), 1 + columns % (info["width"] - left)
        assert verdict(data, region=(top, left, rows, columns)) is whole
        if pixels is not None:
            part = _core.decode(data, region=(top, left, rows, columns), depth="clip")
            np.testing.assert_array_equal(part, pixels[top : top + rows, left : left + columns])


@pytest.mark.parametrize("name", KINDS)
def test_every_truncation_gets_pillows_verdict(name: str) -> None:
    data = FILES[name]
    step = max(1, len(data) // 400)
    for length in [*range(0, len(data), step), *range(max(0, len(data) - 24), len(data) + 1)]:
        cut = data[:length]
        assert verdict(cut) is verdict_of_pillow(cut), length
        assert_region_does_not_matter(cut, [(0, 0, 3, 3)])


@pytest.mark.parametrize(
    "name",
    some_full(
        [name for name in FILES if name.startswith("jpeg")],
        *("jpeg-4:4:4-baseline", "jpeg-4:2:0-progressive", "jpeg-gray-restart-blocks"),
    ),
)
def test_any_marker_in_place_of_the_end_gets_pillows_verdict(name: str) -> None:
    for marker in range(256):
        for tail in (b"", b"\0\5abc", b"\0" * 30):
            data = FILES[name][:-1] + bytes([marker]) + tail
            assert verdict(data) is verdict_of_pillow(data), (marker, tail)
            assert verdict(data, region=(0, 0, 1, 1)) is verdict(data)


def decoded(data: bytes) -> Pixels | None:
    """What the file decodes to, if it does."""
    try:
        return _core.decode(data, depth="clip")
    except _core.SampleError:
        return None


def read_by_pillow(data: bytes) -> Pixels | None:
    """What Pillow reads, if it does."""
    try:
        return pillow(data)
    except Exception:  # Pillow raises half a dozen kinds
        return None


def assert_pillows_pixels(name: str, data: bytes) -> None:
    ours, theirs = decoded(data), read_by_pillow(data)
    assert (ours is None) is (theirs is None)
    if ours is None or theirs is None:
        return
    assert ours.shape == theirs.shape
    # Where scans are lost libjpeg smooths, and its releases do that differently.
    apart = np.abs(ours.astype(int) - theirs).max(initial=0)
    assert apart <= (SMOOTHED if "progressive" in name else 0)


SMOOTHED = 16
INTACT = dict(intact_files())


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::PIL.Image.DecompressionBombWarning")
@pytest.mark.parametrize("name", INTACT)
@pytest.mark.parametrize("seeds", [range(1), pytest.param(range(1, 41), marks=pytest.mark.full)])
def test_every_way_to_break_gets_pillows_verdict_and_pixels(name: str, seeds: range) -> None:
    assert decoded(INTACT[name]) is not None
    assert_pillows_pixels(name, INTACT[name])
    for seed in seeds:
        for way, damage in enumerate(DAMAGES):
            damaged = damage(INTACT[name], np.random.default_rng((seed, way)))
            try:
                assert_pillows_pixels(name, damaged)
            except AssertionError as error:
                raise AssertionError(f"{name}, {damage.__name__}, seed {seed}") from error


@pytest.mark.parametrize("interlaced", [False, True])
@pytest.mark.parametrize("color_type", [0, 2, 3])
def test_a_png_with_too_few_rows_is_black_below_them(color_type: int, interlaced: bool) -> None:
    values = np.full((9, 4, 3 if color_type == 2 else 1), 7, np.uint8)
    before = chunk(b"PLTE", bytes(range(30))) if color_type == 3 else b""
    whole = png(values, color_type, 8, interlaced, before=before)
    at = whole.index(b"IDAT")
    raw = zlib.decompress(whole[at + 4 : -16])
    read = 0
    for length in range(len(raw)):
        short = whole[: at - 4] + chunk(b"IDAT", zlib.compress(raw[:length])) + whole[-12:]
        ours, theirs = decoded(short), read_by_pillow(short)
        assert (ours is None) is (theirs is None), length
        if ours is not None and theirs is not None:
            np.testing.assert_array_equal(ours, theirs)
            assert_region_does_not_matter(short, [(3, 1, 4, 2), (8, 3, 1, 1)])
            read += 1
    assert read >= 8  # where a row ends; within a row it is truncated


@pytest.mark.parametrize("name", [b"\xff\xe0\0\7JFIF\0", b"\xff\xee\0\7Adobe"])
def test_a_jpeg_whose_application_segment_is_too_short_is_refused(name: bytes) -> None:
    whole = jpeg("gray", 16, 16)
    for length, reads in ((8, False), (9, True)):
        segment = name[:3] + bytes([length]) + name[4:] + bytes(length - len(name) + 2)
        data = whole[:2] + segment + whole[20:]
        assert verdict(data) is verdict_of_pillow(data) is reads


MIB = 1 << 20


@pytest.mark.parametrize(
    ("texts", "whole"),
    [
        ([chunk(b"zTXt", b"a\0\0" + zlib.compress(bytes(MIB)))], True),
        ([chunk(b"zTXt", b"a\0\0" + zlib.compress(bytes(MIB + 1)))], False),
        ([chunk(b"zTXt", b"a\0\0" + zlib.compress(bytes(80_000_000)))], False),
        ([chunk(b"iTXt", b"a\0\1\0\0\0" + zlib.compress(bytes(MIB + 1)))], False),
        ([chunk(b"iCCP", b"a\0\0" + zlib.compress(bytes(MIB + 1)))], False),
        ([chunk(b"zTXt", b"a\0\0no zlib")], True),
        ([chunk(b"zTXt", b"a\0\1")], False),
        ([chunk(b"iCCP", b"a\0\1")], False),
        ([chunk(b"iCCP", b"a\0")], False),
        ([chunk(b"iTXt", b"a\0\1\1\0\0")], True),
    ],
)
def test_text_beyond_pillows_limits_is_refused(texts: list[bytes], whole: bool) -> None:
    pixels = np.zeros((2, 2, 3), np.uint8)
    for data in (
        png(pixels, 2, 8, before=b"".join(texts)),
        png(pixels, 2, 8, behind=b"".join(texts)),
    ):
        assert verdict(data) is verdict_of_pillow(data) is whole


def test_all_texts_of_a_png_together_have_a_limit() -> None:
    pixels, text = (
        np.zeros((2, 2, 3), np.uint8),
        chunk(b"zTXt", b"a\0\0" + zlib.compress(bytes(MIB))),
    )
    data = png(pixels, 2, 8, before=32 * text, behind=32 * text + chunk(b"tEXt", b"b\0c"))
    assert verdict(data) is verdict_of_pillow(data) is False


Regions = st.lists(st.tuples(*[st.integers(0, 60)] * 4), min_size=3, max_size=3)


@pytest.mark.parametrize("name", KINDS)
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    flips=st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(1, 255)), max_size=3),
    regions=Regions,
)
def test_damage_gets_pillows_verdict_and_pixels(
    name: str, flips: list[tuple[float, int]], regions: list[tuple[int, int, int, int]]
) -> None:
    damaged = bytearray(FILES[name])
    for place, mask in flips:
        damaged[int(place * len(damaged))] ^= mask
    data = bytes(damaged)
    assert verdict(data) is verdict_of_pillow(data)
    if verdict(data):
        np.testing.assert_array_equal(_core.decode(data, depth="clip"), pillow(data))
    assert_region_does_not_matter(data, regions)
