"""Contestant: torch's own DataLoader over a torchvision folder whose files lie on the storage."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import torch
from PIL import Image
from torchvision import datasets, transforms

from benchmarks.storage import child


class StockContestant:
    """See `child.Contestant`; `spec["workers"]` of them."""

    def __init__(self, spec: dict[str, Any]) -> None:
        storage = child.storage_of(spec)
        opened = open if storage is None else storage.open

        def load(path: str) -> Image.Image:
            with opened(path, "rb") as file, Image.open(file) as picture:
                return picture.convert("RGB")

        steps = [
            transforms.RandomResizedCrop(spec["crop"]),
            transforms.RandomHorizontalFlip(),
            transforms.ToTensor(),
            transforms.Normalize(spec["mean"], spec["std"]),
        ]
        torch.manual_seed(spec["seed"])
        self.group = spec["workers"]  # each worker gives a whole batch in its turn
        self._loader = torch.utils.data.DataLoader(
            datasets.ImageFolder(spec["root"], transforms.Compose(steps), loader=load),
            batch_size=spec["batch"],
            shuffle=True,
            num_workers=spec["workers"],
            persistent_workers=True,
        )

    def batches(self) -> Iterator[int]:
        """Takes batches as torch tensors."""
        while True:
            for images, _labels in self._loader:
                yield len(images)

    def notes(self) -> dict[str, Any]:
        """It has none."""
        return {}


if __name__ == "__main__":
    # Torch advises against more workers than cores; the search finds out.
    warnings.filterwarnings("ignore", message="This DataLoader will create")
    child.serve(StockContestant)
