"""Random sequences of calls on pictures, by a seed, and all that can be seen of what they do."""

from __future__ import annotations

import contextlib
import copy
import io
import pickle
import random
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image, ImageChops, ImageDraw, ImageEnhance, ImageFilter, ImageOps, ImageStat

from python.tests.picture_files import any_file

Step = Callable[[random.Random, Any], Any]
_ADDRESS = re.compile(r"0x[0-9A-Fa-f]+")


def plain(text: str) -> str:
    """A text without addresses."""
    return _ADDRESS.sub("0x", text)


def seen(value: Any) -> Any:
    """What can be compared of a result; of an image all but its pixels, which must not be made."""
    if isinstance(value, Image.Image):
        apart = ("_im", "im", "fp")
        held = {name: each for name, each in vars(value).items() if name not in apart}
        fp = getattr(value, "fp", None)
        return (
            *(type(value).__name__, value.mode, value.size, value.format, value.getbands()),
            *(sorted(vars(value)), plain(repr(sorted(held.items(), key=lambda item: item[0])))),
            None if fp is None else fp.closed,
        )
    if isinstance(value, torch.Tensor):
        return str(value.dtype), value.shape, value.stride(), value.numpy().tobytes()
    if isinstance(value, np.ndarray) and value.dtype != object:
        return str(value.dtype), value.shape, value.strides, value.flags.writeable, value.tobytes()
    if isinstance(value, (list, tuple)):
        return [seen(each) for each in value]
    return plain(repr(value))


def whole(image: Image.Image) -> Any:
    """An image with its pixels, to the last byte that Pillow holds."""
    raw = "RGBX" if image.mode == "RGB" else image.mode
    return seen(image), image.tobytes("raw", raw), seen(image)


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
    made = (rng.randint(1, 150), rng.randint(1, 150))
    return rng.choice([made, made, list(made), (size[0], made[1]), (made[0], size[1])])


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


def torchvision_steps(
    functional: Any, transforms: Any, extra: list[Step]
) -> list[tuple[int, Step]]:
    """The calls of one of torchvision's two interfaces."""
    bilinear = transforms.InterpolationMode.BILINEAR
    bicubic = transforms.InterpolationMode.BICUBIC

    def resized_crop(rng: random.Random, image: Any) -> Any:
        height, width = rng.randint(1, image.height), rng.randint(1, image.width)
        top, left = rng.randint(0, image.height - height), rng.randint(0, image.width - width)
        size = [rng.randint(1, 90), rng.randint(1, 90)]
        how = rng.choice([bilinear, bicubic])
        return functional.resized_crop(image, top, left, height, width, size, how)

    def crop_and_flip(rng: random.Random, image: Any) -> Any:
        torch.manual_seed(rng.getrandbits(32))
        made = transforms.RandomResizedCrop(rng.randint(1, 70))(image)
        return transforms.RandomHorizontalFlip()(made)

    return [
        (5, resized_crop),
        (5, crop_and_flip),
        (2, lambda rng, image: functional.resize(image, rng.randint(1, 90))),
        (2, lambda rng, image: functional.center_crop(image, [rng.randint(1, 80)] * 2)),
        (2, lambda rng, image: functional.crop(image, rng.randint(-2, 9), 2, 20, 30)),
        (3, lambda _, image: functional.hflip(image)),
        (1, lambda _, image: functional.vflip(image)),
        (2, lambda _, image: functional.pil_to_tensor(image)),
        (1, lambda rng, image: functional.pad(image, rng.randint(0, 4))),
        (1, lambda rng, image: functional.adjust_brightness(image, rng.random())),
        (1, lambda rng, image: functional.rotate(image, rng.choice([0.0, 90.0, 31.0]))),
        *[(3, step) for step in extra],
    ]


def normalized(transforms: Any, to_floats: Step) -> Step:
    """A picture as floats, normalised by numbers of all kinds."""

    def step(rng: random.Random, image: Any) -> Any:
        floats = to_floats(rng, image)
        count = rng.choice([1, 3, 3, floats.shape[0], floats.shape[0]])
        mean, std = ([rng.uniform(-1, 1) for _ in range(count)] for _ in "ab")
        if rng.random() < 0.2:
            std[0] = rng.choice([0.0, 1e-50, float("nan"), 2, -1.0])
        options = {"inplace": True} if rng.random() < 0.2 else {}
        kind = rng.choice([list, list, tuple, torch.tensor])
        normalize = transforms.Normalize(mean, std, **options)
        if kind is not list:
            normalize.mean, normalize.std = kind(mean), kind(std)
        made = normalize(floats)
        return made, floats, type(made).__name__

    return step


def of_bytes(v2: Any) -> Step:
    """The second interface on a picture that is a tensor of bytes, however that lies."""
    modes = v2.InterpolationMode
    kinds = [*[modes.BILINEAR] * 5, *[modes.BICUBIC] * 3, modes.NEAREST, "bilinear"]

    def step(rng: random.Random, image: Any) -> Any:
        torch.manual_seed(rng.getrandbits(32))
        pixels = v2.functional.to_image(image)
        pixels = pixels.contiguous() if rng.random() < 0.4 else pixels
        pixels = v2.functional.crop(pixels, *(rng.randint(0, 4) for _ in "ab"), 30, 40)
        lies = rng.choice([0, 0, 0, 0, 1, 2, 3, 4])
        if lies == 1:
            pixels = torch.stack([pixels, pixels])
        elif lies == 2:
            pixels = pixels.expand(3, 3, -1, -1)[1]
        elif lies == 3:
            pixels = pixels[:, ::2, 1::2]
        elif lies == 4:
            pixels = v2.functional.to_dtype(pixels, torch.float32)
        options = {
            "interpolation": rng.choice(kinds),
            "antialias": rng.choice([*[True] * 5, False]),
        }
        size = rng.choice([[rng.randint(1, 60), rng.randint(1, 60)], rng.randint(1, 50), [7]])
        if rng.random() < 0.5:
            made = v2.functional.resize(pixels, size, **options)
        else:
            made = v2.RandomResizedCrop(size, **options)(pixels)
        return made, type(made).__name__, pixels

    return step


