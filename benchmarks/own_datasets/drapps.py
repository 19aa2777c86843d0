"""Contestant: DRAPPS in the place of torch's class."""

from __future__ import annotations

from benchmarks.own_datasets import child
from drapps.torch import DataLoader

if __name__ == "__main__":
    child.serve(DataLoader)
