"""What all contestants share: the dataset, and a consumer that goes through epoch after epoch."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from torchvision import datasets, transforms

Step = Callable[[torch.Tensor, torch.Tensor], None]


class EpochsFeed:
    """See `feed.Feed`: a loader of Fashion-MNIST, made by `make` from the dataset and arguments."""

    def __init__(self, spec: dict[str, Any], make: Callable[..., Iterable[Any]]) -> None:
        dataset = datasets.FashionMNIST(spec["root"], train=True, transform=transforms.ToTensor())
        if "samples" in spec:
            dataset = torch.utils.data.Subset(dataset, range(spec["samples"]))
        torch.manual_seed(spec["seed"])
        workers = spec["workers"]
        self.group = max(1, workers)  # each worker gives a whole batch in its turn
        self._loader: Any = make(
            dataset,
            batch_size=spec["batch"],
            shuffle=True,
            num_workers=workers,
            persistent_workers=workers > 0,
        )
        self._step = training_step() if spec.get("train") else None
        self._epoch_gaps: list[float] = []

    def batches(self) -> Iterator[int]:
        """Takes batches, and trains with each where that is asked for."""
        last: float | None = None
        while True:
            first = True
            for images, labels in self._loader:
                if self._step is not None:
                    self._step(images, labels)
                now = time.perf_counter()
                if first and last is not None:
                    self._epoch_gaps.append(now - last)
                first, last = False, now
                yield len(labels)

    @property
    def notes(self) -> dict[str, Any]:
        """The times between the last batch of an epoch and the first of the next, since asked."""
        gaps, self._epoch_gaps = self._epoch_gaps, []
        return {"epoch_gaps_s": gaps}

    def counters(self) -> dict[str, float]:
        """It has none."""
        return {}

    def close(self) -> None:
        """Ends the workers, which die with the last reference to the iterator."""
        self._loader._iterator = None


def training_step() -> Step:
    """A step of the model in PyTorch's introductory tutorial."""
    torch.set_num_threads(1)  # a layer of this size gains nothing from more
    nn = torch.nn
    model = nn.Sequential(
        nn.Flatten(),
        nn.Linear(28 * 28, 512),
        nn.ReLU(),
        nn.Linear(512, 512),
        nn.ReLU(),
        nn.Linear(512, 10),
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    loss_of = nn.CrossEntropyLoss()

    def step(images: torch.Tensor, labels: torch.Tensor) -> None:
        loss = loss_of(model(images), labels)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    return step
