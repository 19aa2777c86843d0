"""Contestant: torch's own DataLoader with torchvision's transforms on PIL pictures."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import torch
from torchvision import datasets, transforms

from benchmarks import feed


class StockFeed:
    """See `feed.Feed`."""

    def __init__(self, spec: dict[str, Any]) -> None:
        steps = [
            transforms.RandomResizedCrop(spec["crop"]),
            transforms.RandomHorizontalFlip(),
            transforms.ToTensor(),
            transforms.Normalize(spec["mean"], spec["std"]),
        ]
        torch.manual_seed(spec["seed"])
        self.group = spec["workers"]  # each worker gives a whole batch in its turn
        self._loader = torch.utils.data.DataLoader(
            datasets.ImageFolder(spec["root"], transforms.Compose(steps)),
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

    def counters(self) -> dict[str, float]:
        """It has none."""
        return {}

    def close(self) -> None:
        """Ends the workers, which die with the last reference to the iterator."""
        self._loader._iterator = None


if __name__ == "__main__":
    # Torch advises against more workers than cores; the probe finds out.
    warnings.filterwarnings("ignore", message="This DataLoader will create")
    feed.serve(StockFeed)
