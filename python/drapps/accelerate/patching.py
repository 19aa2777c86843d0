"""Puts our methods in the place of Pillow's, in a worker process, once Pillow is imported."""

from __future__ import annotations

import functools
import importlib.abc
import importlib.util
import sys
from collections.abc import Callable, Sequence
from types import FunctionType, ModuleType
from typing import Any

from drapps.accelerate import methods
from drapps.accelerate.opening import Opening
from drapps.accelerate.proof import pillow13, proof_of
from drapps.accelerate.tally import Counts

_PLUGIN = "PIL.JpegImagePlugin"
_NO_PROPERTY, _OTHERWISE, _REPLACED = 1, 2, 3  # of tally.LEFT_ALONE
_NOTHING = object()
_ALL_GO_THROUGH = ("_new", "load", "frombytes", "tobytes")
_METHODS: dict[str, Callable[..., methods.Method]] = {
    "copy": methods.copy,
    "convert": methods.convert,
    "crop": methods.crop,
    "resize": methods.resize,
    "tobytes": methods.tobytes,
    "transpose": methods.transpose,
}


def begin(counts: Counts) -> None:
    """In a worker process, before it makes samples: now, or as soon as Pillow is imported."""
    if _PLUGIN in sys.modules:
        patch(counts)
    else:
        sys.meta_path.insert(0, _AtImport(functools.partial(patch, counts)))


class Patches:
    """What stands in the place of what; `undo` is for tests, since a worker process only ends."""

    def __init__(self) -> None:
        self._before: list[tuple[type, str, Any]] = []

    def put(self, owner: type, name: str, value: Any) -> None:
        """Sets an attribute of a class."""
        self._before.append((owner, name, vars(owner).get(name, _NOTHING)))
        setattr(owner, name, value)

    def undo(self) -> None:
        """All is as it was."""
        for owner, name, value in reversed(self._before):
            if value is _NOTHING:
                delattr(owner, name)
            else:
                setattr(owner, name, value)
        self._before.clear()


def patch(counts: Counts) -> Patches | None:
    """Has Pillow's images go on with views; None where this Pillow is left alone."""
    image_module, file_module = sys.modules["PIL.Image"], sys.modules["PIL.ImageFile"]
    image: type = image_module.Image
    jpeg: type = sys.modules[_PLUGIN].JpegImageFile
    core_image = vars(image).get("im")
    if not isinstance(core_image, property) or core_image.fget is None:
        counts.leave_alone(_NO_PROPERTY)
        return None
    own = _is_own(image_module, image_module.new, core_image.fget, core_image.fset)
    own = own and _is_own(image_module, *(vars(image).get(name) for name in _ALL_GO_THROUGH))
    load_file = vars(file_module.ImageFile)["load"]
    if not own or not _is_own(file_module, load_file) or "load" in vars(jpeg):
        counts.leave_alone(_REPLACED)
        return None
    left = [name for name in _METHODS if not _is_own(image_module, vars(image)[name])]
    if not proof_of(image_module, jpeg).holds:
        counts.leave_alone(_OTHERWISE)
        return None
    patches, opening = Patches(), Opening(image_module, jpeg, counts)
    for name, make in _METHODS.items():
        if name not in left:  # a function that a user has put there stays
            more = (pillow13(image_module),) if name == "resize" else ()
            patches.put(image, name, make(vars(image)[name], opening, *more))
    patches.put(image, "load", methods.load(vars(image)["load"]))
    getter = methods.core_image(core_image.fget)
    patches.put(image, "im", property(getter, core_image.fset, core_image.fdel))
    patches.put(jpeg, "load", methods.load_file(load_file, opening))
    return patches


def _is_own(module: ModuleType, *functions: Any) -> bool:
    """Whether these are functions of the module, and wrap no other."""
    return all(
        isinstance(each, FunctionType)
        and each.__globals__ is vars(module)
        and not hasattr(each, "__wrapped__")
        for each in functions
    )


class _AtImport(importlib.abc.MetaPathFinder):
    """Finds nothing, but has something done when Pillow's plugin is imported."""

    def __init__(self, then: Callable[[], Any]) -> None:
        self._then = then

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,  # noqa: ARG002
        target: ModuleType | None = None,  # noqa: ARG002
    ) -> Any:
        """The spec that others find, whose loader calls us."""
        if fullname != _PLUGIN or self not in sys.meta_path:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, self._then)
        return spec


class _Loader(importlib.abc.Loader):
    """Loads a module as its own loader does, and does something then."""

    def __init__(self, own: Any, then: Callable[[], Any]) -> None:
        self._own, self._then = own, then

    def create_module(self, spec: Any) -> Any:
        """As its own loader."""
        return self._own.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        """As its own loader, which the module then has."""
        module.__loader__ = self._own
        if module.__spec__ is not None:
            module.__spec__.loader = self._own
        self._own.exec_module(module)
        self._then()
