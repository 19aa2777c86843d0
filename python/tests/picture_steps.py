"""Calls on pictures for random sequences: Pillow's own."""

from __future__ import annotations

import copy
import io
import pickle
import random
from collections.abc import Callable
from typing import Any

import numpy as np
from PIL import Image, ImageChops, ImageDraw, ImageEnhance, ImageFilter, ImageOps, ImageStat

Step = Callable[[random.Random, Any], Any]


def _box(rng: random.Random, size: tuple[int, int]) -> Any:
    width, height = size
    lefts = sorted(rng.randint(0, width) for _ in "ab")
    tops = sorted(rng.randint(0, height) for _ in "ab")
    box: list[Any] = [lefts[0], tops[0], lefts[1], tops[1]]
    kind = rng.random()
    if kind < 0.08:
        box = [each + rng.randint(-9, 9) for each in box]
    elif kind < 0.14:
        box = [each + rng.choice([0.5, 0.25, -0.5, 0.0]) for each in box]
    elif kind < 0.18:
        box = [0, 0, width, height]
    elif kind < 0.2:
        return rng.choice([None, (1, 2, 3), "four", (0, 0, "x", 3), [float("nan")] * 4])
    return rng.choice([tuple, tuple, tuple, list])(box)


def _float_box(rng: random.Random, size: tuple[int, int]) -> tuple[float, ...]:
    """One that lies within, most of the time."""
    edges = [sorted(rng.uniform(0, side) for _ in "ab") for side in size]
    if rng.random() < 0.3:
        edges[rng.randint(0, 1)] = [0, size[0]]
    left, right, top, bottom = *edges[0], *edges[1]
    return left, top, right, bottom


def _reduce(rng: random.Random, image: Any) -> Any:
    factor = rng.choice([1, 2, 3, (2, 3), [1, 2], (1, 1), 0, 2.0])
    return image.reduce(factor, _box(rng, image.size) if rng.random() < 0.6 else None)


def _size(rng: random.Random, size: tuple[int, int]) -> Any:
    kind = rng.random()
    if kind < 0.1:
        return size
    if kind < 0.14:
        return rng.choice([(0, 4), (-1, 5), (4,), (4.0, 5), "xy", None, 7])
    if kind < 0.2:
        return np.array([rng.randint(1, 60), rng.randint(1, 60)])
    pair = (rng.randint(1, 150), rng.randint(1, 150))
    return rng.choice([pair, pair, list(pair), (size[0], pair[1]), (pair[0], size[1])])


def _resize(rng: random.Random, image: Any) -> Any:
    filters = [0, 1, 2, 2, 2, 3, 3, 4, 5, None, Image.Resampling.BILINEAR, 99, "x", [2]]
    size, options = _size(rng, image.size), {}
    kind = rng.random()
    if kind < 0.15:
        options["box"] = _box(rng, image.size)
    elif kind < 0.4:
        options["box"] = _float_box(rng, image.size)
    if rng.random() < 0.2:
        options["reducing_gap"] = rng.choice([0.5, 1, 1.0, 1.2, 2.0, 3.0, None, "x"])
    return image.resize(size, rng.choice(filters), **options)


def _convert(rng: random.Random, image: Any) -> Any:
    modes = [
        "RGB",
        "RGB",
        "RGB",
        "L",
        "L",
        "RGBA",
        "P",
        "1",
        "CMYK",
        "YCbCr",
        "HSV",
        "F",
        None,
        "X",
    ]
    options = {"dither": rng.choice([0, 3])} if rng.random() < 0.1 else {}
    if rng.random() < 0.04:
        return image.convert("L", (0.3, 0.5, 0.2, 0.1))
    return image.convert(rng.choice(modes), **options)


def _point(rng: random.Random, image: Any) -> tuple[int, int]:
    return rng.randint(-1, image.width), rng.randint(0, image.height)


def _access(rng: random.Random, image: Any) -> Any:
    access = image.load()
    place = (rng.randrange(image.width), rng.randrange(image.height))
    before = access[place]
    if rng.random() < 0.5:
        access[place] = 0 if isinstance(before, int) else tuple(0 for _ in before)
    return before, image.getpixel(place)


def _late_access(rng: random.Random, image: Any) -> Any:  # noqa: ARG001
    """Pixels are looked at behind another change."""
    access = image.load()
    image.paste(7, (0, 0, 1, 1))
    return access[0, 0]


def _draw(rng: random.Random, image: Any) -> None:
    ImageDraw.Draw(image).line([(0, 0), image.size], fill=None, width=rng.randint(1, 3))


