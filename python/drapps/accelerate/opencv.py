"""OpenCV's ``imread`` and ``imdecode`` of JPEG files, whole and at once."""

from __future__ import annotations

import base64
import functools
import os
import sys
from collections.abc import Callable
from pathlib import PosixPath
from types import BuiltinFunctionType
from typing import Any

from drapps import _core
from drapps.accelerate.exif import JPEG_START, orientation_in, with_orientation
from drapps.accelerate.patches import Patches
from drapps.accelerate.samples import SAMPLES
from drapps.accelerate.tally import Counts

MODULE = "cv2"
_UNCHANGED = -1
_BGR, _DEPTH, _COLORS, _AS_STORED, _RGB = 1, 2, 4, 128, 256  # flags that are added; 0 is gray
_MOST = 1 << 26  # pixels, far below what OpenCV refuses
_Function = Callable[..., Any]


def patch(counts: Counts, patches: Patches) -> None:
    """Has ``imread`` and ``imdecode`` decode natively where that gives the same."""
    cv2: Any = sys.modules[MODULE]
    reading = _Reading(cv2, counts)
    functions = {name: vars(cv2).get(name) for name in ("imdecode", "imread")}
    own = {name: each for name, each in functions.items() if isinstance(each, BuiltinFunctionType)}
    if not all(reading.is_as(name, plain) for name, plain in own.items()):
        counts.note("opencv_differs")
        return
    # A function that a user has put there stays.
    patches.put_by_name(cv2, {name: getattr(reading, name)(plain) for name, plain in own.items()})


class _Reading:
    """Pictures as arrays, by OpenCV's flags."""

    def __init__(self, cv2: Any, counts: Counts) -> None:
        self._counts = counts
        kinds = [0, _BGR, _DEPTH, _COLORS, _COLORS | _DEPTH]
        kinds += [_RGB] if getattr(cv2, "IMREAD_COLOR_RGB", None) == _RGB else []
        self._flags = {_UNCHANGED, *kinds, *(each | _AS_STORED for each in kinds)}

    def is_as(self, name: str, plain: _Function) -> bool:
        """Whether a function of OpenCV gives the same of some pictures.

        Flags other than that of its default are left to it where they alone give something else.
        """
        stored = [base64.b64decode(sample) for sample in SAMPLES]
        turned = [with_orientation(stored[0], turn) for turn in range(2, 9)]
        if name == "imdecode":
            self._flags = {each for each in self._flags if self._alike(name, plain, stored, each)}
        return _BGR in self._flags and self._alike(name, plain, turned, _BGR)

    def _alike(self, name: str, plain: _Function, files: list[bytes], flags: int) -> bool:
        try:
            return all(
                _same(_of_opencv(name, plain, each, flags), self.picture(each, flags))
                for each in files
            )
        except Exception:  # of an OpenCV that is another altogether
            return False

    def picture(self, data: bytes, flags: int) -> Any:
        """A picture as an array; None where that is OpenCV's."""
        import numpy as np

        pixels = _core.Pixels.judged(data, self._counts.indexes)
        as_stored = flags == _UNCHANGED or bool(flags & _AS_STORED)
        turn = 1 if as_stored else orientation_in(data)
        if pixels is None or turn is None or pixels.height * pixels.width > _MOST:
            return None
        size = (pixels.width, pixels.height) if turn > 4 else (pixels.height, pixels.width)
        channels = _channels(flags, pixels.channels)
        array = np.empty(size if channels == 1 else (*size, 3), np.uint8)
        whole = (0, 0, pixels.height, pixels.width)
        blue_first = flags == _UNCHANGED or not flags & _RGB
        luma = channels < pixels.channels
        pixels.to_bytes(whole, turn, False, channels, array.reshape(-1), blue_first, luma)
        return array

    def _counted(self, data: bytes, flags: int) -> Any:
        if not data.startswith(JPEG_START):
            return None
        picture = self.picture(data, flags)
        self._counts.add("by_opencv" if picture is None else "native")
        return picture

    def imdecode(self, plain: _Function) -> _Function:
        """``cv2.imdecode``."""
        import numpy as np

        @functools.wraps(plain)
        def imdecode(*args: Any, **options: Any) -> Any:
            picture = None
            if len(args) == 2 and not options and self._knows(args[1]):
                buffer = args[0]
                plain_bytes = type(buffer) is np.ndarray and buffer.dtype == np.uint8
                if plain_bytes and buffer.ndim == 1 and buffer.flags.c_contiguous:
                    picture = self._counted(buffer.tobytes(), args[1])
            return plain(*args, **options) if picture is None else picture

        return imdecode

    def imread(self, plain: _Function) -> _Function:
        """``cv2.imread``."""

        @functools.wraps(plain)
        def imread(*args: Any, **options: Any) -> Any:
            picture = None
            if len(args) in (1, 2) and not options and type(args[0]) in (str, PosixPath):
                flags = args[1] if len(args) == 2 else _BGR
                data = _file(args[0]) if self._knows(flags) else None
                picture = None if data is None else self._counted(data, flags)
            return plain(*args, **options) if picture is None else picture

        return imread

    def _knows(self, flags: Any) -> bool:
        return type(flags) is int and flags in self._flags


def _channels(flags: int, stored: int) -> int:
    """Channels by the flags, 1 or 3, of a file that has `stored` ones."""
    if flags == _UNCHANGED or (flags & _COLORS and not flags & (_BGR | _RGB)):
        return stored
    return 3 if flags & (_BGR | _RGB) else 1


def _file(path: Any) -> bytes | None:
    """What `path` holds, if it begins as a JPEG does; None where OpenCV is to say what is wrong."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123  # strings, too
            start = file.read(len(JPEG_START))
            return start + file.read() if start == JPEG_START else None
    except (OSError, ValueError):
        return None


def _of_opencv(name: str, plain: _Function, data: bytes, flags: int) -> Any:
    import numpy as np

    if name == "imdecode":
        return plain(np.frombuffer(data, np.uint8), flags)
    fd = os.memfd_create("drapps-sample", os.MFD_CLOEXEC)
    try:
        os.write(fd, data)
        return plain(f"/proc/self/fd/{fd}", flags)
    finally:
        os.close(fd)


def _same(theirs: Any, mine: Any) -> bool:
    return (
        type(theirs) is type(mine)
        and theirs.dtype == mine.dtype
        and theirs.shape == mine.shape
        and theirs.strides == mine.strides
        and theirs.tobytes() == mine.tobytes()
    )
