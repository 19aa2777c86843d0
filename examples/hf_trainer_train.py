"""The Trainer of transformers: `python examples/hf_trainer_train.py DIR`.

DIR holds one folder of pictures per class. Needs transformers, accelerate and torchvision. On two
ranks: `torchrun --nproc-per-node 2 examples/hf_trainer_train.py DIR`.
"""

import sys
import tempfile
import zlib

import accelerate
import torch
import torch.utils.data
import transformers
from torch.utils.data import Dataset
from torchvision import datasets, transforms

from drapps.torch import DataLoader  # was: from torch.utils.data import DataLoader


class Waves(Dataset):
    """A dataset in plain Python, of the shape of the pictures."""

    def __len__(self) -> int:
        return 21

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        return torch.sin(index * torch.arange(3.0 * 32 * 32)).reshape(3, 32, 32), index % 3


class Trainer(transformers.Trainer):
    """A trainer of (image, label) batches, which brings its own loader."""

    make = DataLoader

    def get_train_dataloader(self) -> torch.utils.data.DataLoader:
        """The loader of this rank."""
        loader = self.make(
            self.train_dataset,
            batch_size=self.args.per_device_train_batch_size,
            shuffle=True,
            num_workers=self.args.dataloader_num_workers,
        )
        return self.accelerator.prepare(loader)

    def compute_loss(
        self, model: torch.nn.Module, inputs: list[torch.Tensor], **_: object
    ) -> torch.Tensor:
        """Cross entropy; notes the checksums of what was seen."""
        images, labels = inputs
        self.seen = [*getattr(self, "seen", []), *(zlib.crc32(i.numpy().tobytes()) for i in images)]
        return torch.nn.functional.cross_entropy(model(images), labels)


class StockTrainer(Trainer):
    """The same with the stock loader."""

    make = torch.utils.data.DataLoader


def train(trainer: type[Trainer], dataset: Dataset, workers: int) -> list[int]:
    """Trains for two epochs; the checksums of what was seen."""
    accelerate.data_loader.DataLoader = trainer.make  # since prepare() makes a new loader
    model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3 * 32 * 32, 3))
    with tempfile.TemporaryDirectory() as folder:
        arguments = transformers.TrainingArguments(
            folder,
            use_cpu=True,
            num_train_epochs=2,
            per_device_train_batch_size=4,
            dataloader_num_workers=workers,
            save_strategy="no",
            report_to="none",
            disable_tqdm=True,
        )
        running = trainer(model=model, args=arguments, train_dataset=dataset)
        running.train()
    return running.seen


def main(root: str) -> None:
    """Trains on both kinds of dataset, and compares with the stock loader."""
    transform = transforms.Compose(
        [transforms.Resize(40), transforms.CenterCrop(32), transforms.ToTensor()]
    )
    for dataset, workers in ((datasets.ImageFolder(root, transform), 0), (Waves(), 2)):
        seen = train(Trainer, dataset, workers)
        assert seen == train(StockTrainer, dataset, workers)
        print(f"{type(dataset).__name__}: trained on {len(seen)} samples, as with stock")
    if torch.distributed.is_initialized():  # an end without it aborts the process now and then
        torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1])
