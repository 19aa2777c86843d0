"""Datasets for the tests of `drapps.cached`, which any process can import."""

import collections
import os
import signal
from pathlib import Path

import numpy as np
import torch
from torch.utils import data

Pair = collections.namedtuple("Pair", "left right")


class Counted(data.Dataset):
    """Notes each sample that it makes in a file, which all processes append to."""

    def __init__(self, notes: Path, size: int = 60) -> None:
        self.notes = str(notes)
        self.size = size

    def __len__(self):
        return self.size

    def __getitem__(self, index):
        if not 0 <= index < self.size:
            raise IndexError(f"there is no sample {index}")
        note(self.notes, index)
        return {
            "image": torch.full((3, 5, 4), float(index)).to(memory_format=torch.contiguous_format),
            "array": np.arange(6, dtype=np.int16).reshape(2, 3) + index,
            "name": f"sample {index}",
            "pair": Pair(index, index / 3),
        }


class Sized(Counted):
    """Samples of log-normal sizes."""

    def __getitem__(self, index):
        note(self.notes, index)
        size = int(np.random.default_rng(index).lognormal(7, 1.2))
        return np.full(size, index, np.uint8)


class Several(Counted):
    """Gives several samples at once, as Hugging Face's datasets do."""

    def __getitems__(self, indices):
        return [self[index] for index in indices]


class Killed(Counted):
    """The first process that makes one of some samples dies while it does."""

    def __getitem__(self, index):
        sample = super().__getitem__(index)
        if index in (7, 23, 41):
            try:
                os.close(os.open(f"{self.notes}.{index}", os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                return sample
            os.kill(os.getpid(), signal.SIGKILL)
        return sample


class Thrice(data.Dataset):
    """Another dataset's samples, drawn about, as augmentation does."""

    def __init__(self, inner):
        self.inner = inner

    def __len__(self):
        return len(self.inner)

    def __getitem__(self, index):
        sample = self.inner[index]
        return sample["image"] + torch.rand(1), sample["array"] + np.random.rand(), sample["name"]


def note(path, index):
    """Adds a line to a file; whole lines, whoever else adds some."""
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(file, b"%d\n" % index)
    os.close(file)


def noted(path) -> list[int]:
    """All that was noted in a file."""
    return [int(line) for line in Path(path).read_text().split()] if Path(path).exists() else []
