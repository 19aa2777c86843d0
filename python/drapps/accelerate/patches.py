"""What stands in the place of what."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any

_NOTHING = object()


class Patches:
    """Keeps what was there, until it is put back; in a worker process, which only ends, never."""

    def __init__(self, gate: Callable[[Any, Any], Any] | None = None) -> None:
        """`gate` makes of a function, and of the plain one, that which stands there."""
        self._gate = gate
        self._before: list[tuple[Any, Any, Any, Any]] = []

    def put(self, owner: Any, name: Any, made: Any, plain: Any = None) -> None:
        """Sets an attribute of a class or a module, or what a dictionary has under a key.

        Args:
            owner: the class, module or dictionary.
            name: of the attribute, or the key.
            made: what stands there from now on.
            plain: the function that it takes the place of; without one it is no function.
        """
        if plain is not None and self._gate is not None:
            made = self._gate(made, plain)
        self._before.append((owner, name, self._held(owner).get(name, _NOTHING), made))
        self._set(owner, name, made)

    @staticmethod
    def _held(owner: Any) -> Any:
        return owner if isinstance(owner, dict) else vars(owner)

    @staticmethod
    def _set(owner: Any, name: Any, value: Any) -> None:
        if isinstance(owner, dict):
            owner[name] = value
        else:
            setattr(owner, name, value)

    def undo(self) -> None:
        """All is as it was, but for what a user has put there since."""
        for owner, name, value, made in reversed(self._before):
            if self._held(owner).get(name) is not made:
                continue
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
