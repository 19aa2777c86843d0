"""Whether the Pillow that is installed makes of files the same as the core."""

from __future__ import annotations

import base64
import io
from typing import Any

from drapps import _core
from drapps.accelerate.samples import SAMPLES
from drapps.accelerate.views import View

_BOX = (5, 3, 42, 33)
_INNER = (3.25, 2, 30, 27.5)  # within _BOX
_SIZES = ((24, 19), (61, 44), (30, 9))
_EQUAL = (6, 2, 30, 21)  # within _BOX, of the first of the sizes
_FILTERS = {2: False, 3: True}  # BILINEAR and BICUBIC: which of them is bicubic


class Proof:
    """What was found out of one Pillow.

    Attributes:
        installed: which it is: its version, and where its compiled part lies.
        holds: it makes the same as the core.
    """

    def __init__(self, installed: tuple[str, str], holds: bool) -> None:
        self.installed, self.holds = installed, holds


_known: Proof | None = None  # in a forked process that of its parent


def proof_of(image_module: Any, jpeg: Any) -> Proof:
    """Decodes and resizes some pictures both ways, once for all processes that are forked later.

    Args:
        image_module: ``PIL.Image``, whose ``_new`` and ``tobytes`` are its own.
        jpeg: ``PIL.JpegImagePlugin.JpegImageFile``.
    """
    global _known
    installed = installed_pillow(image_module)
    if _known is None or _known.installed != installed:
        try:
            holds = all(_same(image_module, jpeg, sample) for sample in SAMPLES)
        except Exception:  # of a Pillow that is another altogether, or a limit of the user's
            holds = False
        _known = Proof(installed, holds)
    return _known


def adopt(proof: Proof | None) -> None:
    """Takes over what another process has found out."""
    global _known
    if proof is not None:
        _known = proof


def installed_pillow(image_module: Any) -> tuple[str, str]:
    """The version of the installed Pillow, and where its compiled part lies."""
    return str(image_module.__version__), str(getattr(image_module.core, "__file__", ""))


def pillow13(image_module: Any) -> bool:
    """Whether resizes follow the pass order of Pillow 13."""
    return int(str(image_module.__version__).partition(".")[0]) >= 13


def _same(image_module: Any, jpeg: Any, sample: str) -> bool:
    data = base64.b64decode(sample)
    pixels = _core.Pixels.judged(data)
    if pixels is None:
        return False
    image: Any = jpeg(io.BytesIO(data))
    image.load()
    view, core, order = View.of_file(pixels), image.im, pillow13(image_module)
    part, crop = view.cropped(*_BOX), core.crop(_BOX)
    pairs: list[tuple[View, Any]] = [(view, core), (part, crop)]
    pairs += [(view.converted(mode), core.convert(mode, 0)) for mode in ("L", "RGB")]
    pairs += [(view.transposed(method), core.transpose(method)) for method in range(7)]
    pairs += [
        (part.resized(*size, bicubic, order), crop.resize(size, number, (0, 0, *crop.size)))
        for size in _SIZES
        for number, bicubic in _FILTERS.items()
    ]
    pairs += [
        (part.resized(*size, bicubic, order, _INNER), crop.resize(size, number, _INNER))
        for size in _SIZES
        for number, bicubic in _FILTERS.items()
    ]
    pairs += [(part.resized(*_SIZES[0], True, order, _EQUAL), crop.resize(_SIZES[0], 3, _EQUAL))]
    return all(_is(mine, image._new(theirs)) for mine, theirs in pairs)


def _is(view: View, image: Any) -> bool:
    """Whether a view is an image, to the last byte that Pillow holds."""
    pixels, raw = view.for_pillow()
    return (view.mode, view.size, pixels) == (image.mode, image.size, image.tobytes("raw", raw))
