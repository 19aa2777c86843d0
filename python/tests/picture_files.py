"""Files that a random sequence of calls begins with: JPEG of all kinds, whole or not, others."""

from __future__ import annotations

import io
import random
from collections.abc import Callable

import numpy as np
from PIL import Image

from python.tests.decode_files import encode, jpeg, picture, resampled, without_adobe, ycck

_SAMPLINGS = ("4:4:4", "4:2:2", "4:2:0", "4:4:0", "4:1:1", "4:4:1", "gray")


def _side(rng: random.Random) -> int:
    return rng.choice([1, 7, 8, 9, 16, 17, 31, rng.randint(1, 90), rng.randint(20, 160)])


def _exif(rng: random.Random) -> bytes:
    exif = Image.Exif()
    exif[0x0112] = rng.randint(0, 9)
    if rng.random() < 0.5:
        exif[0x0110] = "a camera"
        exif[0x011A], exif[0x0128] = 96.0, rng.choice([2, 3])
    return exif.tobytes()


def regular(rng: random.Random) -> bytes:
    """A JPEG that our decoder takes, most of the time."""
    options: dict[str, object] = {"quality": rng.choice([5, 30, 75, 88, 95, 100])}
    if rng.random() < 0.3:
        options["exif"] = _exif(rng)
    if rng.random() < 0.15:
        options["icc_profile"] = bytes(range(200))
    if rng.random() < 0.15:
        options["comment"] = b"a remark"
    if rng.random() < 0.15:
        options["dpi"] = (rng.randint(1, 400), 72)
    if rng.random() < 0.2:
        options["restart_marker_blocks"] = rng.randint(1, 5)
    if rng.random() < 0.2:
        options["optimize"] = True
    return jpeg(rng.choice(_SAMPLINGS), _side(rng), _side(rng), **options)


def photograph(rng: random.Random) -> bytes:
    """A smooth picture, whose file is smaller than its pixels."""
    coarse = np.random.default_rng(rng.getrandbits(32)).integers(0, 256, (4, 5, 3), dtype=np.uint8)
    size = (rng.randint(40, 180), rng.randint(40, 180))
    image = Image.fromarray(coarse).resize(size, Image.Resampling.BICUBIC)
    kind = {"subsampling": rng.choice([0, 1, 2]), "quality": rng.choice([60, 90])}
    if rng.random() < 0.25:
        image = image.convert("L")
    return encode(image, "JPEG", **kind, **({"exif": _exif(rng)} if rng.random() < 0.4 else {}))


def _progressive(rng: random.Random) -> bytes:
    return jpeg(rng.choice(_SAMPLINGS), _side(rng), _side(rng), progressive=True)


def _cmyk(rng: random.Random) -> bytes:
    data = encode(picture("CMYK", _side(rng), _side(rng)), "JPEG")
    return rng.choice([data, ycck(data), without_adobe(data)])


def _other_format(rng: random.Random) -> bytes:
    mode = rng.choice(["RGB", "L", "RGBA", "P", "1", "LA", "I;16"])
    kind = rng.choice(["PNG", "GIF", "BMP", "TIFF"])
    kind = "PNG" if mode in ("I;16", "LA", "RGBA") else kind
    return encode(picture(mode, _side(rng), _side(rng)), kind)


def _multiple(rng: random.Random) -> bytes:
    frames = [picture("RGB", 26, 33, seed) for seed in range(rng.randint(1, 3))]
    return encode(frames[0], "MPO", save_all=True, append_images=frames[1:])


def _many_pixels(rng: random.Random) -> bytes:
    """A header that promises more than there is."""
    return resampled(jpeg("4:2:0", 24, 24), rng.randint(25, 4000), rng.randint(25, 4000), 0x22)


def _cut(rng: random.Random) -> bytes:
    data = photograph(rng)
    return data[
        : rng.choice([0, 1, 3, 20, len(data) - 1, len(data) - 2, rng.randint(0, len(data))])
    ]


def _damaged(rng: random.Random) -> bytes:
    data = bytearray(photograph(rng))
    for _ in range(rng.choice([1, 1, 2, 8])):
        data[rng.randrange(len(data))] = rng.choice([0, 0xFF, rng.randrange(256)])
    return bytes(data)


def _zeros(rng: random.Random) -> bytes:
    data = bytearray(photograph(rng))
    begin = rng.randrange(len(data))
    data[begin : begin + rng.randint(1, 200)] = bytes(min(len(data) - begin, rng.randint(1, 200)))
    return bytes(data)


def _more_behind(rng: random.Random) -> bytes:
    return photograph(rng) + rng.choice([b"\0", bytes(70_000), b"\xff\xd9", photograph(rng)])


def _twice(rng: random.Random) -> bytes:
    """A thumbnail in a segment before the picture, end marker and all."""
    data, small = photograph(rng), photograph(rng)[:60_000]
    return data[:2] + b"\xff\xe5" + (len(small) + 2).to_bytes(2, "big") + small + data[2:]


_KINDS: list[tuple[int, Callable[[random.Random], bytes]]] = [
    (40, photograph),
    (12, regular),
    (4, _progressive),
    (3, _cmyk),
    (5, _other_format),
    (1, _multiple),
    (1, _many_pixels),
    (4, _cut),
    (6, _damaged),
    (2, _zeros),
    (3, _more_behind),
    (2, _twice),
]


def any_file(rng: random.Random) -> bytes:
    """The bytes of a file."""
    kinds = [kind for weight, kind in _KINDS for _ in range(weight)]
    return rng.choice(kinds)(rng)


def large_file() -> bytes:
    """A photograph of several of the blocks in which Pillow reads."""
    noise = np.random.default_rng(3).integers(0, 256, (300, 400, 3), dtype=np.uint8)
    out = io.BytesIO()
    Image.fromarray(noise).save(out, "JPEG", quality=50, subsampling=0)
    return out.getvalue()
