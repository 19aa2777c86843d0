"""Where images of Pillow 10.4 hold their pixels: in an attribute, which 11.0 made a property."""

from __future__ import annotations

from typing import Any

from drapps.accelerate.late import LatePixels
from drapps.accelerate.patches import Patches

_NAME = "im"


def is_attribute(image_module: Any) -> bool:
    """Whether this is Pillow 10.4; what older versions do otherwise nobody has looked at."""
    return str(image_module.__version__).split(".")[:2] == ["10", "4"]


def put(patches: Patches, image: type) -> None:
    """Makes ``im`` a property that makes late pixels, and ``_im`` another one that does not.

    Both are of what the image has among its attributes, as without them.
    """
    patches.put(image, "_im", property(_held, _hold))
    patches.put(image, _NAME, property(_core_image, _hold, _drop))


def _held(self: Any) -> Any:
    try:
        return self.__dict__[_NAME]
    except KeyError:
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {_NAME!r}") from None


def _core_image(self: Any) -> Any:
    held = _held(self)
    if type(held) is LatePixels:
        held = self.__dict__[_NAME] = held.core_image()
    return held


def _hold(self: Any, value: Any) -> None:
    self.__dict__[_NAME] = value


def _drop(self: Any) -> None:
    _held(self)
    del self.__dict__[_NAME]