def _save(rng: random.Random, image: Any) -> Any:
    out = io.BytesIO()
    image.save(out, rng.choice(["PNG", "BMP", "JPEG"]))
    return out.getvalue()


def _leave(rng: random.Random, image: Any) -> Any:  # noqa: ARG001
    with image as inside:
        return inside.mode


def _blend(rng: random.Random, image: Any) -> Any:
    return Image.blend(image, image.transpose(rng.choice([0, 1, 3])), 0.25)


def _share(rng: random.Random, image: Any) -> Any:  # noqa: ARG001
    other = image.copy()
    other.__dict__.update(image.__dict__)
    return other


PILLOW: list[tuple[int, Step]] = [
    (6, lambda _, image: image.load() and None),
    (12, _convert),
    (14, lambda rng, image: image.crop(_box(rng, image.size))),
    (14, _resize),
    (8, lambda rng, image: image.transpose(rng.choice([0, 0, 1, 2, 3, 4, 5, 6, 7, -1, "x"]))),
    (3, lambda _, image: image.copy()),
    (2, lambda rng, image: image.rotate(rng.choice([0, 90, 180, 270, 33]), expand=True)),
    (1, lambda rng, image: image.thumbnail((rng.randint(1, 70), rng.randint(1, 70)))),
    (1, lambda rng, image: image.draft(rng.choice([None, "L", "RGB"]), (20, 20))),
    (3, _reduce),
    (2, lambda rng, image: image.getpixel(_point(rng, image))),
    (2, lambda rng, image: image.putpixel(_point(rng, image), 3)),
    (2, _access),
    (1, _late_access),
    (1, lambda _, image: image.paste(image.crop((0, 0, 5, 5)), (1, 1))),
    (1, lambda _, image: image.paste(0, (0, 0, 3, 3))),
    (1, lambda _, image: image.split()),
    (1, lambda _, image: image.getchannel(0)),
    (1, lambda _, image: image.point(lambda value: value // 2)),
    (1, lambda _, image: image.filter(ImageFilter.BLUR)),
    (1, lambda _, image: (image.getbbox(), image.getextrema(), image.histogram())),
    (1, lambda _, image: ImageStat.Stat(image).mean),
    (3, lambda _, image: image.tobytes()),
    (1, lambda rng, image: image.tobytes("raw", rng.choice(["RGB", "L", "BGR", "RGBX"]))),
    (3, lambda _, image: np.asarray(image)),
    (2, lambda _, image: np.array(image, dtype=np.float32)),
    (2, lambda _, image: dict(image.getexif())),
    (3, lambda _, image: ImageOps.exif_transpose(image)),
    (1, lambda _, image: ImageOps.exif_transpose(image, in_place=True)),
    (1, lambda rng, image: ImageOps.fit(image, (rng.randint(1, 60), rng.randint(1, 60)))),
    (1, lambda rng, image: ImageOps.pad(image, (rng.randint(1, 60), rng.randint(1, 60)))),
    (1, lambda rng, image: ImageOps.expand(image, rng.randint(0, 5), 0)),
    (1, lambda _, image: (ImageOps.mirror(image), ImageOps.flip(image))),
    (1, lambda _, image: ImageOps.grayscale(image)),
    (1, lambda _, image: ImageOps.autocontrast(image)),
    (1, lambda _, image: ImageChops.invert(image)),
    (1, lambda _, image: ImageEnhance.Brightness(image).enhance(1.3)),
    (1, _draw),
    (1, _save),
    (1, lambda _, image: image.close()),
    (1, _leave),
    (1, lambda _, image: image.verify()),
    (1, lambda _, image: (image.tell(), image.seek(0))),
    (1, lambda _, image: image.quantize(8)),
    (1, lambda _, image: image.putalpha(9)),
    (1, lambda _, image: image.info.update(transparency=(1, 2, 3))),
    (1, lambda _, image: image == image.copy()),
    (2, lambda _, image: pickle.loads(pickle.dumps(image))),
    (1, lambda _, image: copy.copy(image)),
    (1, lambda _, image: copy.deepcopy(image)),
    (1, _blend),
    (1, _share),
    (1, lambda _, image: image.im.getbbox()),
    (1, lambda _, image: image.readonly),
    (1, lambda _, image: repr(image)),
    (1, lambda _, image: setattr(image, "im", image.im.copy())),
    (1, lambda _, image: image.getpalette()),
    (1, lambda _, image: list(image.resize((2, 2)).getdata(0))),
]
