"""What the pipelines read."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

COUNT = 23  # samples of every set, so that the last batch is a small one
_PICTURES = Path(__file__).parents[1] / "pictures"


def records(names: str = "*") -> list[bytes]:
    """Encoded pictures of several formats and sizes, or those of some `names`."""
    files = [file.read_bytes() for file in sorted(_PICTURES.glob(names))]
    return list(itertools.islice(itertools.cycle(files), COUNT))


def labels() -> list[int]:
    """One for each record."""
    return [number * 7 % 5 for number in range(COUNT)]


def numbers(*shape: int, seed: int = 1) -> npt.NDArray[np.uint8]:
    """Bytes that look like noise, of a shape that begins with the number of samples."""
    i = np.arange(int(np.prod(shape)), dtype=np.uint64) + np.uint64(seed << 20)
    mixed = (i * np.uint64(2654435761) + (i >> np.uint64(7)) * np.uint64(40503)) % np.uint64(2**32)
    return (mixed >> np.uint64(24)).astype(np.uint8).reshape(shape)


def columns() -> dict[str, npt.NDArray[Any]]:
    """Arrays of several dtypes, one of them of pictures."""
    return {
        "image": numbers(COUNT, 20, 24, 3),
        "float": numbers(COUNT, 5).astype(np.float64) / 7,
        "label": np.arange(COUNT, dtype=np.int16),
    }


def folder(root: Path) -> Path:
    """The records as files in one folder per class."""
    for number, (data, label) in enumerate(zip(records(), labels(), strict=True)):
        path = root / "folder" / f"class{label}" / f"{number:03}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return root / "folder"
