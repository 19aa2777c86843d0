"""Data in memory that may live on a device, and what is compared of their batches."""

import numpy as np
import torch
import torchvision
from torchvision import transforms

CHAIN = [
    transforms.RandomCrop(32, padding=4),
    transforms.RandomHorizontalFlip(),
    transforms.ToTensor(),
    transforms.Normalize((0.49, 0.48, 0.45), (0.25, 0.24, 0.26)),
]

COLOURS = [
    transforms.RandomResizedCrop(28),
    transforms.RandomApply([transforms.ColorJitter(0.4, 0.4, 0.4, 0.1)], p=0.8),
    transforms.RandomGrayscale(0.2),
    transforms.ToTensor(),
    transforms.Normalize((0.49, 0.48, 0.45), (0.25, 0.24, 0.26)),
    transforms.RandomErasing(),
]


def cifar(rows=150, chain=CHAIN):
    """As torchvision's CIFAR10, of noise."""
    dataset = torchvision.datasets.CIFAR10.__new__(torchvision.datasets.CIFAR10)
    rng = np.random.default_rng(7)
    dataset.__dict__ |= {
        "data": rng.integers(0, 256, (rows, 32, 32, 3), dtype=np.uint8),
        "targets": rng.integers(0, 10, rows).tolist(),
        "transform": transforms.Compose(chain),
        "target_transform": None,
        "transforms": None,
        "root": "",
        "train": True,
    }
    return dataset


def same(actual, expected):
    """Asserts that batches have the same tensors, of the same dtypes."""
    assert len(actual) == len(expected) > 0
    for one, other in zip(actual, expected, strict=True):
        for a, b in zip(one, other, strict=True):
            assert a.dtype == b.dtype
            assert torch.equal(a, b)
