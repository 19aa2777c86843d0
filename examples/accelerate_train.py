"""Accelerate with two lines changed: `python examples/accelerate_train.py DIR`.

DIR holds one folder of pictures per class. Needs accelerate and torchvision. On two ranks:
`torchrun --nproc-per-node 2 examples/accelerate_train.py DIR`.
"""

import sys
import zlib

import accelerate
import torch
import torch.utils.data
from torch.utils.data import Dataset
from torchvision import datasets, transforms

from drapps.torch import DataLoader  # was: from torch.utils.data import DataLoader


class Waves(Dataset):
    """A dataset in plain Python, of the shape of the pictures."""

    def __len__(self) -> int:
        return 21

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        return torch.sin(index * torch.arange(3.0 * 32 * 32)).reshape(3, 32, 32), index % 3


def train(make: type, dataset: Dataset, workers: int) -> list[int]:
    """Trains for two epochs with a loader that `make` makes; the checksums of what was seen."""
    accelerate.data_loader.DataLoader = make  # since prepare() makes a new loader of its parts
    loader = make(dataset, batch_size=4, shuffle=True, num_workers=workers)
    accelerator = accelerate.Accelerator(cpu=True)
    model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3 * 32 * 32, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    seen = []
    for _ in range(2):
        for images, labels in loader:
            loss = torch.nn.functional.cross_entropy(model(images), labels)
            optimizer.zero_grad()
            accelerator.backward(loss)
            optimizer.step()
            everything = accelerator.gather_for_metrics(images)  # of all ranks, without repeats
            seen += [zlib.crc32(image.numpy().tobytes()) for image in everything]
    return sorted(seen)


def main(root: str) -> None:
    """Trains on both kinds of dataset, and compares with the stock loader."""
    transform = transforms.Compose(
        [transforms.Resize(40), transforms.CenterCrop(32), transforms.ToTensor()]
    )
    for dataset, workers in ((datasets.ImageFolder(root, transform), 0), (Waves(), 2)):
        seen = train(DataLoader, dataset, workers)
        assert seen == train(torch.utils.data.DataLoader, dataset, workers)
        print(f"{type(dataset).__name__}: trained on {len(seen)} samples, as with stock")
    accelerate.PartialState().destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1])
