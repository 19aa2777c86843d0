"""What makes the items of a dataset, as facts that processes can compare."""

from __future__ import annotations

import builtins
import functools
import hashlib
import sys
from collections.abc import Iterator
from types import CodeType, FunctionType
from typing import Any

from drapps.item_cache.code import is_users
from drapps.item_cache.findings import ABSENT
from drapps.item_cache.reach import Reached

BYTES = 32
_FACT = 16  # bytes
_AROUND: tuple[tuple[Any, str], ...] = (
    ((staticmethod, classmethod), "__func__"),
    (property, "fget"),
    ((functools.partial, functools.partialmethod, functools.cached_property), "func"),
    (type(functools.lru_cache(len)), "__wrapped__"),
)


def code_of(dataset: Any, reached: Reached | None = None) -> bytes:
    """A record of the user's code that `dataset` reaches, and of its libraries' versions.

    It is made of facts, which are the same in every process that has the same code, however that
    came to be imported. A process may know fewer: what a script binds under its `__main__` guard is
    bound in one process alone.
    """
    reached = reached or Reached(dataset)
    facts = {_fact("kind", type(dataset).__qualname__), _fact("python", sys.version)}
    facts |= {_fact("library", name, _version(name)) for name in reached.packages}
    facts |= {_fact("code", _name_of(function)) for function in reached.functions}
    for owner, name, value in reached.bindings:
        if isinstance(owner, type):
            members = sorted(name for name, one in vars(owner).items() if _name_of(one))
            facts.add(_fact("class", owner.__qualname__, *members))
        if bound := _name_of(value):
            facts.add(_fact("name", _name_of(owner), name, bound))
        elif value is ABSENT and hasattr(builtins, name):
            facts.add(_fact("builtin", _name_of(owner), name))
    return b"".join(sorted(facts))


def same_code(here: bytes, there: bytes) -> bool:
    """Whether all that a process knows `here` is the same where the cache was made."""
    return set(_facts(here)) <= set(_facts(there))


def _facts(code: bytes) -> Iterator[bytes]:
    return (code[at : at + _FACT] for at in range(0, len(code), _FACT))


def _fact(*parts: str) -> bytes:
    return digest(*(part.encode("utf-8", "surrogatepass") for part in parts))[:_FACT]


def _name_of(value: Any) -> str:
    """What a function or a class of the user is, in a word; empty of anything else."""
    for kinds, name in _AROUND:
        if isinstance(value, kinds):
            value = getattr(value, name)
    if isinstance(value, type):
        return f"class {value.__qualname__}" if is_users(value.__module__) else ""
    if not isinstance(value, FunctionType) or not is_users(value.__module__):
        return ""
    return f"{value.__qualname__} {digest(*_parts(value.__code__)).hex()}"


def _version(package: str) -> str:
    return str(getattr(sys.modules.get(package), "__version__", ""))


def _parts(code: CodeType) -> Iterator[bytes]:
    """What decides on what code does; neither where it stands nor how it has been specialised."""
    yield code.co_code
    yield repr((code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)).encode()
    yield repr((code.co_argcount, code.co_kwonlyargcount, code.co_flags)).encode()
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield digest(*_parts(constant))
        else:
            yield _constant(constant).encode("utf-8", "surrogatepass")


def _constant(value: Any) -> str:
    if isinstance(value, tuple):
        return f"({','.join(map(_constant, value))})"
    if isinstance(value, frozenset):  # in an order that each process has of its own
        return f"{{{','.join(sorted(map(_constant, value)))}}}"
    return f"{type(value).__name__} {value!r}"


def digest(*parts: bytes) -> bytes:
    """A digest of parts that are told apart."""
    hasher = hashlib.blake2b(digest_size=BYTES)
    for part in parts:
        hasher.update(len(part).to_bytes(8, "little"))
        hasher.update(part)
    return hasher.digest()
