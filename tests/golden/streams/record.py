"""Digests of batches of any kind."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

Case = Callable[[Path], Iterable[Any]]
"""Given an empty folder, gives batches; the files that it writes there may take any names."""

Stream = dict[str, Any]


def record(batches: Iterable[Any]) -> Stream:
    """The number of batches and one digest over all of them, in order."""
    digest, count = hashlib.sha256(), 0
    for batch in batches:
        _add(digest, batch)
        count += 1
    return {"batches": count, "sha256": digest.hexdigest()}


def _add(digest: Any, value: Any) -> None:
    """Containers by kind and length, arrays by dtype, shape and bytes, all else by its repr."""
    kind = type(value).__name__
    if isinstance(value, Mapping):
        digest.update(f"{kind} {len(value)} ".encode())
        for name in value:
            digest.update(f"{name} ".encode())
            _add(digest, value[name])
    elif isinstance(value, (list, tuple)):
        digest.update(f"{kind} {len(value)} ".encode())
        for each in value:
            _add(digest, each)
    elif isinstance(value, (torch.Tensor, np.ndarray)):
        digest.update(f"{kind} {value.dtype} {tuple(value.shape)} ".encode())
        digest.update(_bytes(value))
    else:
        digest.update(f"{kind} {value!r} ".encode())


def _bytes(array: Any) -> bytes:
    if isinstance(array, torch.Tensor):
        array = array.contiguous()
        array = (array.view(torch.int16) if array.dtype == torch.bfloat16 else array).numpy()
    return bytes(np.ascontiguousarray(array).tobytes())
