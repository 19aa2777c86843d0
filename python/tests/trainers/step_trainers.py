"""Trainers of transformers that are given a callback, and a model and datasets for them."""

import torch
import transformers

from python.tests.train.models import loss_of, model_of
from python.tests.trainers.points import Points


class NamedPoints(Points):
    """As models of transformers are given them."""

    def __getitem__(self, index):
        points, label = super().__getitem__(index)
        return {"points": points, "labels": label}


class Stream(torch.utils.data.IterableDataset):
    """Without a length."""

    def __init__(self, rows):
        self.rows = rows

    def __iter__(self):
        return (self.rows[number] for number in range(len(self.rows)))


class Classifier(torch.nn.Module):
    """Gives its loss, as models of transformers do."""

    def __init__(self, dropout=0.0):
        super().__init__()
        self.model = model_of(dropout=dropout)

    def forward(self, points, labels):
        """The loss of a batch."""
        return {"loss": loss_of(self.model, (points, labels))}


class Trainer(transformers.Trainer):
    """In the order of the dataset."""

    def _get_train_sampler(self, dataset=None):
        return torch.utils.data.SequentialSampler(dataset or self.train_dataset)


def trainer_of(home, callback, model=None, dataset=None, cls=Trainer, folder="out", **options):
    """One that writes to a folder below `home`."""
    arguments = transformers.TrainingArguments(
        str(home / folder),
        use_cpu=True,
        report_to="none",
        disable_tqdm=True,
        **{
            "per_device_train_batch_size": 4,
            "num_train_epochs": 1,
            "save_strategy": "no",
            "logging_steps": 1,
            "learning_rate": 1e-2,
            **options,
        },
    )
    return cls(
        model=model or Classifier(),
        args=arguments,
        train_dataset=dataset or NamedPoints(),
        callbacks=[] if callback is None else [callback],
    )
