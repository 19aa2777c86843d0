"""The files of scenario image-peers: the demo's photo set, copied often enough for long epochs.

    build/bench/image-peers/data/{444,420}/<copy>_<class>/<nnn>.jpg    every sample its own file
    build/bench/image-peers/data/{444,420}.txt                         each file and its class
    build/bench/image-peers/data/check-{444,420}/<nnn>/photo.jpg       a class for each photograph

Copies, not links: a loader that remembers files must meet each sample as a file that it has not
seen. The list begins with one copy of every photograph.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.contestant import ROOT
from demo import photos, progress

_COPIES_PER_CORE, _MOST_COPIES = 4, 24
CHECKED = 64  # photographs
PLACE = ROOT / "build/bench/image-peers"


@dataclass(frozen=True)
class Folder:
    """A folder per class; the list of its files; how often each photograph is in it; a digest."""

    root: Path
    listing: Path
    classes: int
    copies: int
    digest: str


@dataclass(frozen=True)
class Data:
    """What one chroma sampling is measured on, and what pictures are compared on."""

    timed: Folder
    check: Folder


def ensure() -> dict[str, Data]:
    """Returns the data of each sampling, made where it is not there."""
    with progress.Bar("photo set") as bar:
        built = photos.ensure(
            ROOT / "build/demo/photos", lambda what, done, of: bar.update(done, of, what)
        )
    copies = min(_COPIES_PER_CORE * len(os.sched_getaffinity(0)), _MOST_COPIES)
    by_sampling = {}
    for sampling in photos.SAMPLINGS:
        files = sorted((built.root / sampling / "train").glob("*/*.jpg"))
        timed = [
            (file, f"{copy:02}_{file.parent.name}/{file.name}")
            for copy in range(copies)
            for file in files
        ]
        chosen = files[:: len(files) // CHECKED][:CHECKED]
        check = [(file, f"{number:03}/photo.jpg") for number, file in enumerate(chosen)]
        by_sampling[sampling] = Data(
            _folder(PLACE / "data" / sampling, timed, copies),
            _folder(PLACE / "data" / f"check-{sampling}", check, 1),
        )
    return by_sampling


def warm(path: Path) -> None:
    """Brings a file, or all of a folder, into the page cache."""
    for file in [path] if path.is_file() else path.rglob("*"):
        if file.is_file():
            with file.open("rb", buffering=0) as opened:
                while opened.read(1 << 24):
                    pass


def _folder(root: Path, files: Sequence[tuple[Path, str]], copies: int) -> Folder:
    content = [(str(name), file.stat().st_size, file.stat().st_mtime_ns) for file, name in files]
    digest = hashlib.sha256(repr(content).encode()).hexdigest()
    stamp, listing = root.with_suffix(".stamp"), root.with_suffix(".txt")
    names = sorted({name.partition("/")[0] for _, name in files})
    if not stamp.is_file() or stamp.read_text() != digest:
        stamp.unlink(missing_ok=True)
        shutil.rmtree(root, ignore_errors=True)
        for name in names:
            (root / name).mkdir(parents=True)
        for file, name in files:
            shutil.copyfile(file, root / name)
        label = {name: number for number, name in enumerate(names)}
        listing.write_text(
            "".join(f"{root / name} {label[name.partition('/')[0]]}\n" for _, name in files)
        )
        stamp.write_text(digest)
    return Folder(root, listing, len(names), copies, digest)
