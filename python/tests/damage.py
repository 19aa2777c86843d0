"""Damaged pictures: every variant that the decoders read, hit in the ways in which files break."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from python.tests.decode_files import (
    CODINGS,
    chunk,
    encode,
    jpeg,
    photo,
    picture,
    png,
    with_orientation,
    ycck,
)

Rng = np.random.Generator


def animation(kind: str, mode: str, **options: Any) -> bytes:
    """Three frames whose moving part is smaller than the picture."""
    frames = []
    for number in range(3):
        frame = picture(mode, 26, 33)
        frame.paste(picture(mode, 9, 11, seed=number + 1), (3 * number, 2 * number))
        frames.append(frame)
    return encode(frames[0], kind, save_all=True, append_images=frames[1:], duration=40, **options)


def intact_files() -> Iterator[tuple[str, bytes]]:
    """Small pictures of every variant, by name."""
    for sampling in ("4:4:4", "4:2:0", "gray"):
        for coding in ("baseline", "progressive", "restart-blocks", "optimised"):
            yield f"jpeg-{sampling}-{coding}", jpeg(sampling, 41, 57, **CODINGS[coding])
    for coding in ("baseline", "progressive"):
        cmyk = encode(picture("CMYK", 26, 33), "JPEG", **CODINGS[coding])
        yield f"jpeg-cmyk-{coding}", cmyk
        yield f"jpeg-ycck-{coding}", ycck(cmyk)
    yield "jpeg-exif", with_orientation("JPEG", 6)
    yield "jpeg-profile", encode(picture("RGB", 26, 33), "JPEG", icc_profile=bytes(range(256)))
    yield "jpeg-mpo", animation("MPO", "RGB")
    for mode in ("1", "L", "LA", "P", "RGB", "RGBA", "I;16"):
        yield f"png-{mode}", encode(picture(mode, 26, 33), "PNG")
    text = chunk(b"tEXt", b"Title\0a picture") + chunk(
        b"zTXt", b"Long\0\0" + zlib.compress(b"x" * 99)
    )
    text += chunk(b"iTXt", b"Text\0\1\0\0\0" + zlib.compress(b"y" * 99))
    text += chunk(b"gAMA", bytes(4)) + chunk(b"pHYs", bytes(9))
    text += chunk(b"iCCP", b"profile\0\0" + zlib.compress(b"z" * 99))
    rgb = np.asarray(picture("RGB", 26, 33))
    yield "png-chunks", png(rgb, 2, 8, before=text, behind=text, piece=300)
    palette = picture("P", 26, 33)
    yield "png-palette-trns", encode(palette, "PNG", transparency=bytes(range(200)))
    for color_type, depth, channels in ((0, 2, 1), (2, 8, 3), (6, 16, 4)):
        values = photo(26, 33, channels).astype(np.uint16) * 257 >> (16 - depth)
        yield (
            f"png-interlaced-{color_type}-{depth}",
            png(values, color_type, depth, True, piece=500),
        )
    yield "png-exif", with_orientation("PNG", 6)
    yield "apng-rgb", animation("PNG", "RGB")
    yield "apng-rgba", animation("PNG", "RGBA", disposal=1, blend=1)
    yield "apng-default", animation("PNG", "RGB", default_image=True)
    yield "webp-lossy", encode(picture("RGB", 41, 57), "WEBP")
    yield "webp-lossless", encode(picture("RGB", 26, 33), "WEBP", lossless=True)
    yield "webp-lossy-alpha", encode(picture("RGBA", 26, 33), "WEBP")
    yield "webp-lossless-alpha", encode(picture("RGBA", 26, 33), "WEBP", lossless=True)
    yield "webp-exif", with_orientation("WEBP", 6)
    yield "webp-animated-lossy", animation("WEBP", "RGB", minimize_size=True)
    yield "webp-animated-lossless", animation("WEBP", "RGBA", lossless=True)


def parts(data: bytes) -> list[tuple[int, int, int, int]]:
    """(start, start of the length, size of the length, end) of each chunk or marker segment."""
    spans = []
    if data[:2] == b"\xff\xd8":
        at = 2
        while at + 4 <= len(data) and data[at] == 0xFF and data[at + 1] not in (0xD9, 0xFF, 0):
            end = at + 2 + int(struct.unpack_from(">H", data, at + 2)[0])
            if data[at + 1] == 0xDA:  # with what is coded behind it
                while end < len(data) - 1 and not (
                    data[end] == 0xFF and data[end + 1] not in (0, *range(0xD0, 0xD8))
                ):
                    end += 1
            spans.append((at, at + 2, 2, end))
            at = end
    elif data[:4] == b"RIFF":
        at = 12
        while at + 8 <= len(data):
            size = int(struct.unpack_from("<I", data, at + 4)[0])
            spans.append((at, at + 4, 4, at + 8 + size + size % 2))
            at = spans[-1][3]
    else:
        at = 8
        while at + 12 <= len(data):
            spans.append((at, at, 4, at + 12 + int(struct.unpack_from(">I", data, at)[0])))
            at = spans[-1][3]
    return spans


def cut(data: bytes, rng: Rng) -> bytes:
    """The beginning of the file."""
    return data[: rng.integers(len(data))]


def cut_near_the_end(data: bytes, rng: Rng) -> bytes:
    """All but the last bytes."""
    return data[: len(data) - rng.integers(1, 24)]


def flipped(data: bytes, rng: Rng) -> bytes:
    """One to three bits anywhere."""
    out = bytearray(data)
    for _ in range(rng.integers(1, 4)):
        out[rng.integers(len(out))] ^= 1 << int(rng.integers(8))
    return bytes(out)


def flipped_header(data: bytes, rng: Rng) -> bytes:
    """One bit near the start."""
    out = bytearray(data)
    out[rng.integers(min(len(out), 64))] ^= 1 << int(rng.integers(8))
    return bytes(out)


def overwritten(data: bytes, rng: Rng) -> bytes:
    """A run of zeros, of ones or of noise."""
    at, count = int(rng.integers(len(data))), int(rng.integers(1, 64))
    fill = [bytes(count), b"\xff" * count, rng.bytes(count)][rng.integers(3)]
    return data[:at] + fill[: len(data) - at] + data[at + count :]


def lost(data: bytes, rng: Rng) -> bytes:
    """A run of bytes is gone."""
    at = int(rng.integers(len(data)))
    return data[:at] + data[at + int(rng.integers(1, 64)) :]


def trailing(data: bytes, rng: Rng) -> bytes:
    """More bytes behind the end."""
    return data + [bytes, rng.bytes][rng.integers(2)](int(rng.integers(1, 64)))


def one_part(data: bytes, rng: Rng) -> tuple[int, int, int, int]:
    """Any of the parts."""
    spans = parts(data)
    return spans[rng.integers(len(spans))]


def dropped(data: bytes, rng: Rng) -> bytes:
    """A part is gone."""
    start, _, _, end = one_part(data, rng)
    return resized(data[:start] + data[end:], rng)


def doubled(data: bytes, rng: Rng) -> bytes:
    """A part stands twice."""
    start, _, _, end = one_part(data, rng)
    return resized(data[:end] + data[start:end] + data[end:], rng)


def moved(data: bytes, rng: Rng) -> bytes:
    """A part stands elsewhere."""
    start, _, _, end = one_part(data, rng)
    rest = data[:start] + data[end:]
    to = [part[0] for part in parts(rest)] or [len(rest)]
    at = to[rng.integers(len(to))]
    return rest[:at] + data[start:end] + rest[at:]


def resized(data: bytes, rng: Rng) -> bytes:
    """A WebP's outer length follows, half of the time."""
    if data[:4] != b"RIFF" or rng.integers(2):
        return data
    return data[:4] + struct.pack("<I", len(data) - 8) + data[8:]


