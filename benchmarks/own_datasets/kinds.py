"""Datasets as people write them: photographs by their paths in a list, and one without pictures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch.utils.data import Dataset

SIDE = 224
MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]


class Own(Dataset[Any]):
    """An item for each path.

    Args:
        paths: of the files.
        transform: of pictures.
    """

    def __init__(self, paths: list[str], transform: Any = None) -> None:
        self._paths, self._transform = paths, transform

    def __len__(self) -> int:
        return len(self._paths)


class Pictures(Own):
    """By Pillow."""

    def __getitem__(self, index: int) -> Any:
        from PIL import Image

        return self._transform(Image.open(self._paths[index]).convert("RGB")), index


class Tensors(Own):
    """By torchvision's own reader."""

    def __getitem__(self, index: int) -> Any:
        from torchvision.io import decode_image

        return self._transform(decode_image(self._paths[index], mode="RGB")), index


class Arrays(Own):
    """By OpenCV, for albumentations.

    Attributes:
        seeded: random numbers are those of the index, so that all loaders can be compared.
    """

    seeded = False

    def __getitem__(self, index: int) -> Any:
        import cv2

        image = cv2.cvtColor(cv2.imread(self._paths[index]), cv2.COLOR_BGR2RGB)
        if self.seeded:
            self._transform.set_random_seed(index)
        return torch.from_numpy(self._transform(image=image)["image"].transpose(2, 0, 1)), index


class Numbers(Own):
    """No pictures at all."""

    def __getitem__(self, index: int) -> Any:
        row = np.arange(index, index + 3 * 64 * 64, dtype=np.float32)
        return torch.from_numpy(np.tanh(row / 1000).reshape(3, 64, 64)), index


def _v1(paths: list[str], seeded: bool) -> Any:  # noqa: ARG001
    from torchvision import transforms

    return Pictures(
        paths,
        transforms.Compose(
            [
                transforms.RandomResizedCrop(SIDE),
                transforms.RandomHorizontalFlip(),
                transforms.ToTensor(),
                transforms.Normalize(MEAN, STD),
            ]
        ),
    )


def _chain(*before: Any) -> Any:
    """Of the second interface."""
    from torchvision.transforms import v2

    moves = [v2.RandomResizedCrop(SIDE), v2.RandomHorizontalFlip()]
    numbers = [v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, STD)]
    return v2.Compose([*moves, *before, *numbers])


def _v2(paths: list[str], seeded: bool) -> Any:  # noqa: ARG001
    from torchvision.transforms import v2

    return Pictures(paths, _chain(v2.ToImage()))


def _io(paths: list[str], seeded: bool) -> Any:  # noqa: ARG001
    return Tensors(paths, _chain())


def _opencv(paths: list[str], seeded: bool) -> Any:
    import albumentations

    moves = [albumentations.RandomResizedCrop((SIDE, SIDE)), albumentations.HorizontalFlip()]
    dataset = Arrays(paths, albumentations.Compose([*moves, albumentations.Normalize(MEAN, STD)]))
    dataset.seeded = seeded
    return dataset


def _datasets(paths: list[str], seeded: bool) -> Any:
    import datasets

    chain = _v1([], seeded)._transform

    def transformed(rows: dict[str, Any]) -> dict[str, Any]:
        pixels = [chain(image.convert("RGB")) for image in rows["image"]]
        return {"pixels": pixels, "target": rows["target"]}

    columns = {"image": paths, "target": list(range(len(paths)))}
    kinds = datasets.Features({"image": datasets.Image(), "target": datasets.Value("int64")})
    table = datasets.Dataset.from_dict(columns, kinds)
    table.set_transform(transformed)
    return table


def _numbers(paths: list[str], seeded: bool) -> Any:  # noqa: ARG001
    return Numbers(paths)


KINDS: dict[str, Callable[[list[str], bool], Any]] = {
    "v1": _v1,
    "v2": _v2,
    "io": _io,
    "opencv": _opencv,
    "datasets": _datasets,
    "numbers": _numbers,
}
