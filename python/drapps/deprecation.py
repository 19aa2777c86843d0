"""Old names of public things: they work until 0.2, and say what is used in their place."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any


def warn(old: str, new: str, stacklevel: int = 3) -> None:
    """Warns of an old name.

    Args:
        old: the name that was used.
        new: the name to use.
        stacklevel: of the line to point at: 3 is where the caller was called.
    """
    text = f"{old} is deprecated and will be removed in drapps 0.2: use {new}"
    warnings.warn(text, DeprecationWarning, stacklevel=stacklevel)


def old_method(old: str, new: str) -> Callable[..., Any]:
    """The method `new` under its old name."""

    def method(self: Any, *arguments: Any, **keywords: Any) -> Any:
        warn(f"{old}()", f"{new}()")
        return getattr(self, new)(*arguments, **keywords)

    method.__name__ = old
    method.__doc__ = f"Deprecated: use `{new}`."
    return method


def old_keyword(old: str, given: Any, new: str, value: Any) -> Any:
    """What a keyword argument `new` is where its old name may have been used.

    Raises:
        TypeError: both were.
    """
    if given is None:
        return value
    if value is not None:
        raise TypeError(f"{new}= was given, and also {old}=, its old name")
    warn(f"{old}=", f"{new}=", stacklevel=4)
    return given