def wrong_length(data: bytes, rng: Rng) -> bytes:
    """A part says another length than it has."""
    _, at, size, _ = one_part(data, rng)
    order = "little" if data[:4] == b"RIFF" else "big"
    length = int.from_bytes(data[at : at + size], order)
    by = int(rng.choice([-9, -2, -1, 1, 2, 9, 100, -length, 1 << (8 * size - 1)]))
    return data[:at] + ((length + by) % (1 << 8 * size)).to_bytes(size, order) + data[at + size :]


def wrong_checksum(data: bytes, rng: Rng) -> bytes:
    """A bit of a part's last four bytes, which are a PNG's checksum."""
    _, _, _, end = one_part(data, rng)
    out = bytearray(data)
    out[min(end, len(out)) - 1 - int(rng.integers(4))] ^= 1 << int(rng.integers(8))
    return bytes(out)


def flipped_under_checksum(data: bytes, rng: Rng) -> bytes:
    """Bits of one chunk of a PNG, with the checksum that fits."""
    if data[:4] != b"\x89PNG":
        return flipped(data, rng)
    start, _, _, end = one_part(data, rng)
    body = flipped(data[start + 8 : end - 4], rng) if end > start + 12 else b""
    return data[:start] + chunk(data[start + 4 : start + 8], body) + data[end:]


def shortened_under_checksum(data: bytes, rng: Rng) -> bytes:
    """Part of one chunk lost, with the length and the checksum that fit."""
    start, _, _, end = one_part(data, rng)
    if data[:4] == b"\x89PNG":
        body = data[start + 8 : end - 4]
        return (
            data[:start]
            + chunk(data[start + 4 : start + 8], lost(body, rng) if body else b"")
            + data[end:]
        )
    if data[:4] == b"RIFF":
        body = data[start + 8 : end]
        body = body[: rng.integers(len(body))] if body else b""
        body += bytes(len(body) % 2)
        head = data[start : start + 4] + struct.pack("<I", len(body))
        return resized(data[:start] + head + body + data[end:], rng)
    return lost(data, rng)


def fewer_rows(data: bytes, rng: Rng) -> bytes:
    """A PNG whose compressed stream ends well, but before the last row; other files are cut."""
    if data[:4] != b"\x89PNG":
        return cut(data, rng)
    at = [part for part in parts(data) if data[part[0] + 4 : part[0] + 8] == b"IDAT"]
    raw = zlib.decompress(b"".join(data[start + 8 : end - 4] for start, _, _, end in at))
    raw = raw[: rng.integers(len(raw))] if rng.integers(4) else raw + rng.bytes(99)
    return data[: at[0][0]] + chunk(b"IDAT", zlib.compress(raw)) + data[at[-1][3] :]


DAMAGES: list[Callable[[bytes, Rng], bytes]] = [
    cut,
    cut_near_the_end,
    flipped,
    flipped_header,
    overwritten,
    lost,
    trailing,
    dropped,
    doubled,
    moved,
    wrong_length,
    wrong_checksum,
    flipped_under_checksum,
    shortened_under_checksum,
    fewer_rows,
]
