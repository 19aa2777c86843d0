"""Attributes of a user's object, read so that nothing of it is raised.

A property may need a process group, ``__getattr__`` may raise KeyError, or call itself without end.
Who only looks whether something is there takes what cannot be read as not there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

_UNSET = object()


def attribute_of(thing: Any, name: str, default: Any = None) -> Any:
    """The attribute of `thing`; `default` where there is none, or where reading it raises."""
    try:
        return getattr(thing, name, default)
    except Exception:
        return default


def attributes_of(thing: Any) -> dict[str, Any]:
    """The ``__dict__`` of `thing` itself, not a copy; an empty one where it has none."""
    own = attribute_of(thing, "__dict__")
    return own if isinstance(own, dict) else {}


def slots_of(thing: Any) -> Iterator[tuple[str, Any]]:
    """The attributes of `thing` that its classes have slots for, by name; those that are set."""
    for kind in type(thing).__mro__:
        slots = vars(kind).get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            private = name.startswith("__") and not name.endswith("__")
            full = f"_{kind.__name__.lstrip('_')}{name}" if private else name
            value = attribute_of(thing, full, _UNSET)
            if value is not _UNSET and name not in ("__dict__", "__weakref__"):
                yield full, value


def method_of(thing: Any, name: str) -> Any:
    """The method of `thing`; None where there is none, or nothing that can be called."""
    method = attribute_of(thing, name)
    return method if callable(method) else None


def has_method(thing: Any, name: str) -> bool:
    """Whether `thing` has such a method."""
    return method_of(thing, name) is not None


def length_of(thing: Any) -> int | None:
    """How many elements `thing` says it has; None where it does not say."""
    try:
        return len(thing)
    except Exception:
        return None
