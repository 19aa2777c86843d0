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
    """Makes sure that an object has these attributes, and no others.

    Raises:
        NotLifted: it has others, or lacks one, as in other versions of its library.
    """
    name = type(thing).__qualname__
    for lacking in sorted(set(fields) - vars(thing).keys()):
        raise NotLifted(f"{name} has no {lacking} in the installed version")
    for other in sorted(vars(thing).keys() - set(fields)):
        raise NotLifted(f"{name} has {other} of its own")
