"""The stock training loop with one line changed: `python examples/torch_swap.py DIR`.

DIR holds one folder of pictures per class. Needs torch and torchvision.
"""

import sys

import torch
from torchvision import datasets, transforms

from drapps.torch import DataLoader  # was: from torch.utils.data import DataLoader


def main(root: str) -> None:
    """Trains a linear classifier for one epoch."""
    transform = transforms.Compose(
        [
            transforms.RandomResizedCrop(64),
            transforms.RandomHorizontalFlip(),
            transforms.ToTensor(),
            transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]),
        ]
    )
    dataset = datasets.ImageFolder(root, transform)
    loader = DataLoader(dataset, batch_size=8, shuffle=True)
    print(loader.lifted())

    model = torch.nn.Sequential(
        torch.nn.Flatten(), torch.nn.Linear(3 * 64 * 64, len(dataset.classes))
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    for step, (images, labels) in enumerate(loader):
        loss = torch.nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"step {step}: {len(labels)} pictures, loss {loss.item():.3f}")


if __name__ == "__main__":
    main(sys.argv[1])
