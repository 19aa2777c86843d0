"""Dtypes of NumPy and torch in blocks, by their names."""

from __future__ import annotations

from typing import Any

import numpy as np

from drapps.item_cache.blocks import DamagedBlockError, NotKept

_KINDS = "biufcmMSUV"  # of dtypes whose elements are their bytes


def text_of(dtype: np.dtype[Any]) -> str:
    """The name of a dtype of NumPy.

    Raises:
        NotKept: it has none, or its elements are more than their bytes.
    """
    plain = dtype.kind in _KINDS and dtype.names is None and dtype.subdtype is None
    if not plain or dtype.metadata or np.dtype(dtype.str) != dtype:
        raise NotKept(f"it holds an array of {dtype}")
    return str(dtype.str)


def numpys(text: str) -> np.dtype[Any]:
    """The dtype of NumPy with a name."""
    if text[:1] not in ("<", ">", "|") or text[1:2] not in _KINDS:
        raise DamagedBlockError("an array has a dtype that is none")
    return np.dtype(text)


def text_of_torchs(dtype: Any) -> str:
    """The name of a dtype of torch."""
    return str(dtype).removeprefix("torch.")


def torchs(text: str) -> Any:
    """The dtype of torch with a name."""
    import torch

    dtype = getattr(torch, text)
    if not isinstance(dtype, torch.dtype):
        raise DamagedBlockError("a tensor has a dtype that is none")
    return dtype
