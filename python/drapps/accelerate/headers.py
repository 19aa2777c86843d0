"""How Pillow opens JPEG files: the header of one as most are written is read natively."""

from __future__ import annotations

import base64
import functools
import io
import sys
from collections.abc import Callable
from typing import Any, cast

from drapps import _core
from drapps.accelerate.patches import Patches, is_own
from drapps.accelerate.samples import SAMPLES

_APP0, _APP14, _COMMENT = 0xE0, 0xEE, 0xFE
_CM = 2  # the unit of a density
_INCH_IN_CM = 2.54
_Open = Callable[[Any], None]


def patch(patches: Patches) -> None:
    """Has ``JpegImageFile`` read headers natively, unless a user has replaced how it opens one."""
    module: Any = sys.modules["PIL.JpegImagePlugin"]
    jpeg = module.JpegImageFile
    plain = vars(jpeg).get("_open")
    if is_own(module, plain):
        opener = _opening(plain, module)
        if all(_is_same(jpeg, opener, base64.b64decode(sample)) for sample in SAMPLES):
            patches.put(jpeg, "_open", opener, plain)


def _is_same(jpeg: Any, opener: _Open, data: bytes) -> bool:
    """Whether an image is opened to the same attributes, and its file read as far."""
    images = [
        kind(io.BytesIO(data)) for kind in (jpeg, type(jpeg.__name__, (jpeg,), {"_open": opener}))
    ]
    ends = [image.fp.tell() for image in images]
    held = [[(k, v) for k, v in vars(image).items() if k != "fp"] for image in images]
    return ends[0] == ends[1] and held[0] == held[1]


def _opening(plain: _Open, module: Any) -> _Open:
    handlers = dict(module.MARKER)

    @functools.wraps(plain)
    def _open(self: Any) -> None:
        header = _header(self.fp) if handlers == module.MARKER else None
        if header is None:
            plain(self)
        else:
            _take(self, module.ImageFile._Tile, *header)

    return _open


def _header(file: Any) -> tuple[Any, ...] | None:
    """The header of a file at its beginning, as far as it can be had without reading on."""
    if type(file) is io.BufferedReader:
        begin = file.peek(1) if file.tell() == 0 else b""
    elif type(file) is io.BytesIO:
        begin = file.getvalue() if file.tell() == 0 else b""
    else:
        return None
    return cast("tuple[Any, ...] | None", _core.plain_jpeg_header(begin))


def _take(image: Any, tile: Any, end: int, size: Any, layers: Any, tables: Any, texts: Any) -> None:
    """Has an image hold the header, in the order in which Pillow's own code sets attributes."""
    image.bits, image.layers = 8, len(layers)
    image._exif_offset = 0
    image.layer = layers
    image._huffman_dc = {}
    image._huffman_ac = {}
    image.quantization = tables
    image.app = {}
    image.applist = []
    image.icclist = []
    for marker, body in texts:
        _take_text(image, marker, body)
    image._size = size
    image._mode = mode = "L" if len(layers) == 1 else "RGB"
    image.tile = [tile("jpeg", (0, 0, *size), 0, (mode, ""))]
    image.fp.seek(end)


def _take_text(image: Any, marker: int, body: bytes) -> None:
    """An application segment, of which JFIF and Adobe ones say more, or a comment."""
    info = image.info
    name = "COM" if marker == _COMMENT else f"APP{marker & 15}"
    if marker == _COMMENT:
        info["comment"] = body
    image.app[name] = body
    image.applist.append((name, body))
    if marker == _APP0 and body.startswith(b"JFIF"):
        info["jfif"] = version = _number(body, 5)
        info["jfif_version"] = divmod(version, 256)
        unit, density = body[7], (_number(body, 8), _number(body, 10))
        if unit == 1:
            info["dpi"] = density
        elif unit == _CM:
            info["dpi"] = tuple(each * _INCH_IN_CM for each in density)
        info["jfif_unit"] = unit
        info["jfif_density"] = density
    elif marker == _APP14 and body.startswith(b"Adobe"):
        info["adobe"] = _number(body, 5)
        info["adobe_transform"] = body[11]


def _number(body: bytes, at: int) -> int:
    return body[at] << 8 | body[at + 1]
