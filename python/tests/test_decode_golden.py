"""Decoded pixels against the installed Pillow: no byte may differ."""

from __future__ import annotations

import io
import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from PIL import Image

from drapps import _core
from python.tests.decode_files import (
    CODINGS,
    SAMPLINGS,
    SIZES,
    chunk,
    encode,
    jpeg,
    picture,
    pillow,
    png,
    verdict,
    verdict_of_pillow,
    with_orientation,
    without_adobe,
    ycck,
)


def assert_same(data: bytes, seed: int = 0, **options: Any) -> None:
    """The whole equals Pillow's in colour and in gray, and every part equals that part of it."""
    options = {"depth": "clip", **options}
    upright = options.get("exif") == "apply"
    expected = pillow(data, upright=upright)
    np.testing.assert_array_equal(_core.decode(data, **options), expected)
    np.testing.assert_array_equal(
        _core.decode(data, color="gray", **options), pillow(data, "L", upright=upright)
    )
    info = _core.inspect(data, exif=options.get("exif", "ignore"))
    height, width = expected.shape[:2]
    assert (info["height"], info["width"]) == (height, width)
    rng = np.random.default_rng(seed)
    for _ in range(6):
        top, left = int(rng.integers(height)), int(rng.integers(width))
        rows, columns = (
            int(rng.integers(1, height - top + 1)),
            int(rng.integers(1, width - left + 1)),
        )
        np.testing.assert_array_equal(
            _core.decode(data, region=(top, left, rows, columns), **options),
            expected[top : top + rows, left : left + columns],
        )


# --- JPEG -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("coding", CODINGS)
@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_jpeg_equals_pillow(sampling: str, coding: str) -> None:
    for seed, (height, width) in enumerate(SIZES):
        assert_same(jpeg(sampling, height, width, **CODINGS[coding]), seed)


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_many_parts_of_a_jpeg_equal_the_crop_of_the_whole(sampling: str) -> None:
    height, width = 203, 317
    data = jpeg(sampling, height, width)
    assert not _core.inspect(data)["irregular"]
    whole = pillow(data)
    rng = np.random.default_rng(7)
    for _ in range(300):
        top, left = int(rng.integers(height)), int(rng.integers(width))
        rows, columns = (
            int(rng.integers(1, height - top + 1)),
            int(rng.integers(1, width - left + 1)),
        )
        part = _core.decode(data, region=(top, left, rows, columns))
        np.testing.assert_array_equal(part, whole[top : top + rows, left : left + columns])


@pytest.mark.parametrize("change", [bytes, ycck, without_adobe])
@pytest.mark.parametrize("coding", ["baseline", "progressive", "restart-rows"])
def test_four_inks_equal_pillow(coding: str, change: Callable[[bytes], bytes]) -> None:
    for seed, (height, width) in enumerate(SIZES):
        for subsampling in (0, 2):
            data = encode(
                picture("CMYK", height, width), "JPEG", subsampling=subsampling, **CODINGS[coding]
            )
            assert_same(change(data), seed)


@pytest.mark.parametrize("change", [bytes, ycck, without_adobe])
def test_four_inks_by_tensorflows_product(change: Callable[[bytes], bytes]) -> None:
    for height, width in SIZES:
        data = change(encode(picture("CMYK", height, width), "JPEG"))
        with Image.open(io.BytesIO(data)) as opened:
            inks = np.asarray(opened).astype(int)
        # Without Adobe's marker TensorFlow takes the numbers for the inks' and not for the paper's.
        light = inks if change is without_adobe else 255 - inks
        expected = light[..., :3] * light[..., 3:] // 255
        np.testing.assert_array_equal(_core.decode(data, cmyk="tensorflow"), expected)


def test_rgb_components_equal_pillow() -> None:
    for seed, (height, width) in enumerate(SIZES):
        assert_same(encode(picture("RGB", height, width), "JPEG", keep_rgb=True), seed)


