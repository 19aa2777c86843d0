"""What became of pictures, counted by every worker process in memory that its parent sees."""

from __future__ import annotations

import mmap
import os
from collections.abc import Mapping
from typing import Any

from drapps import _core
from drapps.worker.descriptor import Descriptor

# What is counted: pictures that our decoder makes, of those the ones that are resized in one go
# with that, pictures that Pillow makes, by the reason, those that OpenCV makes, and processes whose
# OpenCV decodes otherwise.
BY_PILLOW = {
    "progressive": "progressive",
    "CMYK": "CMYK",
    "larger_than_pixels": "files larger than their pixels",
    "other_size_or_mode": "asked for in another size or mode",
    "damaged_or_rare": "damaged, or of a rare kind",
}
_NAMES = ("native", "resized", *BY_PILLOW, "by_opencv", "opencv_differs")
# Why a process has left Pillow as it is.
LEFT_ALONE = (
    "",
    "this Pillow has no property Image.im",
    "this Pillow decodes, resizes or loads pictures otherwise",
    "functions of Pillow that all pictures go through were replaced",
)
_REASON = len(_NAMES)  # its place in a row
_WORDS = 16  # of a row
_WORD = 8
assert len(_NAMES) < _WORDS


class Counts:
    """The row of one process; adds to it."""

    def __init__(self, words: Any, indexes: _core.Indexes | None = None) -> None:
        self._words = words
        self._indexes = indexes
        self._places = {name: place for place, name in enumerate(_NAMES)}

    @property
    def indexes(self) -> _core.Indexes | None:
        """What decoding learns of files is kept there; None where it is not kept."""
        return self._indexes

    def add(self, name: str) -> None:
        """One more."""
        self._words[self._places[name]] += 1

    def note(self, name: str) -> None:
        """There is one, or are more."""
        self._words[self._places[name]] = 1

    def leave_alone(self, reason: int) -> None:
        """Pillow stays as it is in this process, for one of the reasons of `LEFT_ALONE`."""
        self._words[_REASON] = reason


class Tally:
    """A row of counts for each process of a pool."""

    def __init__(self, rows: int, memory: Descriptor | None = None) -> None:
        """Takes memory for so many processes, or maps what another process has taken.

        Raises:
            OSError: the system gives none.
        """
        size = rows * _WORDS * _WORD
        if memory is None:
            memory = Descriptor(os.memfd_create("drapps-pictures", os.MFD_CLOEXEC))
            os.ftruncate(memory.fd, size)
        self._rows, self._memory = rows, memory
        self._words = memoryview(mmap.mmap(memory.fd, size)).cast("Q")

    def __reduce__(self) -> Any:
        return Tally, (self._rows, self._memory)

    def of_process(self, number: int, indexes: _core.Indexes | None = None) -> Counts:
        """The row of a process, which keeps there what decoding learns of files."""
        return Counts(self._words[number * _WORDS : (number + 1) * _WORDS], indexes)

    def sums(self) -> dict[str, int]:
        """Of all processes; ``left_alone`` is the reason of one that has one, else 0."""
        words = memoryview(bytes(self._words)).cast("Q")
        found = {name: sum(words[place::_WORDS]) for place, name in enumerate(_NAMES)}
        return {**found, "left_alone": max(words[_REASON::_WORDS], default=0)}


def described(counts: Mapping[str, int]) -> str:
    """Counts as a sentence; empty where there are none."""
    parts = [_of_pictures(counts)]
    if counts.get("left_alone", 0):
        parts.append(f"pictures are decoded by Pillow: {LEFT_ALONE[counts['left_alone']]}")
    if counts.get("opencv_differs", 0):
        parts.append("those of cv2 by OpenCV, which decodes them otherwise")
    return "; ".join(filter(None, parts))


def _of_pictures(counts: Mapping[str, int]) -> str:
    native, by_opencv = counts.get("native", 0), counts.get("by_opencv", 0)
    by_pillow = {text: counts[name] for name, text in BY_PILLOW.items() if counts.get(name, 0)}
    if not native and not by_pillow and not by_opencv:
        return ""
    said = f"{native:,} pictures decoded natively"
    if native and counts.get("resized", 0):
        said += f", {min(counts['resized'] / native, 1):.0%} of them resized with that"
    if by_pillow:
        reasons = ", ".join(f"{number:,} {text}" for text, number in by_pillow.items())
        said += f"; {sum(by_pillow.values()):,} by Pillow ({reasons})"
    return f"{said}; {by_opencv:,} by OpenCV" if by_opencv else said
