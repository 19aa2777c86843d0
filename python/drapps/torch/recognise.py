"""Recognising objects of other packages without importing these.

An object counts as known only if it is exactly of the class that has the known qualified name, and
nothing of its behaviour was replaced: a subclass, a patched method or a hook may do anything.
"""

from __future__ import annotations

from typing import Any


class NotLifted(Exception):  # noqa: N818 - a verdict, not an error
    """Why something stays with the stock loader: a sentence that can follow "because"."""


def name_of(thing: object) -> str:
    """``package.module.Class`` of an object, or ``package.module.function`` of a function."""
    kind = thing if callable(thing) and hasattr(thing, "__qualname__") else type(thing)
    return f"{kind.__module__}.{getattr(kind, '__qualname__', type(kind).__name__)}"


def short_name(thing: object) -> str:
    """How a report calls an object: the name of its class alone."""
    return type(thing).__qualname__


def require_pristine(thing: object, methods: tuple[str, ...]) -> None:
    """Makes sure that an object does what its class says, and its class what its module says.

    Args:
        thing: the object.
        methods: those that decide what it does.

    Raises:
        NotLifted: a method was replaced on the object or the class, or a hook was registered.
    """
    kind = type(thing)
    package = kind.__module__.partition(".")[0]
    for method in methods:
        function = getattr(kind, method, None)
        home: str = getattr(function, "__module__", None) or package
        if method in vars(thing) or home.partition(".")[0] not in (package, "torch", "torchvision"):
            raise NotLifted(f"{short_name(thing)}.{method} was replaced")
    for hooks in ("_forward_hooks", "_forward_pre_hooks"):
        if getattr(thing, hooks, None):
            raise NotLifted(f"{short_name(thing)} has hooks")


def number(value: Any) -> float:
    """A number, also from a tensor or an array of one element."""
    return float(value.item() if hasattr(value, "item") else value)


def numbers(values: Any) -> list[float]:
    """Numbers from a sequence, a tensor or an array of any shape, or one number."""
    if hasattr(values, "flatten"):
        values = values.flatten().tolist()
    return [number(v) for v in values] if hasattr(values, "__iter__") else [number(values)]
