"""Where a thread stands: its stage, and the line of the user's code that it is in."""

from __future__ import annotations

import itertools
import linecache
import sysconfig
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache, partial
from pathlib import Path
from types import CodeType, FrameType
from typing import NamedTuple

from drapps.watching.stages import (
    DATASET,
    DECODE,
    STORAGE,
    stage_of_call,
    stage_of_file,
    stage_of_name,
)

_LIBRARIES = ("/site-packages/", "/dist-packages/")
_OURS = str(Path(__file__).resolve().parents[1]) + "/"
_PYTHON = tuple({sysconfig.get_path(name) + "/" for name in ("stdlib", "platstdlib")})
FETCHES = ("torch/utils/data/_utils/fetch.py", "drapps/torch/map_job.py")  # ask the dataset
_ANYTHING = ("__getitem__", "__getitems__", "__iter__", "__next__")  # whose class tells nothing
_DEEPEST = 200  # frames
_MOST_KNOWN = 1000

Frames = tuple[tuple[CodeType, int | None, int], ...]


class Place(NamedTuple):
    """Where a thread stands.

    Attributes:
        stage: of `drapps.watching.stages`.
        line: ``file:line`` of the user's code.
        text: what is called there, as it is written.
    """

    stage: str
    line: str
    text: str


@lru_cache(maxsize=4096)
def of_user(file: str) -> bool:
    """Whether a file is the user's own: not Python's, none that was installed, and not ours."""
    if file.startswith(("<frozen", _OURS)):
        return False
    if any(part in file for part in _LIBRARIES):
        return False
    return not file.startswith(_PYTHON)


class Spot(NamedTuple):
    """One of the functions that a thread is in.

    Attributes:
        file, line: where it is.
        name: of the function, with its class where that is known.
        text: gives what it calls there, as it is written.
    """

    file: str
    line: int
    name: str
    text: Callable[[], str]


@lru_cache(maxsize=4096)
def _stage_of_function(file: str, name: str) -> str | None:
    stage = stage_of_file(file)
    if stage is not None or not of_user(file):
        return stage
    if name.rpartition(".")[2] in _ANYTHING:
        return None
    return stage_of_name(name.replace("<locals>.", ""))


def text_at(code: CodeType, number: int, instruction: int) -> str:
    """What is about to be called, or is, as it is written; its whole line before 3.11."""
    line = linecache.getline(code.co_filename, number)
    positions = getattr(code, "co_positions", None)
    if positions is not None:
        at = next(itertools.islice(positions(), max(0, instruction) // 2, None), None)
        if at is not None and None not in at and at[0] == at[1] == number:
            return line.encode()[at[2] : at[3]].decode(errors="replace").strip()
    return line.strip()


def spots_of(frames: Iterable[tuple[CodeType, int | None, int]]) -> Iterator[Spot]:
    """The spots of a thread of this process, made of what `frames_of` gives."""
    for code, number, instruction in frames:
        name = getattr(code, "co_qualname", code.co_name)
        at = number or 0  # which is None between two lines
        yield Spot(code.co_filename, at, name, partial(text_at, code, at, instruction))


def frames_of(frame: FrameType | None) -> Iterator[tuple[CodeType, int | None, int]]:
    """Code, line and last instruction of a frame, and of those that called it."""
    while frame is not None:
        yield frame.f_code, frame.f_lineno, frame.f_lasti
        frame = frame.f_back


def place_of(spots: Iterable[Spot], resource: str) -> Place:
    """Where a thread stands.

    Args:
        spots: the functions that it is in, the innermost first.
        resource: as `threads.doing` gives it; what waits for I/O in no stage, or while it decodes,
            is storage.
    """
    stage: str | None = None
    user: Spot | None = None
    innermost: Spot | None = None
    for spot in itertools.islice(spots, _DEEPEST):
        if spot.file.endswith(FETCHES):
            break
        own = of_user(spot.file)
        if stage is None and (own or innermost is None):
            stage = stage_of_call(spot.text())
        innermost = innermost or spot
        if stage is None:
            stage = _stage_of_function(spot.file, spot.name)
        if user is None and own:
            user = spot
        if stage is not None and user is not None:
            break
    if resource in ("io", "fault") and stage in (None, DATASET, DECODE):
        stage = STORAGE
    shown = user or innermost
    if shown is None:
        return Place(stage or DATASET, "", "")
    return Place(stage or DATASET, f"{shown.file}:{shown.line}", shown.text()[:80])


class Places:
    """What `place_of` says of frames, remembered: a thread stands mostly where it stood before."""

    def __init__(self) -> None:
        self._known: dict[tuple[object, ...], tuple[Place, Frames]] = {}

    def of(self, frames: Iterable[tuple[CodeType, int | None, int]], resource: str) -> Place:
        """Where the thread of these frames stands."""
        frames = tuple(itertools.islice(frames, _DEEPEST))
        key = (resource, *((id(code), instruction) for code, _, instruction in frames))
        entry = self._known.get(key)
        if entry is None:
            if len(self._known) == _MOST_KNOWN:
                self._known.clear()
            # The frames' code goes with it, so that no other gets its id.
            entry = self._known[key] = (place_of(spots_of(frames), resource), frames)
        return entry[0]
