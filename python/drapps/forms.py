"""Pictures in the forms that decode faster than the files they come from."""

from __future__ import annotations

from drapps.arguments import file_bytes
from drapps.errors import SampleError


def transcode(jpeg: bytes) -> bytes:
    """The coefficient form of a JPEG: the same pixels much faster, in twice the bytes.

    The Huffman codes are undone once, so that a crop costs only its own pixels. Every source takes
    the form for a picture like any other; give its files the extension ``.djc``, and
    ``drapps.image_folder`` finds them. Orientation is kept, other metadata is not.

    Args:
        jpeg: a whole file.

    Returns:
        A whole file in the coefficient form. Damage to it never goes unnoticed: reading it then
        raises a ``SampleError`` of code ``corrupt`` or ``truncated``, whatever the region.

    Raises:
        SampleError: of code ``unsupported`` for a JPEG that has no such form (progressive, CMYK,
            damaged, ...) and for other files: keep those as they are. Otherwise what opening the
            file would raise: ``truncated``, ``corrupt`` or ``too large``.
    """
    from drapps import _core

    try:
        form: bytes = _core.transcode(file_bytes("jpeg", jpeg))
    except _core.SampleError as error:
        raise SampleError(*error.args) from None
    return form
