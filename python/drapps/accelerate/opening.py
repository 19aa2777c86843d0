"""How JPEG files that Pillow has opened are loaded without pixels."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from drapps import _core
from drapps.accelerate.late import LatePixels
from drapps.accelerate.proof import pillow13
from drapps.accelerate.tally import Counts
from drapps.accelerate.views import PILLOW_BYTES, Box, View

_END = b"\xff\xd9"  # the marker


class Opening:
    """Reads files as Pillow's load() does, and judges them."""

    def __init__(
        self,
        image_module: Any,
        kind: Any,
        counts: Counts,
        note: Callable[[LatePixels, Any], None] | None = None,
    ) -> None:
        """For images of exactly the class `kind`; `note` is told what is late, and of whom."""
        self._kind = kind
        self._note = note
        self._decoders: dict[str, Any] = image_module.DECODERS
        self._counts = counts
        self._pillow13 = pillow13(image_module)

    def view_of(self, image: Any) -> View | None:
        """What is not made yet of an image; a file is loaded. None where the pixels are there."""
        held = image._im
        if held is None:
            image.load()
            held = image._im
        return held.view if type(held) is LatePixels else None

    def may_be_late(self, image: Any) -> bool:
        """Whether the pixels may not be there yet."""
        held = image._im
        return type(held) is LatePixels or (held is None and type(image) is self._kind)

    def image(self, like: Any, view: View) -> Any:
        """An image like another one, of a view."""
        late = LatePixels(view, self)
        image = like._new(late)
        if self._note is not None:
            self._note(late, image)
        return image

    def resized(
        self, view: View, size: tuple[int, int], bicubic: bool, box: Box | None = None
    ) -> View:
        """A view in another size, or a box of it."""
        if view.source.is_file:
            self._counts.add("resized")
        return view.resized(*size, bicubic, self._pillow13, box)

    def loaded_late(self, image: Any) -> LatePixels | None:
        """Loads a file, but for its pixels; None for what is left to Pillow, as if untouched."""
        unloaded = type(image) is self._kind and image._im is None and bool(image.tile)
        pixels = self._judged(image) if unloaded else None
        if pixels is None:
            return None
        self._counts.add("native")
        late = LatePixels(View.of_file(pixels), self)
        image.map = None
        image.im = late
        image.tile = []
        image.readonly = 0
        image.load_end()
        if image._exclusive_fp and image._close_exclusive_fp_after_loading:
            image.fp.close()
        image.fp = None
        if self._note is not None:
            self._note(late, image)
        return late

    def _judged(self, image: Any) -> _core.Pixels | None:
        mode, size = image.mode, image.size
        tile = [("jpeg", (0, 0, *size), 0, (mode, ""))]
        if mode not in PILLOW_BYTES or "progressive" in image.info:
            self._counts.add("CMYK" if mode == "CMYK" else "progressive")
            return None
        if image.tile != tile or image.decoderconfig != () or "jpeg" in self._decoders:
            self._counts.add("other_size_or_mode")
            return None
        most = size[0] * size[1] * PILLOW_BYTES[mode]
        try:
            data = self._read_file(image, most) if image._exclusive_fp else _read(image, most)
        except Exception as error:
            if _is_of_python_code(error):
                raise
            return None  # Pillow will say what is wrong
        if data is None:
            self._counts.add("larger_than_pixels")
            return None
        pixels = _core.Pixels.judged(data, self._counts.indexes)
        if pixels is None or (pixels.width, pixels.height) != size:
            self._counts.add("damaged_or_rare")
            return None
        return pixels

    @staticmethod
    def _read_file(image: Any, most: int) -> bytes | None:
        """All of a file that Pillow has opened, and will close; None where it is larger."""
        if os.fstat(image.fp.fileno()).st_size > most:
            return None
        image.fp.seek(0)
        data: bytes = image.fp.read()
        return data


def _is_of_python_code(error: Exception) -> bool:
    """Whether a signal handler has raised it, or a file of a user's class; it may come but once."""
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    return traceback is not None and traceback.tb_frame.f_globals is not globals()


def _read(image: Any, most: int) -> bytes | None:
    """As much as Pillow would read of what a user has opened; None where that is more."""
    file = image.fp
    scan = file.tell()
    file.seek(0)
    data, block = b"", file.read(image.decodermaxblock)
    while block:
        looked = max(scan, len(data) - 1)
        data = data + block if data else block
        if data.find(_END, looked) >= 0:
            break
        if len(data) > most:
            return None
        block = file.read(image.decodermaxblock)
    return bytes(data)
