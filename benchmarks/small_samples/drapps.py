"""Contestant: the same dataset in ``drapps.torch.DataLoader``."""

from __future__ import annotations

import functools

from benchmarks import feed
from benchmarks.small_samples.epochs import EpochsFeed
from drapps.torch import DataLoader

if __name__ == "__main__":
    feed.serve(functools.partial(EpochsFeed, make=DataLoader))
