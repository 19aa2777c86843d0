"""Datasets as people write them: photographs by their paths in a list, opened with Pillow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from PIL import Image
from torch.utils.data import Dataset
from torchvision import transforms
from torchvision.transforms import v2

from benchmarks.contestant import ROOT
from demo import photos, progress

SIDE = 224
MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]


def ensure() -> dict[str, list[str]]:
    """The photographs of each chroma sampling, made where they are not there."""
    with progress.Bar("photo set") as bar:
        built = photos.ensure(
            ROOT / "build/demo/photos", lambda what, done, of: bar.update(done, of, what)
        )
    return {
        sampling: sorted(map(str, (built.root / sampling / "train").glob("*/*.jpg")))
        for sampling in photos.SAMPLINGS
    }


def warm(paths: list[str]) -> None:
    """Brings files into the page cache."""
    for path in paths:
        Path(path).read_bytes()


def _v1() -> Any:
    return transforms.Compose(
        [
            transforms.RandomResizedCrop(SIDE),
            transforms.RandomHorizontalFlip(),
            transforms.ToTensor(),
            transforms.Normalize(MEAN, STD),
        ]
    )


def _v2() -> Any:
    return v2.Compose(
        [
            v2.RandomResizedCrop(SIDE),
            v2.RandomHorizontalFlip(),
            v2.ToImage(),
            v2.ToDtype(torch.float32, scale=True),
            v2.Normalize(MEAN, STD),
        ]
    )


TRANSFORMS = {"v1": _v1, "v2": _v2}


class Photos(Dataset[Any]):
    """A picture and a target for each path.

    Args:
        paths: of the files.
        transform: of pictures.
    """

    def __init__(self, paths: list[str], transform: Any) -> None:
        self._paths, self._transform = paths, transform

    def __len__(self) -> int:
        return len(self._paths)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        return self._transform(Image.open(self._paths[index]).convert("RGB")), index
