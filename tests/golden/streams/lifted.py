"""Loaders of torch whose dataset and transforms are lifted, in every order that is."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch.utils import data
from torchvision import datasets, transforms, tv_tensors
from torchvision.transforms import v2

from drapps.torch import DataLoader
from tests.golden.streams import inputs
from tests.golden.streams.record import Case

_MEAN, _STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def seeded(number: int) -> torch.Generator:
    """A generator of one's own."""
    return torch.Generator().manual_seed(number)


ORDERS: dict[str, Callable[[Any], dict[str, Any]]] = {
    "in-turn": lambda _: {},
    "shuffled": lambda _: {"shuffle": True},
    "generator": lambda _: {"shuffle": True, "generator": seeded(7)},
    "last-dropped": lambda _: {"shuffle": True, "drop_last": True},
    "subset": lambda _: {"sampler": data.SubsetRandomSampler(range(3, 20), seeded(3))},
    "weighted": lambda _: {
        "sampler": data.WeightedRandomSampler([i % 4 for i in range(23)], 30, generator=seeded(3))
    },
    "distributed": lambda of: {"sampler": data.DistributedSampler(of, 3, 1, seed=5)},
    "batches": lambda of: {
        "batch_size": 1,
        "batch_sampler": data.BatchSampler(data.RandomSampler(of), 6, drop_last=False),
    },
}
"""What a loader gets besides its dataset and a batch size, by name."""


def epochs(loader: DataLoader[Any], count: int = 2) -> Iterator[Any]:
    """Whole passes."""
    for _ in range(count):
        yield from loader


def resumed(make: Callable[[], DataLoader[Any]], batches: int = 2) -> Iterator[Any]:
    """From a state within a pass to the end of the next one."""
    first = make()
    iterator = iter(first)
    for _ in range(batches):
        next(iterator)
    state = json.dumps(first.state_dict())
    del iterator
    torch.manual_seed(99)
    again = make()
    again.load_state_dict(json.loads(state))
    yield from epochs(again)


def _rows() -> data.Dataset[Any]:
    columns = inputs.columns()
    return data.TensorDataset(*(torch.from_numpy(columns[name]) for name in sorted(columns)))


def _photos(root: Path) -> data.Dataset[Any]:
    moves = [transforms.RandomCrop(30, pad_if_needed=True), transforms.RandomHorizontalFlip()]
    numbers = [transforms.ToTensor(), transforms.Normalize(_MEAN, _STD)]
    chain = transforms.Compose([*moves, transforms.ColorJitter(0.3, 0.3, 0.3, 0.1), *numbers])
    return datasets.ImageFolder(inputs.folder(root), chain)


def _pairs(root: Path) -> data.Dataset[Any]:
    home = root / "VOCdevkit/VOC2012"
    for folder in ("ImageSets/Segmentation", "JPEGImages", "SegmentationClass"):
        (home / folder).mkdir(parents=True)
    names = [f"{number:03}" for number in range(inputs.COUNT)]
    (home / "ImageSets/Segmentation/train.txt").write_text("\n".join(names))
    for name, record in zip(names, inputs.records("palette.png"), strict=True):
        (home / f"JPEGImages/{name}.jpg").write_bytes(record)
        (home / f"SegmentationClass/{name}.png").write_bytes(record)
    crop = v2.RandomCrop(40, pad_if_needed=True, fill={tv_tensors.Mask: 255, "others": 0})
    dtypes = {tv_tensors.Image: torch.float32, tv_tensors.Mask: torch.int64, "others": None}
    chain = v2.Compose(
        [crop, v2.RandomVerticalFlip(), v2.ToImage(), v2.ToDtype(dtypes, scale=True)]
    )
    pairs = datasets.VOCSegmentation(root, transforms=chain)
    return datasets.wrap_dataset_for_transforms_v2(pairs)


def _loader(dataset: data.Dataset[Any], order: str, **options: Any) -> DataLoader[Any]:
    loader = DataLoader(dataset, **{"batch_size": 5, **ORDERS[order](dataset), **options})
    assert loader.lifted(), loader.lifted()
    return loader


def _photos_in(order: str, **options: Any) -> Case:
    return lambda root: epochs(_loader(_photos(root), order, num_workers=1, **options))


def _resumed_in(order: str) -> Case:
    def batches(root: Path) -> Iterator[Any]:
        dataset = _photos(root)
        return resumed(lambda: _loader(dataset, order, num_workers=2))

    return batches


CASES: dict[str, Case] = {
    **{f"photos-{order}": _photos_in(order) for order in ORDERS},
    **{f"photos-{order}-resumed": _resumed_in(order) for order in ORDERS},
    "photos-seed": _photos_in("shuffled", seed=8),
    "pairs": lambda root: epochs(_loader(_pairs(root), "shuffled")),
    "rows": lambda _: epochs(_loader(_rows(), "shuffled")),
    "rows-resumed": lambda _: resumed(lambda: _loader(_rows(), "generator", num_workers=1)),
}
