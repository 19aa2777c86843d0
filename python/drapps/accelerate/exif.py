"""The orientation that a JPEG file asks for, where all readers agree on it."""

from __future__ import annotations

from typing import Literal

JPEG_START = b"\xff\xd8\xff"
_EXIF = b"Exif\0\0"
_TAG, _SHORT = 0x0112, 3
_SIZES = (0, 1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8)  # bytes of a value, by the type of a field
_ORDERS: dict[bytes, Literal["little", "big"]] = {b"II*\0": "little", b"MM\0*": "big"}


def orientation_in(data: bytes, alone: bool = False) -> int | None:
    """The orientation, 1 to 8, and 1 without EXIF data; None where these are in any way unusual.

    `alone`: and where other data have a segment of their kind, which some take for EXIF data.
    """
    segment: bytes | None = None
    at = 2
    while at + 4 <= len(data):
        marker, size = data[at + 1], int.from_bytes(data[at + 2 : at + 4], "big")
        if data[at] != 0xFF or marker < 0xC0 or marker == 0xFF or 0xD0 <= marker <= 0xD9:
            return None
        if marker == 0xDA:  # the scan, behind all that describes it
            return 1 if segment is None else _orientation(segment)
        body = data[at + 4 : at + 2 + size]
        if marker == 0xE1 and (alone or body[:4] == _EXIF[:4]):
            if segment is not None:
                return None
            segment = body
        at += 2 + size
    return None


def _orientation(body: bytes) -> int | None:
    tiff = body[len(_EXIF) :]
    order = _ORDERS.get(tiff[:4])
    if not body.startswith(_EXIF) or order is None:
        return None

    def number(at: int, size: int) -> int:
        return int.from_bytes(tiff[at : at + size], order)

    first = number(4, 4)
    count = number(first, 2)
    if first < 8 or first + 2 + 12 * count > len(tiff):
        return None
    values = []
    for at in range(first + 2, first + 2 + 12 * count, 12):
        kind, length = number(at + 2, 2), number(at + 4, 4)
        size = length * (_SIZES[kind] if 0 < kind < len(_SIZES) else len(tiff) + 1)
        if size > 4 and number(at + 8, 4) + size > len(tiff):
            return None
        if number(at, 2) == _TAG:
            values.append(number(at + 8, 2) if (kind, length) == (_SHORT, 1) else 0)
    value = values[0] if values else 1
    return value if len(values) < 2 and 1 <= value <= 8 else None


def with_orientation(data: bytes, turn: int) -> bytes:
    """The file `data` with the orientation `turn`; it begins with what is no EXIF data."""
    field = b"\x12\x01\x03\0\x01\0\0\0" + bytes((turn, 0, 0, 0))
    body = _EXIF + b"II*\0\x08\0\0\0\x01\0" + field + bytes(4)
    return data[:2] + b"\xff\xe1" + (len(body) + 2).to_bytes(2, "big") + body + data[2:]