def composed(v2: Any) -> Step:
    """The transforms that make numbers of a picture, together, with others before and behind."""

    def step(rng: random.Random, image: Any) -> Any:
        torch.manual_seed(rng.getrandbits(32))
        scale = rng.choice([True, True, True, False, 1])
        dtype = rng.choice([torch.float32, torch.float32, torch.float32, torch.float64])
        count = rng.choice([3, 3, 3, 1])
        mean, std = ([rng.uniform(0.1, 1) for _ in range(count)] for _ in "ab")
        normalize = v2.Normalize(mean, std, inplace=rng.random() < 0.2)
        three = [v2.ToImage(), v2.ToDtype(dtype, scale=scale), normalize]
        before = [v2.RandomResizedCrop(rng.randint(1, 40)), v2.RandomHorizontalFlip()]
        behind = [v2.RandomErasing(), v2.ToPureTensor()]
        parts = [*before[: rng.randint(0, 2)], *three, *behind[: rng.randint(0, 2)]]
        if rng.random() < 0.1:
            rng.shuffle(parts)
        given = (image, 3) if rng.random() < 0.1 else (image,)
        made = v2.Compose(parts)(*given)
        return type(made).__name__, made, getattr(made, "requires_grad", None)

    return step


def composed_first(v1: Any) -> Step:
    """The same of the first interface."""

    def step(rng: random.Random, image: Any) -> Any:
        torch.manual_seed(rng.getrandbits(32))
        count = rng.choice([3, 3, 3, 1])
        mean, std = ([rng.uniform(0.1, 1) for _ in range(count)] for _ in "ab")
        both = [v1.ToTensor(), v1.Normalize(mean, std, inplace=rng.random() < 0.2)]
        before = [v1.RandomResizedCrop(rng.randint(1, 40)), v1.RandomHorizontalFlip()]
        parts = [*before[: rng.randint(0, 2)], *both, *[v1.RandomErasing()][: rng.randint(0, 1)]]
        if rng.random() < 0.1:
            rng.shuffle(parts)
        compose = v1.Compose(parts if rng.random() < 0.9 else tuple(parts))
        made = compose(img=image) if rng.random() < 0.1 else compose(image)
        return type(made).__name__, made

    return step


class Sequence:
    """One random sequence: its file, and the calls that its seed says."""

    def __init__(self, seed: int, steps: list[tuple[int, Step]], folder: Path) -> None:
        rng = random.Random(seed)
        self._seed, self._folder = seed, folder
        self._steps = [step for weight, step in steps for _ in range(weight)]
        self._file = any_file(rng)
        self._length = rng.choice([0, 1, 2, 3, 4, 5, 8])

    def run(self, within: contextlib.AbstractContextManager[Any] | None = None) -> list[Any]:
        """All that can be seen of it: of the calls, `within` something, and then of the images."""
        rng, record = random.Random(self._seed + 1), []
        path = self._folder / rng.choice(["a.jpg", "a.png", "a"])
        path.write_bytes(self._file)
        torch.manual_seed(self._seed)
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            with within or contextlib.nullcontext():
                images, file = self._calls(rng, path, record)
            rng.shuffle(images)
            for image in images:
                self._tried(record, lambda i=image: whole(i))
            if file is not None:
                record.append(file.closed or file.tell())
                file.close()
            for image in images:
                image.close()
        record += [(each.category, plain(str(each.message))) for each in warned]
        return record

    def _calls(self, rng: random.Random, path: Path, record: list[Any]) -> tuple[list[Any], Any]:
        opened, file = self._open(rng, path, record)
        images = [] if opened is None else [opened]
        for _ in range(self._length if images else 0):
            image, step = rng.choice(images[-3:]), rng.choice(self._steps)
            result = self._tried(record, lambda i=image, s=step: s(rng, i))
            images += [each for each in _flat(result) if isinstance(each, Image.Image)]
            record.append([seen(each) for each in images])
            if file is not None and not file.closed:
                record.append(file.tell())
        return images, file

    def _open(self, rng: random.Random, path: Path, record: list[Any]) -> tuple[Any, Any]:
        kind = rng.choice(["path", "path", "bytes", "file"])
        file: Any = None
        if kind == "bytes":
            file = io.BytesIO(self._file)
        elif kind == "file":
            file = path.open("rb")
        return self._tried(record, lambda: Image.open(path if file is None else file)), file

    @staticmethod
    def _tried(record: list[Any], act: Callable[[], Any]) -> Any:
        try:
            result = act()
            record.append(seen(result))
        except Exception as error:
            record.append((type(error), plain(str(error)), type(error.__cause__)))
            return None
        return result


def _flat(result: Any) -> list[Any]:
    return list(result) if isinstance(result, (list, tuple)) else [result]
