"""A folder of the user's own as a data set: DIR/<class>/*, split into training and held-out part.

Nothing in the folder is touched. The split is a tree of symbolic links in a folder of the demo's.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

HELDOUT_ONE_IN = 7
MOST_PICTURES = 3000  # a demo is short: of a larger folder an even selection takes part
_LEAST_PER_CLASS = 4
_ENDINGS = {".jpg", ".jpeg", ".png", ".webp"}


@dataclass(frozen=True)
class Split:
    """The split: where its links lie, what is in it, and the classes too small to take part."""

    root: Path
    classes: int
    train: int
    heldout: int
    left_out: tuple[str, ...]


def split(folder: Path, cache: Path) -> Split:
    """Links the pictures of `folder` into `cache/<hash>/{train,heldout}/<class>/`.

    The same folder gives the same split. Raises ValueError when fewer than two classes are left.
    """
    pictures = {
        entry.name: _pictures(entry) for entry in sorted(folder.iterdir()) if entry.is_dir()
    }
    left_out = tuple(name for name, files in pictures.items() if len(files) < _LEAST_PER_CLASS)
    for name in left_out:
        del pictures[name]
    if len(pictures) < 2:
        raise ValueError(
            f"{folder} needs at least two folders, one a class, of {_LEAST_PER_CLASS} pictures or "
            f"more ({', '.join(sorted(_ENDINGS))})"
        )
    share = min(1.0, MOST_PICTURES / sum(map(len, pictures.values())))
    chosen = {name: _evenly(files, share) for name, files in pictures.items()}
    listing = json.dumps({name: list(map(str, files)) for name, files in chosen.items()})
    root = cache / hashlib.sha256(listing.encode()).hexdigest()[:16]
    counts = {"train": 0, "heldout": 0}
    for name, files in chosen.items():
        for number, file in enumerate(files):
            part = "heldout" if number % HELDOUT_ONE_IN == HELDOUT_ONE_IN // 2 else "train"
            counts[part] += 1
            link = root / part / name / f"{number:06}{file.suffix}"
            link.parent.mkdir(parents=True, exist_ok=True)
            if not link.is_symlink():
                link.symlink_to(file)
    return Split(root, len(chosen), counts["train"], counts["heldout"], left_out)


def _pictures(folder: Path) -> list[Path]:
    files = sorted(file for file in folder.rglob("*") if file.suffix.lower() in _ENDINGS)
    return [file.resolve() for file in files]


def _evenly(files: list[Path], share: float) -> list[Path]:
    count = min(len(files), max(_LEAST_PER_CLASS, round(share * len(files))))
    return [files[number * len(files) // count] for number in range(count)]
