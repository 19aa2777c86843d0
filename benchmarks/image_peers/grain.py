"""Rival: Grain, which brings no image operations: Pillow decodes, crops and resizes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import grain
import numpy as np
from PIL import Image

from benchmarks.image_peers.peer import Peer, listing, run


class _Load(grain.transforms.RandomMap):  # type: ignore[misc]
    """A photograph becomes a row of the batch."""

    def __init__(self, spec: dict[str, Any]) -> None:
        self._spec = spec
        self._scale = (1 / (255 * np.float32(spec["std"]))).reshape(3, 1, 1)
        self._shift = (np.float32(spec["mean"]) / np.float32(spec["std"])).reshape(3, 1, 1)

    def random_map(
        self, element: tuple[str, int], rng: np.random.Generator
    ) -> tuple[np.ndarray, int]:
        """Draws the crop and the flip from `rng`."""
        file, label = element
        spec = self._spec
        with Image.open(file) as opened:
            picture = opened.convert("RGB")
        box = self._box(picture.width, picture.height, rng)
        picture = picture.crop(box).resize((spec["crop"],) * 2, Image.Resampling.BILINEAR)
        pixels = np.asarray(picture)
        if rng.random() < spec["flip"]:
            pixels = pixels[:, ::-1]
        image = pixels.transpose(2, 0, 1) * self._scale
        image -= self._shift
        return image, label

    def _box(self, width: int, height: int, rng: np.random.Generator) -> tuple[int, int, int, int]:
        low, high = map(math.log, self._spec["ratio"])
        for _ in range(10):
            area = width * height * rng.uniform(*self._spec["scale"])
            ratio = math.exp(rng.uniform(low, high))
            w, h = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
            if 0 < w <= width and 0 < h <= height:
                x, y = int(rng.integers(width - w + 1)), int(rng.integers(height - h + 1))
                return x, y, x + w, y + h
        side = min(width, height)
        x, y = (width - side) // 2, (height - side) // 2
        return x, y, x + side, y + side


class GrainPeer(Peer):
    """See `Peer`. No workers means its threads alone."""

    def __init__(self, spec: dict[str, Any]) -> None:
        super().__init__(spec)
        self.group = max(1, spec["workers"])
        files, labels = listing(spec)
        data = (
            grain.MapDataset.source(list(zip(files, labels, strict=True)))
            .seed(spec["seed"])
            .shuffle()
            .repeat()
            .random_map(_Load(spec))
            .to_iter_dataset()
            .batch(spec["batch"], drop_remainder=True)
        )
        if spec["workers"]:
            data = data.mp_prefetch(grain.MultiprocessingOptions(num_workers=spec["workers"]))
        self._data = data

    def arrays(self) -> Iterator[tuple[Any, Any]]:
        """Batches as NumPy's arrays."""
        yield from self._data


if __name__ == "__main__":
    run(GrainPeer)
