"""What stands in the place of what."""

from __future__ import annotations

from types import FunctionType, ModuleType
from typing import Any

_NOTHING = object()


class Patches:
    """Keeps what was there; `undo` is for tests, since a worker process only ends."""

    def __init__(self) -> None:
        self._before: list[tuple[Any, Any, Any]] = []

    def put(self, owner: Any, name: Any, value: Any) -> None:
        """Sets an attribute of a class or a module, or what a dictionary has under a key."""
        held = owner if isinstance(owner, dict) else vars(owner)
        self._before.append((owner, name, held.get(name, _NOTHING)))
        self._set(owner, name, value)

    @staticmethod
    def _set(owner: Any, name: Any, value: Any) -> None:
        if isinstance(owner, dict):
            owner[name] = value
        else:
            setattr(owner, name, value)

    def undo(self) -> None:
        """All is as it was."""
        for owner, name, value in reversed(self._before):
            if value is _NOTHING:
                delattr(owner, name)
            else:
                self._set(owner, name, value)
        self._before.clear()


def is_own(module: ModuleType, *functions: Any) -> bool:
    """Whether these are functions of the module, and wrap no other."""
    return all(
        isinstance(each, FunctionType)
        and each.__globals__ is vars(module)
        and not hasattr(each, "__wrapped__")
        for each in functions
    )
