"""PyTorch Lightning with one line changed: `python examples/lightning_train.py DIR`.

DIR holds one folder of pictures per class. Needs lightning and torchvision. On two ranks:
`torchrun --nproc-per-node 2 examples/lightning_train.py DIR`.
"""

import os
import sys
import zlib

import lightning
import torch
import torch.utils.data
from torch.utils.data import Dataset
from torchvision import datasets, transforms

from drapps.torch import DataLoader  # was: from torch.utils.data import DataLoader

WORLD = int(os.environ.get("WORLD_SIZE", 1))


class Waves(Dataset):
    """A dataset in plain Python, of the shape of the pictures."""

    def __len__(self) -> int:
        return 21

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        return torch.sin(index * torch.arange(3.0 * 32 * 32)).reshape(3, 32, 32), index % 3


class Classifier(lightning.LightningModule):
    """A linear classifier that notes the checksums of what it was trained on."""

    def __init__(self) -> None:
        super().__init__()
        self.model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3 * 32 * 32, 3))
        self.seen: list[int] = []

    def training_step(self, batch: list[torch.Tensor], _: int) -> torch.Tensor:
        """One step."""
        images, labels = batch
        self.seen += [zlib.crc32(image.numpy().tobytes()) for image in images]
        return torch.nn.functional.cross_entropy(self.model(images), labels)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        """SGD."""
        return torch.optim.SGD(self.parameters(), lr=1e-3)


def train(loader: torch.utils.data.DataLoader) -> list[int]:
    """Trains for two epochs; the checksums of what was seen."""
    model = Classifier()
    trainer = lightning.Trainer(
        accelerator="cpu",
        devices=WORLD,  # on more than one, Lightning gives the loader a DistributedSampler
        max_epochs=2,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(model, loader)
    return sorted(model.seen)


def main(root: str) -> None:
    """Trains on both kinds of dataset, and compares with the stock loader."""
    transform = transforms.Compose(
        [transforms.Resize(40), transforms.CenterCrop(32), transforms.ToTensor()]
    )
    for dataset, workers in ((datasets.ImageFolder(root, transform), 0), (Waves(), 2)):
        settings = {"batch_size": 4, "shuffle": True, "num_workers": workers}
        seen = train(DataLoader(dataset, **settings))
        assert seen == train(torch.utils.data.DataLoader(dataset, **settings))
        print(f"{type(dataset).__name__}: trained on {len(seen)} samples, as with stock")
    if torch.distributed.is_initialized():  # an end without it aborts the process now and then
        torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1])
