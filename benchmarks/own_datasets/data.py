"""The photographs of which the datasets are."""

from __future__ import annotations

from pathlib import Path

from benchmarks.contestant import ROOT
from demo import photos, progress


def ensure() -> dict[str, list[str]]:
    """Their paths for each chroma sampling; they are made where they are not there."""
    with progress.Bar("photo set") as bar:
        built = photos.ensure(
            ROOT / "build/demo/photos", lambda what, done, of: bar.update(done, of, what)
        )
    return {
        sampling: sorted(map(str, (built.root / sampling / "train").glob("*/*.jpg")))
        for sampling in photos.SAMPLINGS
    }


def warm(paths: list[str]) -> None:
    """Brings files into the page cache."""
    for path in paths:
        Path(path).read_bytes()
