"""What a dataset reaches: the objects that it holds, and the code of its user that works on them.

Attributes, containers, closures, defaults and the global names of functions are followed, in
the user's own modules; of libraries the objects are, and not their code. What is nearest comes
first, and there is a limit: whoever hides something behind thousands of objects hides it.
"""

from __future__ import annotations

import functools
import operator
import random
import sys
from collections import deque
from types import (
    BuiltinFunctionType,
    FunctionType,
    MappingProxyType,
    MethodType,
    ModuleType,
    SimpleNamespace,
)
from typing import Any

import numpy as np

from drapps.item_cache.code import contents_of, is_users, names_in, top_of

_MOST = 5000  # objects
_FEW = 64  # elements of a container; of a larger one as many from its beginning
_ATOMS = (bool, int, float, complex, str, bytes, bytearray, type(None), np.generic, np.ndarray)
_SEQUENCES = (list, tuple, set, frozenset, deque)
# Libraries whose objects hold nothing of the user's, however much they hold.
_CLOSED = frozenset({"PIL", "cv2", "h5py", "lmdb", "pandas", "polars", "pyarrow", "zarr"})
_CACHED = type(functools.lru_cache(len))


class Reached:
    """What was found from a dataset.

    Attributes:
        generators: of random numbers, but for the global ones.
        functions: of the user's modules.
        packages: the libraries that the user's code and objects come from.
        asks_for_seed: the user's code asks for the seed of a worker process.
    """

    def __init__(self, root: Any) -> None:
        """Looks at `root`, and all that it reaches."""
        self.generators: list[Any] = []
        self.functions: list[FunctionType] = []
        self.packages: set[str] = set()
        self.asks_for_seed = False
        self._holders: list[tuple[Any, list[Any]]] = []
        self._names: list[tuple[dict[str, Any], str, Any]] = []
        self._next: deque[Any] = deque([root])
        seen: dict[int, Any] = {}  # which keeps them, so that none gets the address of another
        while self._next and len(seen) < _MOST:
            value = self._next.popleft()
            if id(value) in seen or type(value) in _ATOMS:
                continue
            seen[id(value)] = value
            try:
                self._look_at(value)
            except Exception:  # of an object whose class has other ideas of attributes
                continue
        self._next.clear()

    def holds(self) -> bool:
        """Whether all that was looked at still has the same parts."""
        return all(map(_has_parts, self._holders)) and all(
            names.get(name) is value for names, name, value in self._names
        )

    def _look_at(self, value: Any) -> None:
        kind = type(value)
        top = top_of(kind.__module__)
        if isinstance(value, generator_classes()):
            if not any(value is one for one in global_generators()):
                self.generators.append(value)
        elif isinstance(value, FunctionType):
            self._look_at_function(value)
        elif isinstance(value, (MethodType, BuiltinFunctionType)):
            self._next.extend((value.__self__, getattr(value, "__func__", None)))
        elif isinstance(value, (staticmethod, classmethod)):
            self._next.append(value.__func__)
        elif isinstance(value, _CACHED):
            self._next.append(value.__wrapped__)
        elif isinstance(value, property):
            self._next.extend((value.fget, value.fset))
        elif isinstance(value, functools.partial):
            self._next.extend((value.func, *value.args, *value.keywords.values()))
        elif isinstance(value, type):
            self._look_at_class(value)
        elif isinstance(value, ModuleType):
            self.packages.add(top_of(value.__name__))
        elif isinstance(value, (dict, *_SEQUENCES)):
            self._look_at_container(value)
        elif top == "drapps":
            self._next.append(getattr(value, "__dict__", {}).get("dataset"))
        elif isinstance(value, SimpleNamespace) or top not in _CLOSED | sys.stdlib_module_names:
            self._look_at_object(value)

    def _look_at_container(self, value: Any) -> None:
        parts = value.values() if isinstance(value, dict) else value
        if len(value) <= _FEW and isinstance(value, (dict, list, deque)):
            self._holders.append((value, list(parts)))
        self._next.extend(part for part, _ in zip(parts, range(_FEW), strict=False))
        if hasattr(value, "__dict__"):
            self._look_at_object(value)

    def _look_at_object(self, value: Any) -> None:
        own = getattr(value, "__dict__", None)
        if isinstance(own, dict):
            self._holders.append((own, list(own.values())))
            self._next.extend(own.values())
        for base in type(value).__mro__:
            slots = base.__dict__.get("__slots__", ())
            for name in (slots,) if isinstance(slots, str) else slots:
                self._next.append(getattr(value, name, None))
        self._next.append(type(value))

    def _look_at_class(self, kind: type) -> None:
        for base in kind.__mro__:
            if is_users(base.__module__):
                self._holders.append((vars(base), list(vars(base).values())))
                self._next.extend(vars(base).values())
            else:
                self.packages.add(top_of(base.__module__))

    def _look_at_function(self, function: FunctionType) -> None:
        self._next.append(vars(function).get("__wrapped__"))
        if not is_users(function.__module__):
            self.packages.add(top_of(function.__module__))
            return
        self.functions.append(function)
        self._next.extend(contents_of(function))
        self._next.extend(function.__defaults__ or ())
        self._next.extend((function.__kwdefaults__ or {}).values())
        names = set(names_in(function.__code__))
        self.asks_for_seed |= "initial_seed" in names or {"get_worker_info", "seed"} <= names
        self._follow(function.__globals__, names)

    def _follow(self, home: dict[str, Any], names: set[str]) -> None:
        """Global names of a function, and those of the user's modules among them."""
        for name in sorted(names & home.keys()):
            self._names.append((home, name, home[name]))
            self._next.append(home[name])
            module = home[name]
            if isinstance(module, ModuleType) and is_users(module.__name__):
                for member in sorted(names & vars(module).keys()):
                    self._names.append((vars(module), member, vars(module)[member]))
                    self._next.append(vars(module)[member])


def _has_parts(holder: tuple[Any, list[Any]]) -> bool:
    value, parts = holder
    now = value.values() if isinstance(value, (dict, MappingProxyType)) else value
    return len(now) == len(parts) and all(map(operator.is_, now, parts))


def generator_classes() -> tuple[type, ...]:
    """Classes whose objects random numbers are drawn from."""
    torch = sys.modules.get("torch")
    own = (random.Random, np.random.Generator, np.random.RandomState, np.random.BitGenerator)
    return own if torch is None else (*own, torch.Generator)


def global_generators() -> tuple[Any, ...]:
    """Those that belong to everybody."""
    torch: Any = sys.modules.get("torch")
    numpys: Any = np.random.mtrand._rand
    own = (random._inst, numpys, numpys._bit_generator)
    return own if torch is None else (*own, torch.default_generator)
