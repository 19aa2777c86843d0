"""What is known of a user's code without running it."""

from __future__ import annotations

import contextlib
import dis
import functools
import importlib.util
import sys
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

from drapps.libraries import Known, named
from drapps.user_code import codes_in

_LIBRARIES = sys.stdlib_module_names | named(Known.CLOSED) | {"drapps"}
_GLOBALS = ("_GLOBAL", "_NAME", "_FROM_DICT_OR_GLOBALS")  # ends of names of instructions


def is_users(module: str | None) -> bool:
    """Whether a module is the user's own: not Python's, none that was installed, and not ours.

    A library that is known is none, wherever it lies.
    """
    if module in ("__main__", "__mp_main__"):  # in a worker it may be another file
        return True
    if top_of(module) in _LIBRARIES:
        return False
    return _is_users_file(getattr(sys.modules.get(module or ""), "__file__", None))


@functools.lru_cache(maxsize=4096)
def _is_users_file(file: str | None) -> bool:
    return file is None or {"site-packages", "dist-packages"}.isdisjoint(Path(file).parts)


def top_of(module: str | None) -> str:
    """The package of a module."""
    return (module or "").partition(".")[0]


@dataclass(frozen=True)
class Names:
    """What code names, with the code that is defined in it.

    Attributes:
        globals: names that it looks up in its module.
        attributes: names that it looks up in objects.
        imports: modules that it imports, and how many levels up.
        texts: its constants that could be names, as for `getattr` and `sys.modules`.
    """

    globals: frozenset[str]
    attributes: frozenset[str]
    imports: frozenset[tuple[str, int]]
    texts: frozenset[str]

    @property
    def all(self) -> frozenset[str]:
        """Every name, of whatever it is."""
        return self.globals | self.attributes | self.texts


@functools.lru_cache(maxsize=4096)
def names_in(code: CodeType) -> Names:
    """The names in code."""
    kinds: dict[str, set[Any]] = {each.name: set() for each in fields(Names)}
    for each in codes_in(code):
        _add_names(each, kinds)
    return Names(**{name: frozenset(names) for name, names in kinds.items()})


def _add_names(code: CodeType, kinds: dict[str, set[Any]]) -> None:
    kinds["texts"] |= {text for text in code.co_consts if type(text) is str and _is_name(text)}
    level = 0
    before: Any = None
    for one in dis.get_instructions(code):
        if one.opname == "IMPORT_NAME":
            kinds["imports"].add((one.argval, level))
        elif one.opcode in dis.hasname:
            is_global = one.opname.endswith(_GLOBALS)
            kinds["globals" if is_global else "attributes"].add(one.argval)
        level, before = before if type(before) is int else 0, one.argval


def _is_name(text: str) -> bool:
    return all(part.isidentifier() for part in text.split("."))


def imported_by(function: FunctionType, names: Names) -> Iterator[tuple[str, ModuleType | None]]:
    """Modules that a function imports, by their full names; None for what is not yet imported."""
    for text in sorted(names.texts):
        if is_users(text) and isinstance(sys.modules.get(text), ModuleType):
            yield text, sys.modules[text]
    package = function.__globals__.get("__package__") or top_of(function.__module__)
    for name, level in sorted(names.imports):
        with contextlib.suppress(ImportError):  # more levels up than there are
            full = importlib.util.resolve_name("." * level + name, package)
            yield full, sys.modules.get(full)
