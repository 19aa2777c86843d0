"""The two stand-ins: what is learned, and how well."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch.nn import functional as F  # noqa: N812

from benchmarks.training_step import data, models

CONTEXT = 64  # bytes that the text model sees
_EVALUATED = 500  # samples at once

Batch = list[torch.Tensor]


@dataclass(frozen=True)
class Task:
    """A stand-in.

    Attributes:
        name: ``image`` or ``text``.
        higher: whether a higher quality is a better one.
        unit: of quality.
        scaling: how the learning rate follows the batch.
        dataset: that is trained on, for a loader of torch's kind.
        held_out: all that quality is measured on.
        model: makes a model.
        optimizer: makes its optimizer, at a rate.
        loss_of: the mean loss of a batch.
        quality_of: of some samples: a sum over them.
    """

    name: str
    higher: bool
    unit: str
    scaling: str
    dataset: Any
    held_out: Batch
    model: Callable[[], torch.nn.Module]
    optimizer: Callable[[torch.nn.Module, float], torch.optim.Optimizer]
    loss_of: Callable[[torch.nn.Module, Batch], torch.Tensor]
    quality_of: Callable[[torch.nn.Module, Batch], torch.Tensor]

    @torch.no_grad()
    def quality(self, model: torch.nn.Module, count: int, device: torch.device) -> float:
        """The mean over the first `count` held-out samples; the model goes on training."""
        model.eval()
        total = 0.0
        count = min(count, len(self.held_out[0]))
        for first in range(0, count, _EVALUATED):
            part = [each[first : min(first + _EVALUATED, count)] for each in self.held_out]
            total += float(self.quality_of(model, [each.to(device) for each in part]))
        model.train()
        return total / count


@functools.cache
def load(name: str) -> Task:
    """A stand-in with its data."""
    return {"image": _image, "text": _text}[name]()


def _image() -> Task:
    from torchvision import datasets, transforms

    root = str(data.pictures())
    train = datasets.FashionMNIST(root, train=True, transform=transforms.ToTensor())
    test = datasets.FashionMNIST(root, train=False)
    return Task(
        "image",
        True,
        "accuracy",
        "linear",
        train,
        [test.data[:, None].float() / 255, test.targets],
        models.convolutional,
        lambda model, rate: torch.optim.SGD(model.parameters(), rate, 0.9, weight_decay=5e-4),
        lambda model, batch: F.cross_entropy(model(batch[0]), batch[1]),
        lambda model, batch: (model(batch[0]).argmax(1) == batch[1]).sum(),
    )


def _text() -> Task:
    rows = {
        part: torch.from_numpy(data.windows(data.text(part), CONTEXT + 1))
        for part in ("train", "held-out")
    }
    order = torch.randperm(len(rows["held-out"]), generator=torch.Generator().manual_seed(1))
    return Task(
        "text",
        False,
        "bits per byte",
        "sqrt",
        torch.utils.data.TensorDataset(rows["train"]),
        [rows["held-out"][order]],
        lambda: models.Transformer(CONTEXT),
        lambda model, rate: torch.optim.AdamW(model.parameters(), rate, weight_decay=0.1),
        text_loss,
        lambda model, batch: text_loss(model, batch) * len(batch[0]) / math.log(2),
    )


def text_loss(model: torch.nn.Module, batch: Batch) -> torch.Tensor:
    """The mean over all bytes but the first."""
    tokens = batch[0].long()
    logits = model(tokens[:, :-1])
    return F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
