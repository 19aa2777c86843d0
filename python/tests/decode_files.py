"""Pictures in every variant that the decoders read, and what Pillow says of them."""

from __future__ import annotations

import io
import struct
import zlib
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageOps

from drapps import _core

Pixels = npt.NDArray[np.uint8]

SIZES = [(1, 1), (1, 2), (1, 37), (41, 1), (7, 9), (8, 8), (16, 16), (17, 31), (67, 53), (101, 149)]


def photo(height: int, width: int, channels: int = 3, seed: int = 0) -> Pixels:
    """Gradients under noise, so that flat and dense blocks occur: (height, width, channels)."""
    rng = np.random.default_rng((seed, height, width))
    y, x = np.mgrid[0:height, 0:width]
    planes = [
        128
        + 90 * np.sin(x / (5 + 3 * c)) * np.cos(y / (9 - c))
        + rng.normal(0, 6 + 20 * (c == 1), (height, width))
        for c in range(channels)
    ]
    return np.clip(np.stack(planes, axis=-1), 0, 255).astype(np.uint8)


def encode(image: Image.Image, kind: str, **options: Any) -> bytes:
    """The file that Pillow writes."""
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def picture(mode: str, height: int, width: int, seed: int = 0) -> Image.Image:
    """A picture of a Pillow mode, the same for the same arguments."""
    if mode == "P":
        return Image.fromarray(photo(height, width, 3, seed)).quantize(200)
    if mode == "1":
        return Image.fromarray(photo(height, width, 1, seed)[..., 0]).convert("1")
    if mode == "I;16":
        rng = np.random.default_rng(seed)
        values = rng.integers(0, 2**16, (height, width)) >> rng.integers(0, 12, (height, width))
        return Image.fromarray(values.astype(np.uint16))
    channels = {"L": 1, "LA": 2, "RGB": 3, "RGBA": 4, "CMYK": 4}[mode]
    pixels = photo(height, width, channels, seed)
    return Image.fromarray(pixels[..., 0] if channels == 1 else pixels, mode=mode)


def pillow(data: bytes, mode: str = "RGB", upright: bool = False) -> Pixels:
    """Pixels as Pillow converts them: (height, width, channels)."""
    with Image.open(io.BytesIO(data), formats=["JPEG", "PNG", "WEBP"]) as image:
        turned = ImageOps.exif_transpose(image) if upright else image
        pixels = np.asarray(turned.convert(mode))
    return pixels[..., None] if mode == "L" else pixels


def frame_at(data: bytes) -> int:
    """Place of the frame header's marker."""
    at = 2
    while data[at + 1] not in (0xC0, 0xC1, 0xC2):
        at += 2 + int(struct.unpack_from(">H", data, at + 2)[0])
    return at


def resampled(data: bytes, height: int, width: int, factors: int) -> bytes:
    """The same entropy-coded data under another frame header, whose MCUs hold as many blocks."""
    at = frame_at(data)
    patched = bytearray(data)
    struct.pack_into(">HH", patched, at + 5, height, width)
    patched[at + 11] = factors
    return bytes(patched)


def jpeg(sampling: str, height: int, width: int, **options: Any) -> bytes:
    """A JPEG of that size. What Pillow does not write comes from one with as many blocks."""

    def plain(rows: int, columns: int, subsampling: str) -> bytes:
        image = Image.fromarray(photo(rows, columns))
        return encode(image, "JPEG", **{"quality": 88, "subsampling": subsampling, **options})

    if sampling == "4:4:0":
        return resampled(plain(width, height, "4:2:2"), height, width, 0x12)
    if sampling == "4:1:1":
        return resampled(plain(2 * height, (width + 1) // 2, "4:2:0"), height, width, 0x41)
    if sampling == "4:4:1":
        return resampled(plain((height + 1) // 2, 2 * width, "4:2:0"), height, width, 0x14)
    if sampling == "gray":
        return encode(picture("L", height, width), "JPEG", **{"quality": 88, **options})
    return plain(height, width, sampling)


SAMPLINGS = ["4:4:4", "4:2:2", "4:2:0", "4:4:0", "4:1:1", "4:4:1", "gray"]
CODINGS: dict[str, dict[str, Any]] = {
    "baseline": {},
    "optimised": {"optimize": True},
    "progressive": {"progressive": True},
    "restart-rows": {"restart_marker_rows": 1},
    "restart-blocks": {"restart_marker_blocks": 2},
    "low-quality": {"quality": 8},
    "best-quality": {"quality": 100},
}


def ycck(data: bytes) -> bytes:
    """A CMYK JPEG whose Adobe marker says that the inks were transformed."""
    at = data.index(b"Adobe\0")
    return data[: at + 11] + b"\2" + data[at + 12 :]


def without_adobe(data: bytes) -> bytes:
    """A four-component JPEG that says nothing about its inks."""
    at = data.index(b"Adobe\0") - 4
    return data[:at] + data[at + 16 :]


def chunk(name: bytes, body: bytes) -> bytes:
    """One PNG chunk."""
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))


ADAM7 = [
    (0, 0, 8, 8),
    (0, 4, 8, 8),
    (4, 0, 8, 4),
    (0, 2, 4, 4),
    (2, 0, 4, 2),
    (0, 1, 2, 2),
    (1, 0, 2, 1),
]


def png(
    values: npt.NDArray[np.integer[Any]],
    color_type: int,
    depth: int,
    interlaced: bool = False,
    before: bytes = b"",
    behind: bytes = b"",
    piece: int = 1 << 20,
) -> bytes:
    """A PNG of (height, width, channels) values; rows unfiltered, chunks of ``piece`` bytes."""

    def rows(part: npt.NDArray[np.integer[Any]]) -> bytes:
        lines = []
        for line in part.reshape(part.shape[0], -1):
            if depth == 16:
                body = line.astype(">u2").tobytes()
            elif depth == 8:
                body = line.astype(np.uint8).tobytes()
            else:
                bits = (line[:, None] >> np.arange(depth - 1, -1, -1)) & 1
                body = np.packbits(bits.astype(np.uint8)).tobytes()
            lines.append(b"\0" + body)
        return b"".join(lines)

    passes = ADAM7 if interlaced else [(0, 0, 1, 1)]
    parts = [values[top::down, left::right] for top, left, down, right in passes]
    raw = zlib.compress(b"".join(rows(part) for part in parts if part.size))
    height, width = values.shape[:2]
    header = struct.pack(">IIBBBBB", width, height, depth, color_type, 0, 0, int(interlaced))
    data = b"".join(chunk(b"IDAT", raw[i : i + piece]) for i in range(0, len(raw), piece))
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + before + data + behind + chunk(b"IEND", b"")
    )


def with_orientation(kind: str, value: int, big_endian: bool = False) -> bytes:
    """A picture with an EXIF orientation, as Pillow writes it."""
    exif = Image.Exif()
    exif.endian = ">" if big_endian else "<"
    exif[0x0112] = value
    exif[0x010E] = "a description before it"
    options: dict[str, Any] = {"JPEG": {"subsampling": 2}, "PNG": {}, "WEBP": {"lossless": True}}[
        kind
    ]
    return encode(picture("RGB", 45, 76), kind, exif=exif.tobytes(), **options)


def verdict(data: bytes, **options: Any) -> bool:
    """Whether the file decodes."""
    try:
        _core.decode(data, depth="clip", **options)
    except _core.SampleError:
        return False
    return True


def verdict_of_pillow(data: bytes) -> bool:
    """Whether Pillow reads and converts the file."""
    try:
        pillow(data)
    except Exception:  # Pillow raises half a dozen kinds
        return False
    return True
