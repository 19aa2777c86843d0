"""Puts our functions in the place of Pillow's, torchvision's and OpenCV's."""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Callable, Iterable
from typing import Any

from drapps.accelerate import (
    composing,
    cropping,
    headers,
    held,
    methods,
    normalizing,
    opencv,
    resized_crop,
    resizing,
    scaling,
    stacking,
    tensors,
    torchvision_io,
)
from drapps.accelerate.importing import once_imported
from drapps.accelerate.opening import Opening
from drapps.accelerate.patches import Patches, is_own
from drapps.accelerate.proof import proof_of
from drapps.accelerate.tally import Counts

_PLUGIN = "PIL.JpegImagePlugin"
_NO_PROPERTY, _OTHERWISE, _REPLACED = 1, 2, 3  # of tally.LEFT_ALONE
_ALL_GO_THROUGH = ("_new", "load", "frombytes", "tobytes")
# In this order: each may look at what is there already.
TENSORS: dict[str, tuple[Callable[[Patches], None], ...]] = {
    tensors.FUNCTIONAL: (tensors.patch, resized_crop.patch_first),
    tensors.SECOND: (tensors.patch_second,),
    normalizing.FIRST: (normalizing.patch_first,),
    normalizing.SECOND: (normalizing.patch_second, scaling.patch),
    resizing.MODULE: (resizing.patch, resized_crop.patch_second),
    cropping.FIRST: (cropping.patch_first, composing.patch_first),
    cropping.SECOND: (cropping.patch_second, composing.patch_second),
}
_IN_WORKERS: dict[str, tuple[Callable[[Patches], None], ...]] = {stacking.MODULE: (stacking.patch,)}
DECODERS: dict[str, Callable[[Counts, Patches], None]] = {
    torchvision_io.MODULE: torchvision_io.patch,
    opencv.MODULE: opencv.patch,
}
_MODULES = (_PLUGIN, *TENSORS, *DECODERS)
_METHODS: dict[str, Callable[..., methods.Method]] = {
    "copy": methods.copy,
    "convert": methods.convert,
    "crop": methods.crop,
    "reduce": methods.reduce,
    "resize": methods.resize,
    "tobytes": methods.tobytes,
    "transpose": methods.transpose,
}


def begin(counts: Counts) -> None:
    """Patches a worker process before it makes samples: now, or once a library is imported."""
    for name in (*_MODULES, *_IN_WORKERS):
        once_imported(name, functools.partial(put_in_place, name, counts, Patches()))


def imported() -> list[str]:
    """The modules to patch that are imported by now, in the order in which they are patched."""
    if "PIL.Image" in sys.modules and _PLUGIN not in sys.modules:
        sys.modules["PIL.Image"].preinit()  # as it does when a file is opened
    return [name for name in _MODULES if name in sys.modules]


def put_in_place(
    name: str, counts: Counts, patches: Patches, note: Callable[..., None] | None = None
) -> None:
    """Patches the module `name`; one that is built otherwise than all known stays as it is."""
    takers: Iterable[Callable[[Patches], Any]] = {**TENSORS, **_IN_WORKERS}.get(name, ())
    if name == _PLUGIN:
        takers = (lambda into: patch(counts, into, note), headers.patch)
    elif name in DECODERS:
        takers = (functools.partial(DECODERS[name], counts),)
    for then in takers:
        with contextlib.suppress(AttributeError, ImportError, LookupError, TypeError, ValueError):
            then(patches)


def patch(counts: Counts, patches: Patches, note: Callable[..., None] | None = None) -> bool:
    """Has Pillow's images go on with views; False where this Pillow is left alone.

    Args:
        counts: what becomes of pictures.
        patches: by which all is put there.
        note: is told of all pixels that are late, and of which image.
    """
    image_module, file_module = sys.modules["PIL.Image"], sys.modules["PIL.ImageFile"]
    image: type = image_module.Image
    jpeg: type = sys.modules[_PLUGIN].JpegImageFile
    core_image: Any = vars(image).get("im")
    attribute = core_image is None and held.is_attribute(image_module)
    if not attribute and (not isinstance(core_image, property) or core_image.fget is None):
        counts.leave_alone(_NO_PROPERTY)
        return False
    ways = () if attribute else (core_image.fget, core_image.fset)
    own = is_own(image_module, image_module.new, *ways)
    own = own and is_own(image_module, *(vars(image).get(name) for name in _ALL_GO_THROUGH))
    load_file = vars(file_module.ImageFile).get("load")
    if not own or not is_own(file_module, load_file) or "load" in vars(jpeg):
        counts.leave_alone(_REPLACED)
        return False
    left = [name for name in _METHODS if not is_own(image_module, vars(image).get(name))]
    if not proof_of(image_module, jpeg).holds:
        counts.leave_alone(_OTHERWISE)
        return False
    opening = Opening(image_module, jpeg, counts, note)
    if attribute:
        held.put(patches, image)
    else:
        getter = methods.core_image(core_image.fget)
        patches.put(image, "im", property(getter, core_image.fset, core_image.fdel))
    for name, make in _METHODS.items():
        if name not in left:  # a function that a user has put there stays
            plain = vars(image).get(name)
            patches.put(image, name, make(plain, opening), plain)
    plain = vars(image)["load"]
    patches.put(image, "load", methods.load(plain), plain)
    patches.put(jpeg, "load", methods.load_file(load_file, opening), load_file)
    return True
