"""Pictures of Pillow in blocks."""

from __future__ import annotations

import sys
from typing import Any

from drapps.item_cache.blocks import DamagedBlockError, NotKept, Reader, ReadOne, WriteOne, Writer

# Attributes of a picture that are written by themselves, or that no user of a picture sees.
_OWN = {"_im", "im", "_mode", "mode", "_size", "size", "palette", "info"}
_OWN |= {"_readonly", "readonly", "_exif", "pyaccess", "encoderinfo", "encoderconfig"}
_PALETTES = ("RGB", "RGBA")
_OFFSETS = (0x8769, 0x8825, 0xA005)  # tags that only say where others stand


def _write_picture(writer: Writer, value: Any) -> None:
    if writer.again(value):
        return
    unknown = vars(value).keys() - _OWN
    if unknown:
        raise NotKept(f"it holds a picture with the attribute {min(unknown)}")
    value.load()
    if 0 in value.size:
        raise NotKept("it holds a picture without pixels")
    palette = value.palette
    if palette is not None and palette.mode not in _PALETTES:
        raise NotKept(f"it holds a picture with a palette of mode {palette.mode}")
    if not _exif_is_in_info(value):
        raise NotKept("it holds a picture whose EXIF data were edited")
    pixels = value.tobytes()
    if getattr(value, "readonly", 0):  # another object's memory, which may be an array's
        writer.memory.add_picture(pixels)
    writer.tag(b"p")
    writer.text(value.mode)
    writer.size(value.width)
    writer.size(value.height)
    writer.data(pixels)
    writer.value(None if palette is None else palette.mode)
    if palette is not None:
        writer.value(bytes(value.im.getpalette(palette.mode, palette.mode)))
    writer.value(value.info)
    writer.written(value)


def _exif_is_in_info(value: Any) -> bool:
    """Whether the EXIF data that the user has asked for are what `info` says, as they are read."""
    exif = getattr(value, "_exif", None)
    if exif is None:
        return True
    fresh = type(value)()
    fresh.info = value.info
    try:
        return _plain_tags(exif) == _plain_tags(fresh.getexif()) and (
            exif.tobytes() == fresh.getexif().tobytes()
        )
    except Exception:  # of data that cannot be read, or written
        return False


def _plain_tags(exif: Any) -> dict[int, Any]:
    return {tag: value for tag, value in exif.items() if tag not in _OFFSETS}


def _read_picture(reader: Reader) -> Any:
    from PIL import Image

    mode, size = reader.text(), (reader.size(), reader.size())
    data = reader.data()
    if not 0 < size[0] * size[1] <= 8 * data.nbytes:  # Pillow takes memory before it looks
        raise DamagedBlockError("a picture is not as large as it says")
    picture = Image.frombytes(mode, size, data)
    palette = reader.value()
    if palette is not None:
        picture.putpalette(reader.value(), palette)
    picture.info = reader.value()
    return reader.register(picture)


def writer_of(kind: type) -> WriteOne | None:
    """How pictures are written; None where the class is another."""
    image = sys.modules.get("PIL.Image")
    return _write_picture if image is not None and kind is image.Image else None


READERS: dict[bytes, ReadOne] = {b"p": _read_picture}