def test_bytes_behind_the_end_of_a_jpeg_do_not_matter() -> None:
    data = jpeg("4:2:0", 67, 53)
    for tail in (b"\0" * 7, b"junk", data):
        assert not _core.inspect(data + tail)["irregular"]
        assert_same(data + tail)


def test_a_file_without_tables_gets_none_from_the_one_before() -> None:
    data = jpeg("4:4:4", 16, 16)
    at = data.index(b"\xff\xdb")
    bare = data[:at] + data[at + 2 + int(struct.unpack_from(">H", data, at + 2)[0]) :]
    while (at := bare.find(b"\xff\xdb")) >= 0:
        bare = bare[:at] + bare[at + 2 + int(struct.unpack_from(">H", bare, at + 2)[0]) :]
    _core.decode(data)
    with pytest.raises(_core.SampleError):
        _core.decode(bare)


# --- PNG ------------------------------------------------------------------------------------------


KINDS = [
    (color_type, depth)
    for color_type, depths in {
        0: (1, 2, 4, 8, 16),
        2: (8, 16),
        3: (1, 2, 4, 8),
        4: (8, 16),
        6: (8, 16),
    }.items()
    for depth in depths
]


@pytest.mark.parametrize("interlaced", [False, True])
@pytest.mark.parametrize(("color_type", "depth"), KINDS)
def test_png_equals_pillow(color_type: int, depth: int, interlaced: bool) -> None:
    channels = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[color_type]
    rng = np.random.default_rng(depth)
    for seed, (height, width) in enumerate(SIZES):
        values = rng.integers(0, 1 << depth, (height, width, channels)) >> rng.integers(
            0, depth, (height, width, 1)
        )
        before = b""
        if color_type == 3:
            before = chunk(b"PLTE", rng.integers(0, 256, 3 << depth).astype(np.uint8).tobytes())
            if seed % 2:
                before += chunk(
                    b"tRNS", rng.integers(0, 256, 1 << depth).astype(np.uint8).tobytes()
                )
        if color_type == 0 and seed % 2:
            before = chunk(b"tRNS", struct.pack(">H", int(values[0, 0, 0])))
        if color_type == 2 and seed % 2:
            before = chunk(b"tRNS", struct.pack(">3H", *(int(v) for v in values[0, 0])))
        assert_same(png(values, color_type, depth, interlaced, before, piece=1000), seed)


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "I;16"])
def test_png_as_pillow_writes_it_equals_pillow(mode: str) -> None:
    for seed, (height, width) in enumerate(SIZES):
        assert_same(encode(picture(mode, height, width), "PNG"), seed)


def test_sixteen_bits_are_refused_clipped_or_scaled_as_asked() -> None:
    values = np.array([[[0], [255], [256], [65535]]])
    data = png(values, 0, 16)
    with pytest.raises(_core.SampleError) as caught:
        _core.decode(data)
    assert caught.value.args[1] == "unsupported"
    assert _core.decode(data, depth="clip")[0, :, 0].tolist() == [0, 255, 255, 255]
    assert _core.decode(data, depth="scale")[0, :, 0].tolist() == [0, 0, 1, 255]


@pytest.mark.parametrize("entries", [0, 1, 5])
def test_colours_that_a_palette_lacks_equal_pillow(entries: int) -> None:
    values = np.arange(24).reshape(4, 6, 1)
    palette = chunk(b"PLTE", bytes(range(3 * entries)))
    assert_same(png(values, 3, 8, before=palette))


def test_a_wrong_checksum_counts_before_the_data_only() -> None:
    values = np.arange(24).reshape(4, 6, 1)
    good = png(values, 0, 8, before=chunk(b"tEXt", b"a\0b"), behind=chunk(b"tEXt", b"c\0d"))
    for name, fails in ((b"IHDR", True), (b"tEXt", True), (b"IDAT", False), (b"IEND", False)):
        at = good.index(name)
        end = at + 4 + int(struct.unpack_from(">I", good, at - 4)[0])
        bad = good[:end] + bytes([good[end] ^ 1]) + good[end + 1 :]
        assert verdict_of_pillow(bad) is not fails
        assert verdict(bad) is not fails


