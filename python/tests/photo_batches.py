"""Photographs as a Python dataset, and their batches from worker processes."""

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from torch.utils import data

import drapps.torch

STARTS = ["fork", "spawn", "forkserver"]
FORKED = ["fork", *(pytest.param(start, marks=pytest.mark.full) for start in STARTS[1:])]


class Photos(data.Dataset):
    """Pictures in a folder, as people read them."""

    def __init__(self, folder, transform=None):
        self.paths = sorted(path for path in Path(folder).rglob("*.*") if path.suffix != ".txt")
        self.transform = transform

    def __len__(self):
        return len(self.paths)

    def __iter__(self):
        return (self[index] for index in range(len(self)))

    def __getitem__(self, index):
        with Image.open(self.paths[index]) as image:
            picture = image.convert("RGB")
        if self.transform is None:
            return np.asarray(picture.resize((48, 40))), picture.size
        return self.transform(picture), index


def batches(dataset, **options):
    """All batches of a new loader, and the loader."""
    torch.manual_seed(7)
    options = {"batch_size": 4, "num_workers": 2, "seed": 3, **options}
    loader = drapps.torch.DataLoader(dataset, **options)
    return list(loader), loader


def same(left, right):
    """Whether batches are equal."""
    return len(left) == len(right) and all(
        all(map(torch.equal, map(torch.as_tensor, a), map(torch.as_tensor, b)))
        for a, b in zip(left, right, strict=True)
    )
