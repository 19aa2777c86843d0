"""Contestant: torch's own DataLoader over torchvision's FashionMNIST."""

from __future__ import annotations

import functools
import warnings

import torch

from benchmarks import feed
from benchmarks.small_samples.epochs import EpochsFeed

if __name__ == "__main__":
    # Torch advises against more workers than cores; the probe finds out.
    warnings.filterwarnings("ignore", message="This DataLoader will create")
    feed.serve(functools.partial(EpochsFeed, make=torch.utils.data.DataLoader))
