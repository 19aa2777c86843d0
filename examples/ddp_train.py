"""A DDP loop with one line changed: `torchrun --nproc-per-node 2 examples/ddp_train.py DIR`.

DIR holds one folder of pictures per class. Needs torch and torchvision. Runs on one process too.
"""

import os
import sys
import zlib

import torch
import torch.utils.data
from torch import distributed
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import Dataset, DistributedSampler
from torchvision import datasets, transforms

from drapps.torch import DataLoader  # was: from torch.utils.data import DataLoader

RANK, WORLD = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))


class Waves(Dataset):
    """A dataset in plain Python, of the shape of the pictures."""

    def __len__(self) -> int:
        return 21

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        return torch.sin(index * torch.arange(3.0 * 32 * 32)).reshape(3, 32, 32), index % 3


def train(make: type, dataset: Dataset, workers: int) -> list[int]:
    """Trains for two epochs with loaders that `make` makes; the checksums of what was seen."""
    sampler = DistributedSampler(dataset, WORLD, RANK, seed=1)
    loader = make(dataset, batch_size=4, sampler=sampler, num_workers=workers)
    model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3 * 32 * 32, 3))
    if WORLD > 1:
        model = DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    seen = []
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for images, labels in loader:
            loss = torch.nn.functional.cross_entropy(model(images), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            seen += [zlib.crc32(image.numpy().tobytes()) for image in images]
    return seen


def main(root: str) -> None:
    """Trains on both kinds of dataset, and compares with the stock loader."""
    if WORLD > 1:
        distributed.init_process_group("gloo")
    transform = transforms.Compose(
        [transforms.Resize(40), transforms.CenterCrop(32), transforms.ToTensor()]
    )
    for dataset, workers in ((datasets.ImageFolder(root, transform), 0), (Waves(), 2)):
        seen = train(DataLoader, dataset, workers)
        assert seen == train(torch.utils.data.DataLoader, dataset, workers)
        print(f"{type(dataset).__name__}: rank {RANK} saw {len(seen)} samples, as with stock")
    if WORLD > 1:
        distributed.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1])
