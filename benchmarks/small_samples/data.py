"""Fashion-MNIST as torchvision keeps it, from Debian's package dataset-fashion-mnist."""

from __future__ import annotations

import gzip
from pathlib import Path

from benchmarks.contestant import ROOT

_PACKAGE = Path("/usr/share/datasets/fashion-mnist")
_FILES = ("train-images-idx3-ubyte", "train-labels-idx1-ubyte")
_FILES_OF_TESTS = ("t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte")


def ensure() -> Path:
    """Returns the folder that torchvision calls `root`.

    Raises:
        OSError: the package is not installed.
    """
    root = ROOT / "build/bench/small-samples"
    raw = root / "FashionMNIST/raw"
    raw.mkdir(parents=True, exist_ok=True)
    for name in (*_FILES, *_FILES_OF_TESTS):
        packed, file = _PACKAGE / f"{name}.gz", raw / name
        if file.exists():
            continue
        if not packed.exists():
            raise OSError(f"{packed} is missing: apt-get install dataset-fashion-mnist")
        part = file.with_suffix(".part")
        part.write_bytes(gzip.decompress(packed.read_bytes()))
        part.rename(file)
    return root
