"""Whether what `datasets` and `transformers` do is still their own."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterable
from typing import Any

from drapps.torch.recognise import NotLifted

_LIBRARIES = ("transformers", "datasets", "tokenizers", "drapps")


def is_exactly(thing: Any, module: str, name: str) -> bool:
    """Whether an object is of that class and of no subclass; the module need not be loaded."""
    kind = type(thing)
    return (kind.__module__, kind.__qualname__) == (module, name) and (
        getattr(sys.modules.get(module), name, None) is kind
    )


def is_library(value: Any) -> bool:
    """Whether a function or class was defined by one of the libraries."""
    value = inspect.unwrap(getattr(value, "__func__", value))
    home = getattr(value, "__globals__", {}).get("__name__") or getattr(value, "__module__", "")
    return str(home).partition(".")[0] in _LIBRARIES


def require_library(thing: Any, methods: Iterable[str]) -> None:
    """Makes sure that an object does what the class of a library says.

    Raises:
        NotLifted: its class is somebody else's, or a method was replaced.
    """
    kind = type(thing)
    if not is_library(kind):
        raise NotLifted(f"{kind.__module__}.{kind.__qualname__} is no class of the library's")
    for name in methods:
        if name in vars(thing) or not is_library(getattr(kind, name)):
            raise NotLifted(f"{kind.__qualname__}.{name} was replaced")


def require_plain(thing: Any, fields: Iterable[str]) -> None:
    """Makes sure that an object has no other attributes than these.

    Raises:
        NotLifted: it has.
    """
    others = sorted(vars(thing).keys() - set(fields))
    if others:
        raise NotLifted(f"{type(thing).__qualname__} has {others[0]} of its own")
