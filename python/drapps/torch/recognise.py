"""Recognising objects of other packages without importing these.

An object counts as known only if it is exactly of the class that has the known qualified name, and
nothing of its behaviour was replaced: a subclass, a patched method or a hook may do anything.
"""

from __future__ import annotations

import sys
from types import FunctionType
from typing import Any

from drapps.attributes import attribute_of, attributes_of
from drapps.torch.own import WALK, is_own


class NotLifted(Exception):  # noqa: N818 - a verdict, not an error
    """Why something stays with the stock loader: a sentence that can follow "because"."""


def name_of(thing: object) -> str:
    """``package.module.Class`` of an object, or ``package.module.function`` of a function."""
    named = callable(thing) and isinstance(attribute_of(thing, "__qualname__"), str)
    kind: Any = thing if named else type(thing)
    return f"{attribute_of(kind, '__module__')}.{kind.__qualname__}"


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
    for name, value in vars(thing).items():
        if callable(value) and (name in methods or callable(getattr(kind, name, None))):
            raise NotLifted(f"{short_name(thing)}.{name} was replaced")
    functions = {method: getattr(kind, method) for method in methods if hasattr(kind, method)}
    for method, function in functions.items():
        if not is_own(function):
            raise NotLifted(f"{short_name(thing)}.{method} was replaced")
    require_own(*functions.values(), owner=kind)
    for hooks in ("_forward_hooks", "_forward_pre_hooks"):
        if attribute_of(thing, hooks):
            raise NotLifted(f"{short_name(thing)} has hooks")
    if attribute_of(thing, "_forward_hooks") is not None:
        module = sys.modules["torch.nn.modules.module"]
        if module._global_forward_hooks or module._global_forward_pre_hooks:
            raise NotLifted("all modules have hooks")


def require_own(*roots: Any, owner: type | None = None) -> None:
    """Makes sure that functions and classes, and whatever they call, are the libraries' own.

    Args:
        roots: the functions and classes.
        owner: the class whose methods they are.

    Raises:
        NotLifted: a function of somebody else's is called, which the sentence names.
    """
    replaced = WALK.replaced(roots, owner)
    if replaced is not None:
        raise NotLifted(f"{replaced} was replaced")


class _Handing:
    """Methods that hand all their arguments on; only their code counts."""

    inner: Any

    def one(self, first: Any) -> Any:
        """Hands one argument on."""
        return self.inner(first)

    def two(self, first: Any, second: Any) -> Any:
        """Hands two arguments on."""
        return self.inner(first, second)


def handed_on(thing: object, arguments: int) -> object | None:
    """What an object of a user's class calls with just its own arguments; None if it does more.

    Its ``__call__`` must be compiled to what ``return self.inner(first)`` is compiled to, whatever
    the names, and the name must lead to an attribute of the object alone.

    Args:
        thing: the object, with any methods beside ``__call__``.
        arguments: how many it is called with, 1 or 2.
    """
    kind = type(thing)
    call = next((vars(base)["__call__"] for base in kind.__mro__ if "__call__" in vars(base)), None)
    model = (_Handing.one, _Handing.two)[arguments - 1]
    if not isinstance(call, FunctionType) or kind.__getattribute__ is not object.__getattribute__:
        return None
    code, expected = call.__code__, model.__code__
    if code.co_code != expected.co_code or code.co_argcount != expected.co_argcount:
        return None
    name = code.co_names[0]
    if any(name in vars(base) for base in kind.__mro__):
        return None
    inner = attributes_of(thing).get(name)
    # A function is never known: the name of what holds it, such as Lambda, says more.
    return None if isinstance(inner, FunctionType) else inner


def number(value: Any) -> float:
    """A number, also from a tensor or an array of one element."""
    return float(value.item() if hasattr(value, "item") else value)


def numbers(values: Any) -> list[float]:
    """Numbers from a sequence, a tensor or an array of any shape, or one number."""
    if hasattr(values, "flatten"):
        values = values.flatten().tolist()
    return [number(v) for v in values] if hasattr(values, "__iter__") else [number(values)]