# --- WebP -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("lossless", [False, True])
@pytest.mark.parametrize("mode", ["RGB", "RGBA", "L"])
def test_webp_equals_pillow(mode: str, lossless: bool) -> None:
    for seed, (height, width) in enumerate(SIZES):
        image = picture(mode, height, width)
        assert_same(encode(image, "WEBP", lossless=lossless, exact=bool(seed % 2)), seed)


@pytest.mark.parametrize("lossless", [False, True])
@pytest.mark.parametrize("mode", ["RGB", "RGBA"])
def test_the_first_frame_of_an_animated_webp_equals_pillow(mode: str, lossless: bool) -> None:
    for seed, (height, width) in enumerate(SIZES):
        first = picture(mode, height, width, seed)
        data = encode(
            first,
            "WEBP",
            save_all=True,
            append_images=[picture(mode, height, width, 99)],
            lossless=lossless,
        )
        assert_same(data, seed)


def test_a_first_frame_smaller_than_its_canvas_stands_on_black() -> None:
    def riff(name: bytes, body: bytes) -> bytes:
        return name + struct.pack("<I", len(body)) + body + b"\0" * (len(body) & 1)

    def three(value: int) -> bytes:
        return struct.pack("<I", value)[:3]

    still = encode(picture("RGB", 10, 12), "WEBP", lossless=True)
    vp8l = still[12:]
    frame = (
        three(4 // 2) + three(6 // 2) + three(12 - 1) + three(10 - 1) + three(100) + b"\0" + vp8l
    )
    body = riff(b"VP8X", b"\x02\0\0\0" + three(30 - 1) + three(20 - 1)) + riff(b"ANIM", b"\0" * 6)
    data = riff(b"RIFF", b"WEBP" + body + riff(b"ANMF", frame))
    for seed in range(5):
        assert_same(data, seed)


# --- orientation ----------------------------------------------------------------------------------


@pytest.mark.parametrize("big_endian", [False, True])
@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP"])
@pytest.mark.parametrize("value", range(10))
def test_orientation_equals_exif_transpose(kind: str, value: int, big_endian: bool) -> None:
    data = with_orientation(kind, value, big_endian)
    assert_same(data, exif="apply")
    assert_same(data, exif="ignore")


@pytest.mark.parametrize("form", ['tiff:Orientation="6"', "<tiff:Orientation>6</tiff:Orientation>"])
@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP"])
def test_orientation_in_xmp_counts_where_exif_has_none(kind: str, form: str) -> None:
    image = picture("RGB", 45, 76)
    packet = f"<x:xmpmeta>{form}</x:xmpmeta>".encode()
    if kind == "PNG":
        data = png(
            np.asarray(image), 2, 8, before=chunk(b"iTXt", b"XML:com.adobe.xmp\0\0\0\0\0" + packet)
        )
    else:
        data = encode(image, kind, xmp=packet)
    assert _core.inspect(data, exif="apply")["orientation"] == 6
    assert_same(data, exif="apply")


def test_a_mask_keeps_its_palette_indices() -> None:
    indices = np.random.default_rng(5).integers(0, 21, (37, 53), dtype=np.uint8)
    for image in (Image.fromarray(indices, "L"), Image.fromarray(indices, "P")):
        if image.mode == "P":
            image.putpalette([value * 7 % 256 for value in range(63)])
        out = io.BytesIO()
        image.save(out, "PNG")
        opened = np.array(Image.open(io.BytesIO(out.getvalue())))
        assert np.array_equal(_core.decode(out.getvalue(), color="indices")[:, :, 0], opened)
    for file_format in ("PNG", "JPEG", "WEBP"):
        out = io.BytesIO()
        Image.new("RGB", (8, 8)).save(out, file_format)
        with pytest.raises(_core.SampleError, match="mask"):
            _core.decode(out.getvalue(), color="indices")
