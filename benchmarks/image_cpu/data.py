"""The files of scenario image-cpu: the demo's photo set, listed often enough for long epochs.

    build/bench/image-cpu/{444,420}/<copy>_<class>/<nnn>.jpg     hard links: no bytes are copied
    build/bench/image-cpu/{444,420}.files                        the photo set's files, one a line

An epoch is then longer than a measurement, as one of a real training set is, while the files still
fit in memory. Sample i of the folder is the photo set's i mod its size.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from benchmarks.contestant import ROOT
from demo import photos, progress

_COPIES_PER_CORE, _MOST_COPIES = 6, 48


@dataclass(frozen=True)
class Data:
    """One sampling: the folder, its samples, and the list of the files that they are copies of."""

    folder: Path
    samples: int
    files: Path


def ensure() -> dict[str, Data]:
    """Returns the data of each sampling.

    All files have been read, so that they lie in the page cache.
    """
    with progress.Bar("photo set") as bar:
        built = photos.ensure(
            ROOT / "build/demo/photos", lambda what, done, of: bar.update(done, of, what)
        )
    copies = min(_COPIES_PER_CORE * len(os.sched_getaffinity(0)), _MOST_COPIES)
    by_sampling = {}
    for sampling in photos.SAMPLINGS:
        files = sorted((built.root / sampling / "train").glob("*/*.jpg"))
        folder = ROOT / "build/bench/image-cpu" / sampling
        link(files, folder, copies)
        for file in files:
            file.read_bytes()
        listed = folder.with_suffix(".files")
        listed.write_text("".join(f"{file}\n" for file in files))
        by_sampling[sampling] = Data(folder, copies * len(files), listed)
    return by_sampling


def link(files: list[Path], folder: Path, copies: int) -> None:
    """Fills a folder with so many copies of the files, unless it has them already."""
    content = [(str(file), file.stat().st_ino) for file in files]
    digest = hashlib.sha256(repr((copies, content)).encode()).hexdigest()
    stamp = folder.with_suffix(".stamp")
    if stamp.is_file() and stamp.read_text() == digest:
        return
    stamp.unlink(missing_ok=True)
    shutil.rmtree(folder, ignore_errors=True)
    for copy in range(copies):
        for file in files:
            link = folder / f"{copy:02}_{file.parent.name}" / file.name
            link.parent.mkdir(parents=True, exist_ok=True)
            link.hardlink_to(file)
    stamp.write_text(digest)
