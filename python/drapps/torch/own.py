"""Whether the functions that recognised code calls are still the libraries' own.

A native form stands for what a library does. Whoever puts a function of theirs in the place of one
of the library's, at whatever depth, means that to be called. So the names in the code of what was
recognised are followed from module to module: each must lead to a function that one of the known
libraries defines, which its globals tell whatever it is called. The walk takes some milliseconds
once; what it found is compared by identity at every pass, in half of one.
"""

from __future__ import annotations

import builtins
import functools
import sys
from collections.abc import Iterable, Mapping
from types import FunctionType, MethodType, ModuleType
from typing import Any

from drapps.libraries import Known, named
from drapps.user_code import closure_of, names_of

_FOLLOWED = ("torchvision.", "PIL.", "timm.", "torch.utils.data.")
_PACKAGES = named(Known.RECOGNISED)
_STANDARD = frozenset(sys.stdlib_module_names) - {"unittest"}
# What else of the standard library is called changes no sample, and is replaced for other reasons.
_MATTERS = frozenset({"builtins", "io", "math", "os", "posixpath", "random", "struct", "zlib"})
_HARMLESS = frozenset({"print"})
_CACHED = type(functools.lru_cache(len))


def is_own(value: Any) -> bool:
    """Whether a function, or what it wraps, was defined by a library and not by a user of it."""
    while True:
        if isinstance(value, (staticmethod, classmethod, MethodType)):
            value = value.__func__
        elif isinstance(value, _CACHED):
            value = value.__wrapped__
        elif isinstance(value, FunctionType):
            if _root(value.__globals__.get("__name__")) not in _PACKAGES | _STANDARD:
                return False
            if "__wrapped__" not in vars(value):
                return True
            value = vars(value)["__wrapped__"]
        else:
            kind = value if isinstance(value, type) else type(value)
            return kind is not functools.partial and _root(kind.__module__) in (
                _PACKAGES | _STANDARD
            )


def _root(module: Any) -> str:
    name = module if isinstance(module, str) else ""
    return "collections" if name.startswith("namedtuple_") else name.partition(".")[0]


def _is_followed(module: Any) -> bool:
    return isinstance(module, str) and f"{module}.".startswith(_FOLLOWED)


class Walk:
    """The names that were followed, and where each led."""

    def __init__(self) -> None:
        self._forget()

    def _forget(self) -> None:
        self._edges: dict[tuple[int, str], tuple[Mapping[str, Any], str, Any]] = {}
        self._seen: set[Any] = set()
        self._replaced: list[str] = []

    def refresh(self) -> None:
        """Forgets everything where a name leads elsewhere now."""
        if not all(holder.get(name) is value for holder, name, value in self._edges.values()):
            self._forget()

    def replaced(self, roots: Iterable[Any], owner: type | None = None) -> str | None:
        """The first name that does not lead to a library's own function; None where all do.

        Args:
            roots: functions and classes.
            owner: the class whose methods they are.
        """
        for root in roots:
            self._visit(root, owner)
        if not self._replaced:
            return None
        first = self._replaced[0]
        self._forget()  # what was seen is to be found again
        return first

    def _visit(self, value: Any, owner: type | None = None) -> None:
        while isinstance(value, (staticmethod, classmethod, MethodType)):
            value = value.__func__
        if isinstance(value, property):
            value = value.fget
        if isinstance(value, _CACHED):
            value = value.__wrapped__
        if isinstance(value, type):
            self._visit_class(value)
        elif isinstance(value, FunctionType) and (value, owner) not in self._seen:
            self._seen.add((value, owner))
            self._visit(vars(value).get("__wrapped__"), owner)
            if _is_followed(value.__globals__.get("__name__")):
                self._visit_function(value, owner)

    def _visit_function(self, function: FunctionType, owner: type | None) -> None:
        for _, content in closure_of(function):
            self._visit(content)
        for kernel in _kernels(function):
            self._visit(kernel)
        names = frozenset(names_of(function.__code__))
        for name in names:
            if name in function.__globals__:
                self._follow(function.__globals__, name, names)
            elif name in vars(builtins) and name not in _HARMLESS:
                self._follow(vars(builtins), name, names)
            elif name in sys.modules and _is_followed(name):  # imported within the function
                self._follow(sys.modules, name, names)
            if owner is not None:
                self._follow_member(owner, name)

    def _visit_class(self, kind: type) -> None:
        for base in kind.__mro__:
            if base not in self._seen and _is_followed(base.__module__):
                self._seen.add(base)
                for name in list(vars(base)):
                    self._follow_member(base, name)

    def _follow_member(self, kind: type, name: str) -> None:
        home = next((base for base in kind.__mro__ if name in vars(base)), None)
        if home is not None and _is_followed(home.__module__):
            value = vars(home)[name]
            if isinstance(value, (FunctionType, staticmethod, classmethod, property)):
                self._note(vars(home), name, value, f"{home.__module__}.{home.__qualname__}")
                self._visit(value, kind)

    def _follow(self, holder: Mapping[str, Any], name: str, names: frozenset[str]) -> None:
        """Follows a name of a module; where that is a module in turn, all `names` that it has."""
        value = holder[name]
        if isinstance(value, ModuleType):
            home = value.__name__
            if _root(home) not in _PACKAGES and home not in _MATTERS:
                return
            self._note(holder, name, value, str(holder.get("__name__")))
            for member in names & vars(value).keys():
                if not isinstance(vars(value)[member], ModuleType):
                    self._follow(vars(value), member, frozenset())
                elif vars(value)[member].__name__ == f"{home}.{member}" and _is_followed(home):
                    self._follow(vars(value), member, names - {member})
        elif self._note(holder, name, value, str(holder.get("__name__"))):
            self._visit(value)

    def _note(self, holder: Mapping[str, Any], name: str, value: Any, home: str) -> bool:
        """Keeps where a name leads; False where that was known."""
        if (id(holder), name) in self._edges:
            return False
        self._edges[id(holder), name] = (holder, name, value)
        inner = value.fget if isinstance(value, property) else value
        if callable(inner) and not (is_own(inner) and _is_called(inner, name, home)):
            self._replaced.append(f"{home}.{name}")
        return True


def _is_called(value: Any, name: str, home: str) -> bool:
    """Whether a reader of files is named `name`: torchvision has several of them.

    Its transforms have functions of two names.
    """
    if not home.startswith("torchvision.datasets.") or not isinstance(value, FunctionType):
        return True
    return not value.__module__.startswith("torchvision.datasets.") or value.__name__ == name


def _kernels(function: FunctionType) -> list[Any]:
    """What torchvision's second API calls for the types of its arguments."""
    utils = sys.modules.get("torchvision.transforms.v2.functional._utils")
    registered = getattr(utils, "_KERNEL_REGISTRY", {}).get(function, {})
    return list(registered.values())


WALK = Walk()
