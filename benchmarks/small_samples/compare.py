"""Raises where the two loaders' batches differ; run in a process of its own."""

from __future__ import annotations

import json
import sys

import torch
from torchvision import datasets, transforms

from drapps.torch import DataLoader


def main() -> None:
    """Compares an epoch in the dataset's order, and what shuffled epochs hold."""
    spec = json.loads(sys.argv[1])
    dataset = datasets.FashionMNIST(spec["root"], train=True, transform=transforms.ToTensor())
    ours = DataLoader(dataset, batch_size=spec["batch"])
    if not ours.lifted():
        raise SystemExit(str(ours.lifted()))
    stock = torch.utils.data.DataLoader(dataset, batch_size=spec["batch"])
    sums = torch.zeros(len(dataset), dtype=torch.float64)
    for at, (mine, theirs) in enumerate(zip(ours, stock, strict=True)):
        for one, other in zip(mine, theirs, strict=True):
            if one.dtype != other.dtype or not torch.equal(one, other):
                raise SystemExit(f"batch {at} differs")
        part = slice(at * spec["batch"], at * spec["batch"] + len(mine[1]))
        sums[part] = mine[0].double().sum((1, 2, 3)) + 1000 * mine[1]
    shuffled = DataLoader(dataset, batch_size=spec["batch"], shuffle=True, num_workers=1)
    totals = torch.cat([x.double().sum((1, 2, 3)) + 1000 * y for x, y in shuffled])
    if torch.equal(totals, sums) or not torch.equal(totals.sort().values, sums.sort().values):
        raise SystemExit("a shuffled epoch does not hold each sample once, in another order")


if __name__ == "__main__":
    main()
