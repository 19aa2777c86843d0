"""The files of scenario storage: image-cpu's 4:2:0, often enough that no run sees an epoch end.

build/bench/storage/<copy>_<class>/<nnn>.jpg     hard links: no bytes are copied
"""

from __future__ import annotations

import os
from pathlib import Path

from benchmarks.contestant import ROOT
from benchmarks.image_cpu import data as photos

_COPIES_PER_CORE, _MOST_COPIES = 24, 96


def ensure() -> Path:
    """Returns the folder. All files have been read, so that they lie in the page cache."""
    listed = photos.ensure()["420"].files
    files = [Path(line) for line in listed.read_text().splitlines()]
    folder = ROOT / "build/bench/storage/files"
    photos.link(files, folder, min(_COPIES_PER_CORE * len(os.sched_getaffinity(0)), _MOST_COPIES))
    return folder
