"""Random sequences of calls on pictures, by a seed, and all that can be seen of what they do."""

from __future__ import annotations

import contextlib
import io
import random
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image

from python.tests.picture_files import any_file
from python.tests.picture_steps import Step

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
