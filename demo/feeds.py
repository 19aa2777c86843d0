"""The loaders under comparison: the same data set, the same transforms, the same arguments."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torchvision import datasets, transforms

from demo.settings import BATCH, CROP

_MEAN, _STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def training_set(root: Path) -> Any:
    """Returns torchvision's ImageFolder over `root/train` with the usual random transforms."""
    steps = [transforms.RandomResizedCrop(CROP), transforms.RandomHorizontalFlip()]
    return datasets.ImageFolder(str(root / "train"), _with_end(transforms, steps))


def heldout_set(root: Path) -> Any:
    """Returns ImageFolder over `root/heldout`, resized and cropped in the middle."""
    steps = [transforms.Resize(256), transforms.CenterCrop(CROP)]
    return datasets.ImageFolder(str(root / "heldout"), _with_end(transforms, steps))


def _with_end(transforms: Any, steps: list[Any]) -> Any:
    return transforms.Compose([*steps, transforms.ToTensor(), transforms.Normalize(_MEAN, _STD)])


def loader(
    feed: str, dataset: Any, workers: int, train: bool, sampler: Any = None, **extra: Any
) -> Any:
    """Returns the loader of a feed; `extra` are keywords that only DRAPPS has.

    Beside them the class is the one line that differs.
    """
    arguments: dict[str, Any] = {
        "batch_size": BATCH,
        "shuffle": train and sampler is None,
        "sampler": sampler,
        "drop_last": train,
        "num_workers": workers,
        "persistent_workers": workers > 0,
        "pin_memory": torch.cuda.is_available(),
    }
    if feed == "stock":
        return torch.utils.data.DataLoader(dataset, **arguments)
    import drapps.torch

    return drapps.torch.DataLoader(dataset, **arguments, **extra)
