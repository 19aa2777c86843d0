"""What stands in the place of what."""

from __future__ import annotations

from types import FunctionType, ModuleType
from typing import Any

_NOTHING = object()


class Patches:
    """Keeps what was there; `undo` is for tests, since a worker process only ends."""

    def __init__(self) -> None:
        self._before: list[tuple[Any, str, Any]] = []

    def put(self, owner: Any, name: str, value: Any) -> None:
        """Sets an attribute of a class or a module."""
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


def is_own(module: ModuleType, *functions: Any) -> bool:
    """Whether these are functions of the module, and wrap no other."""
    return all(
        isinstance(each, FunctionType)
        and each.__globals__ is vars(module)
        and not hasattr(each, "__wrapped__")
        for each in functions
    )
