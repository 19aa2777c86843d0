"""Datasets under trainers, and what of their batches is compared."""

import zlib
from collections import Counter

import torch
from torch.utils.data import Dataset, IterableDataset


class Numbers(Dataset):
    """Plain Python: sample i is a picture of i, and i."""

    def __init__(self, size=21):
        self.size = size

    def __len__(self):
        return self.size

    def __getitem__(self, index):
        return torch.full((3, 32, 32), float(index)), index


class Records(Numbers):
    """The same by name, as transformers wants them."""

    def __getitem__(self, index):
        return {"pixels": torch.full((3, 32, 32), float(index)), "labels": index % 3}


class Stream(IterableDataset):
    """The same in a row, without a length."""

    def __iter__(self):
        worker = torch.utils.data.get_worker_info()
        first, step = (0, 1) if worker is None else (worker.id, worker.num_workers)
        return ((torch.full((3, 32, 32), float(i)), i) for i in range(first, 21, step))


class SizedStream(Stream):
    """The same with a length."""

    def __len__(self):
        return 21


def sums(images):
    """A number for each picture."""
    return [zlib.crc32(image.numpy().tobytes()) for image in images]


def stock_epoch(dataset):
    """How often a whole epoch holds each number."""
    return Counter(sums(dataset[i][0] for i in range(len(dataset))))


def network():
    """The smallest there is for these pictures."""
    return torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3 * 32 * 32, 3))


def flat(batches):
    """What all batches hold."""
    return [one for batch in batches for one in batch]
