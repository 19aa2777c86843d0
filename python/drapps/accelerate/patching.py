"""Puts our methods in the place of Pillow's, in a worker process, once Pillow is imported."""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Callable
from typing import Any

from drapps.accelerate import methods, normalizing, tensors
from drapps.accelerate.importing import once_imported
from drapps.accelerate.opening import Opening
from drapps.accelerate.patches import Patches, is_own
from drapps.accelerate.proof import pillow13, proof_of
from drapps.accelerate.tally import Counts

_PLUGIN = "PIL.JpegImagePlugin"
_NO_PROPERTY, _OTHERWISE, _REPLACED = 1, 2, 3  # of tally.LEFT_ALONE
_ALL_GO_THROUGH = ("_new", "load", "frombytes", "tobytes")
TENSORS: dict[str, Callable[[Patches], None]] = {
    tensors.FUNCTIONAL: tensors.patch,
    normalizing.FIRST: normalizing.patch_first,
    normalizing.SECOND: normalizing.patch_second,
}
_METHODS: dict[str, Callable[..., methods.Method]] = {
    "copy": methods.copy,
    "convert": methods.convert,
    "crop": methods.crop,
    "resize": methods.resize,
    "tobytes": methods.tobytes,
    "transpose": methods.transpose,
}


def begin(counts: Counts) -> None:
    """In a worker process, before it makes samples: now, or as soon as a library is imported."""
    once_imported(_PLUGIN, functools.partial(_or_leave_alone, patch, counts))
    for name, then in TENSORS.items():
        once_imported(name, functools.partial(_or_leave_alone, then, Patches()))


def _or_leave_alone(then: Callable[[Any], Any], given: Any) -> None:
    """A library that is built otherwise than all that are known stays as it is."""
    with contextlib.suppress(AttributeError, ImportError, LookupError, TypeError, ValueError):
        then(given)


def patch(counts: Counts) -> Patches | None:
    """Has Pillow's images go on with views; None where this Pillow is left alone."""
    image_module, file_module = sys.modules["PIL.Image"], sys.modules["PIL.ImageFile"]
    image: type = image_module.Image
    jpeg: type = sys.modules[_PLUGIN].JpegImageFile
    core_image = vars(image).get("im")
    if not isinstance(core_image, property) or core_image.fget is None:
        counts.leave_alone(_NO_PROPERTY)
        return None
    own = is_own(image_module, image_module.new, core_image.fget, core_image.fset)
    own = own and is_own(image_module, *(vars(image).get(name) for name in _ALL_GO_THROUGH))
    load_file = vars(file_module.ImageFile).get("load")
    if not own or not is_own(file_module, load_file) or "load" in vars(jpeg):
        counts.leave_alone(_REPLACED)
        return None
    left = [name for name in _METHODS if not is_own(image_module, vars(image).get(name))]
    if not proof_of(image_module, jpeg).holds:
        counts.leave_alone(_OTHERWISE)
        return None
    patches, opening = Patches(), Opening(image_module, jpeg, counts)
    for name, make in _METHODS.items():
        if name not in left:  # a function that a user has put there stays
            more = (pillow13(image_module),) if name == "resize" else ()
            patches.put(image, name, make(vars(image).get(name), opening, *more))
    patches.put(image, "load", methods.load(vars(image)["load"]))
    getter = methods.core_image(core_image.fget)
    patches.put(image, "im", property(getter, core_image.fset, core_image.fdel))
    patches.put(jpeg, "load", methods.load_file(load_file, opening))
    return patches
