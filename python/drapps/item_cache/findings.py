"""What is found in objects that are looked at in a way of their own, each by itself."""

from __future__ import annotations

import gc
import random
import sys
import weakref
from collections.abc import Callable
from contextvars import ContextVar
from types import BuiltinFunctionType, FunctionType, GeneratorType, ModuleType
from typing import Any

import numpy as np

from drapps.attributes import attribute_of, attributes_of
from drapps.item_cache.code import Names, imported_by, is_users, names_in, top_of
from drapps.item_cache.kinds import generator_classes, global_generators, is_looked_into

ABSENT: Any = object()
_MOST_GENERATORS = 256


class Findings:
    """What was found so far.

    Attributes:
        generators: of random numbers, but for the global ones.
        functions: of the user's modules.
        classes: all that were looked at.
        packages: the libraries that the user's code and objects come from.
        names: that the user's code uses, and those of functions of libraries that it has as others.
        bindings: names that functions and classes of the user have for others.
        globals: names in a module, and what they stood for.
        readings: how parts are found that the garbage collector does not see, and what they were.
        missing: why something may not have been found; empty where all was.
    """

    def __init__(self, most: int) -> None:
        """Begins with nothing; of what has more than `most` parts, these are not held."""
        self._most = most
        self.generators: list[Any] = []
        self.functions: list[FunctionType] = []
        self.classes: set[type] = set()
        self.packages: set[str] = set()
        self.names: set[str] = set()
        self.bindings: list[tuple[Any, str, Any]] = []
        self.globals: list[tuple[dict[str, Any], str, Any]] = []
        self.readings: list[tuple[Callable[[], list[Any]], list[Any]]] = []
        self.missing = ""

    def miss(self, why: str) -> None:
        """Notes that something may not be found."""
        self.missing = self.missing or why

    def look(self, value: Any) -> list[Any]:
        """Looks at one object, and gives what it leads to."""
        if isinstance(value, type):
            return self._class(value)
        if isinstance(value, FunctionType):
            return self._function(value)
        if isinstance(value, BuiltinFunctionType):
            self.names.add(value.__name__)
            owner = value.__self__
            return [] if type(owner).__name__ == "PyCapsule" else [owner]
        if isinstance(value, generator_classes()):
            return self._generator(value)
        if isinstance(value, ModuleType):
            self.packages.add(top_of(value.__name__))
            return [vars(value)] if is_users(value.__name__) else []
        if isinstance(value, GeneratorType):
            self.miss("it holds an iterator that is amid its work")
            return []
        if isinstance(value, np.ndarray):
            held = lambda: value.ravel().tolist() if value.dtype.hasobject else []  # noqa: E731
            return [*self._read(held), *gc.get_referents(value)]
        if isinstance(value, np.void):
            return [value.item()] if value.dtype.hasobject else []
        if isinstance(value, ContextVar):
            return self._read(lambda: [value.get(None)])
        if isinstance(value, weakref.ref):
            return [value(), *gc.get_referents(value)]
        return self._ours_or_tokenizers(value)

    def look_at_library(self, package: str) -> None:
        """Generators that the modules of a library have as globals."""
        prefix = f"{package}."
        for name, module in sorted(sys.modules.items()):
            if (name == package or name.startswith(prefix)) and type(module) is ModuleType:
                self._only_generators(vars(module))

    def _read(self, parts: Callable[[], list[Any]]) -> list[Any]:
        now = parts()
        if 0 < len(now) <= self._most:
            self.readings.append((parts, now))
        return now

    def _ours_or_tokenizers(self, value: Any) -> list[Any]:
        if top_of(type(value).__module__) == "drapps":
            return [attributes_of(value).get("dataset")]
        if top_of(type(value).__module__).startswith("_cython"):  # a function of a library
            self.names.add(str(value.__name__))
            return []
        model = attribute_of(value, "model")
        if attribute_of(value, "dropout") or attribute_of(model, "dropout"):
            self.miss("it holds a tokenizer that drops merges at random")
        return []

    def _generator(self, value: Any) -> list[Any]:
        if not any(value is one for one in global_generators()):
            self.generators.append(value)
            if len(self.generators) > _MOST_GENERATORS:
                self.miss(f"it holds more than {_MOST_GENERATORS} generators of random numbers")
        parts = gc.get_referents(value) if hasattr(value, "__dict__") else []
        return [part for part in parts if part is not random.Random]

    def _only_generators(self, names: Any) -> None:
        classes = generator_classes()
        for value in list(names.values()):
            if isinstance(value, classes) and not any(value is one for one in self.generators):
                self._generator(value)

    def _class(self, kind: type) -> list[Any]:
        parts: list[Any] = []
        for base in kind.__mro__:
            if base in self.classes:
                continue
            self.classes.add(base)
            module = str(base.__module__)
            if is_users(module):
                parts += gc.get_referents(vars(base))  # its dict
                parts.append(type(base))
                self.bindings += ((base, name, value) for name, value in vars(base).items())
            else:
                self.packages.add(top_of(module))
                if is_looked_into(top_of(module)):
                    self._only_generators(vars(base))
        return parts

    def _function(self, function: FunctionType) -> list[Any]:
        parts: list[Any] = [vars(function), *(function.__closure__ or ())]
        parts += [function.__defaults__, function.__kwdefaults__]
        if not is_users(function.__module__):
            self.names.add(function.__name__)
            self.packages.add(top_of(function.__module__))
            return parts
        self.functions.append(function)
        names = names_in(function.__code__)
        self.names |= names.all
        called = names.texts if "globals" in names.globals else frozenset()
        for name in sorted(names.globals | called):
            parts += self._bound(function, name, names)
        for full, module in imported_by(function, names):
            self.globals.append((sys.modules, full, module or ABSENT))
            parts += self._members(function, module, names)
        return parts

    def _bound(self, owner: FunctionType, name: str, names: Names) -> list[Any]:
        """What a function means by a global name; it may be none yet, or one of Python's own."""
        home = owner.__globals__
        value = home.get(name, ABSENT)
        self.globals.append((home, name, value))
        self.bindings.append((owner, name, value))
        if isinstance(value, ModuleType):
            return self._members(owner, value, names)
        return [] if value is ABSENT else [value]

    def _members(
        self, owner: FunctionType, module: ModuleType | None, names: Names, depth: int = 0
    ) -> list[Any]:
        """What a function may mean by its names in a module of the user."""
        if module is None:
            return []
        self.packages.add(top_of(module.__name__))
        parts: list[Any] = []
        if is_users(module.__name__) and depth < 4:
            for name in sorted(names.attributes | names.texts):
                value = vars(module).get(name, ABSENT)
                self.globals.append((vars(module), name, value))
                if value is ABSENT:
                    continue
                self.bindings.append((owner, name, value))
                if isinstance(value, ModuleType):
                    parts += self._members(owner, value, names, depth + 1)
                else:
                    parts.append(value)
        return parts
