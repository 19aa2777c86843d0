"""Contestant: torch's own DataLoader."""

from __future__ import annotations

import warnings

from torch.utils.data import DataLoader

from benchmarks.own_datasets import child

if __name__ == "__main__":
    # Torch advises against more workers than cores; the probe finds out.
    warnings.filterwarnings("ignore", message="This DataLoader will create")
    child.serve(DataLoader)
