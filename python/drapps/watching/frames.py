"""Where a thread stands: its stage, and the line of the user's code that it is in."""

from __future__ import annotations

import itertools
import linecache
import sysconfig
from functools import lru_cache
from pathlib import Path
from types import CodeType, FrameType
from typing import NamedTuple

from drapps.watching.stages import DATASET, STORAGE, stage_of_call, stage_of_file, stage_of_name

_LIBRARIES = ("/site-packages/", "/dist-packages/")
_OURS = str(Path(__file__).resolve().parents[1]) + "/"
_PYTHON = tuple({sysconfig.get_path(name) + "/" for name in ("stdlib", "platstdlib")})
_FETCH = "torch/utils/data/_utils/fetch.py"
_ANYTHING = ("__getitem__", "__getitems__", "__iter__", "__next__")  # whose class tells nothing
_DEEPEST = 200  # frames


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
    if file.startswith(("<", _OURS)):
        return False
    if any(part in file for part in _LIBRARIES):
        return False
    return not file.startswith(_PYTHON)


@lru_cache(maxsize=4096)
def _stage_of_code(code: CodeType) -> str | None:
    found = stage_of_file(code.co_filename)
    if found is not None or not of_user(code.co_filename):
        return found
    if code.co_name in _ANYTHING:
        return None
    return stage_of_name(getattr(code, "co_qualname", code.co_name).replace("<locals>.", ""))


def text_at(frame: FrameType) -> str:
    """What a frame is about to call or calls, as it is written; its whole line before 3.11."""
    line = linecache.getline(frame.f_code.co_filename, frame.f_lineno)
    positions = getattr(frame.f_code, "co_positions", None)
    if positions is not None:
        at = next(itertools.islice(positions(), frame.f_lasti // 2, None), None)
        if at is not None and None not in at and at[0] == at[1] == frame.f_lineno:
            return line.encode()[at[2] : at[3]].decode(errors="replace").strip()
    return line.strip()


def place_of(frame: FrameType | None, resource: str) -> Place:
    """Where it stands.

    Args:
        frame: the innermost.
        resource: as `threads.doing` gives it; what waits for I/O in no stage is storage.
    """
    stage, user = None, None
    innermost = frame
    for _ in range(_DEEPEST):
        if frame is None or frame.f_code.co_filename.endswith(_FETCH):
            break
        own = of_user(frame.f_code.co_filename)
        if stage is None and (own or frame is innermost):
            stage = stage_of_call(text_at(frame))
        if stage is None:
            stage = _stage_of_code(frame.f_code)
        if user is None and own:
            user = frame
        if stage is not None and user is not None:
            break
        frame = frame.f_back
    if resource in ("io", "fault") and stage in (None, DATASET):
        stage = STORAGE
    shown = user or innermost
    if shown is None:
        return Place(stage or DATASET, "", "")
    line = f"{shown.f_code.co_filename}:{shown.f_lineno}"
    return Place(stage or DATASET, line, text_at(shown)[:80])
