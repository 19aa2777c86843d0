"""The stand-ins' data: Fashion-MNIST, and the text of Python's documentation, from Debian.

build/bench/training-step/{train,held-out}.txt      the text, without repeated paragraphs
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.contestant import ROOT
from benchmarks.small_samples import data as fashion

FOLDER = ROOT / "build/bench/training-step"
_PACKAGE = "python3-doc"
_TEXTS = "python3-doc/html/_sources/**/*.rst.txt"
_HELD_OUT_EVERY = 20  # files


def ensure() -> None:
    """Unpacks everything.

    Raises:
        OSError: a package is not installed.
    """
    fashion.ensure()
    text("train")


def pictures() -> Path:
    """What torchvision's FashionMNIST calls `root`."""
    return fashion.ensure()


def text(part: str) -> np.ndarray:
    """The bytes of ``train`` or of ``held-out``.

    Raises:
        OSError: the package is not installed.
    """
    files = {name: FOLDER / f"{name}.txt" for name in ("train", "held-out")}
    if not all(file.exists() for file in files.values()):
        sources = _sources()
        FOLDER.mkdir(parents=True, exist_ok=True)
        for name, file in files.items():
            new = file.with_suffix(".part")
            new.write_text("\n\n".join(_paragraphs(sources, name == "held-out")), encoding="utf-8")
            new.rename(file)
    return np.frombuffer(files[part].read_bytes(), np.uint8)


def windows(bytes_: np.ndarray, length: int) -> np.ndarray:
    """Rows of so many bytes, one after the other, of their own memory."""
    rows = len(bytes_) // length
    return bytes_[: rows * length].reshape(rows, length).copy()


def _sources() -> list[Path]:
    files = sorted(Path("/usr/share/doc").glob(_TEXTS))
    if not files:
        raise OSError(f"no /usr/share/doc/{_TEXTS}: apt-get install {_PACKAGE}")
    return files


def _paragraphs(files: list[Path], held_out: bool) -> Iterator[str]:
    """Of the files of one part, each once."""
    seen: set[str] = set()
    for number, file in enumerate(files):
        mine = (number % _HELD_OUT_EVERY == 0) == held_out
        for paragraph in file.read_text(encoding="utf-8", errors="replace").split("\n\n"):
            if mine and paragraph.strip() and paragraph not in seen:
                yield paragraph
            seen.add(paragraph)
