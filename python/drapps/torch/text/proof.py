"""Comparing batches with those of stock code."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from drapps.torch.text.cells import Rows


def samples_of(rows: Rows) -> list[dict[str, Any]]:
    """Samples as `datasets` gives them of lists and numbers."""
    samples: list[dict[str, Any]] = [{} for _ in range(rows.count)]
    for name, cells in rows.columns.items():
        for number, sample in enumerate(samples):
            if cells.begins is None:
                sample[name] = cells.values[number].item()
                continue
            begin, end = cells.begins[number : number + 2].tolist()
            values = cells.values.reshape(-1, 2) if cells.pairs else cells.values
            sample[name] = values[begin:end].tolist()
    return samples


def same_batch(a: Any, b: Any) -> bool:
    """Whether two batches have the same type, keys in the same order, and the same values."""
    if type(a) is not type(b) or list(a) != list(b):
        return False
    return all(_same(a[name], b[name]) for name in a)


def _same(a: Any, b: Any) -> bool:
    if type(a) is not type(b):
        return False
    if isinstance(a, torch.Tensor):
        return a.dtype == b.dtype and a.shape == b.shape and torch.equal(a, b)
    if isinstance(a, np.ndarray):
        plain = a.dtype == b.dtype and a.dtype != object  # as of rows of different lengths
        return plain and np.array_equal(a, b)
    return bool(a == b)
