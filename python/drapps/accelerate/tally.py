"""What became of pictures, counted by every worker process in memory that its parent sees."""

from __future__ import annotations

import mmap
import os
from collections.abc import Mapping
from typing import Any

from drapps import _core
from drapps.worker.descriptor import Descriptor

# What is counted: pictures that our decoder makes, of those the ones that are resized in one go
# with that, pictures that Pillow makes, by the reason, those that other libraries make, and
# processes whose libraries decode otherwise.
BY_PILLOW = {
    "progressive": "progressive",
    "CMYK": "CMYK",
    "larger_than_pixels": "files larger than their pixels",
    "other_size_or_mode": "asked for in another size or mode",
    "damaged_or_rare": "damaged, or of a rare kind",
}
BY_OTHERS = {"by_opencv": "OpenCV", "by_torchvision": "torchvision"}
DIFFERS = {
    "opencv_differs": "those of cv2 by OpenCV",
    "torchvision_differs": "those of torchvision.io by torchvision",
}
_NAMES = ("native", "resized", *BY_PILLOW, *BY_OTHERS, *DIFFERS)
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
        """Where what decoding learns of files is kept; None where it is not kept."""
        return self._indexes

    def add(self, name: str) -> None:
        """Counts one more `name`."""
        self._words[self._places[name]] += 1

    def note(self, name: str) -> None:
        """Notes that there is a `name`, or are more."""
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
        """The counts of all processes; ``left_alone`` is the reason of one that has one, else 0."""
        words = memoryview(bytes(self._words)).cast("Q")
        totals = {name: sum(words[place::_WORDS]) for place, name in enumerate(_NAMES)}
        return {**totals, "left_alone": max(words[_REASON::_WORDS], default=0)}


def described(counts: Mapping[str, int]) -> str:
    """Counts as a sentence; empty where there are none."""
    parts = [_of_pictures(counts)]
    if counts.get("left_alone", 0):
        parts.append(f"pictures are decoded by Pillow: {LEFT_ALONE[counts['left_alone']]}")
    parts += [f"{text}, which decodes them otherwise" for text in _named(counts, DIFFERS)]
    return "; ".join(filter(None, parts))


def _of_pictures(counts: Mapping[str, int]) -> str:
    native = counts.get("native", 0)
    by_pillow, by_others = _named(counts, BY_PILLOW), _named(counts, BY_OTHERS)
    if not native and not by_pillow and not by_others:
        return ""
    clause = f"{native:,} pictures decoded natively"
    if native and counts.get("resized", 0):
        clause += f", {min(counts['resized'] / native, 1):.0%} of them resized with that"
    if by_pillow:
        reasons = ", ".join(f"{number:,} {text}" for text, number in by_pillow.items())
        clause += f"; {sum(by_pillow.values()):,} by Pillow ({reasons})"
    return "; ".join([clause, *(f"{number:,} by {text}" for text, number in by_others.items())])


def _named(counts: Mapping[str, int], texts: Mapping[str, str]) -> dict[str, int]:
    """The counts that are not zero, by the `texts` that people read."""
    return {text: counts[name] for name, text in texts.items() if counts.get(name, 0)}
