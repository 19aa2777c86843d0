"""Contestant: DRAPPS with its defaults, in the place of torch's class."""

from __future__ import annotations

from benchmarks.python_dataset import child
from drapps.torch import DataLoader

if __name__ == "__main__":
    child.serve(DataLoader)
