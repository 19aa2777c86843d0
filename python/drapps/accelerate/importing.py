"""Has something done when a module is imported."""

from __future__ import annotations

import importlib.abc
import importlib.util
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any


def once_imported(name: str, then: Callable[[], Any]) -> None:
    """Calls `then` now, or as soon as the module `name` is imported."""
    if name in sys.modules:
        then()
    else:
        sys.meta_path.insert(0, _AtImport(name, then))


class _AtImport(importlib.abc.MetaPathFinder):
    """Finds nothing by itself."""

    def __init__(self, name: str, then: Callable[[], Any]) -> None:
        self._name, self._then = name, then

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,  # noqa: ARG002
        target: ModuleType | None = None,  # noqa: ARG002
    ) -> Any:
        """The spec that others find, whose loader calls us."""
        if fullname != self._name or self not in sys.meta_path:
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
        """Creates the module as its own loader does."""
        return self._own.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        """Runs the module as its own loader does, which the module then has."""
        module.__loader__ = self._own
        if module.__spec__ is not None:
            module.__spec__.loader = self._own
        self._own.exec_module(module)
        self._then()
