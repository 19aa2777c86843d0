"""Functions of ours in the place of libraries' own, which are kept."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from types import FunctionType, ModuleType
from typing import Any, NamedTuple

_NOTHING = object()
# Packages of which no module has another library's picture functions.
_OTHERS = {
    *sys.stdlib_module_names,
    *("PIL", "drapps", "numpy", "nvidia", "scipy", "sympy", "torch", "triton"),
}


class Patches:
    """Keeps what was there, until it is put back; in a worker process, which only ends, never."""

    def __init__(self, gate: Callable[[Any, Any], Any] | None = None) -> None:
        """`gate` makes what is put of a function and the plain one that it takes the place of."""
        self._gate = gate
        self._before: list[tuple[Any, Any, Any, Any]] = []

    def put(self, owner: Any, name: Any, value: Any, plain: Any = None) -> None:
        """Sets an attribute of a class or a module, or what a dictionary has under a key.

        Args:
            owner: the class, module or dictionary.
            name: of the attribute, or the key.
            value: what stands there from now on.
            plain: the function that it takes the place of; without one it is no function.
        """
        self._put(owner, name, self.gated(value, plain))

    def put_by_name(self, owner: ModuleType, all_made: Mapping[str, Any]) -> None:
        """Sets functions of a module, there and wherever others have imported them by name."""
        standing = {}
        for name, function in all_made.items():
            plain = vars(owner)[name]
            standing[id(plain)] = gated = self.gated(function, plain)
            self._put(owner, name, gated)
        for held in _modules_holding(standing.keys()) if standing else ():
            for key, value in tuple(held.items()):
                if id(value) in standing:
                    self._put(held, key, standing[id(value)])

    def gated(self, value: Any, plain: Any) -> Any:
        """What is put for `value` in the place of `plain`, as the gate makes it."""
        standing = value if plain is None or self._gate is None else self._gate(value, plain)
        if plain is not None and isinstance(standing, FunctionType):
            vars(standing)["__prepare_scriptable__"] = lambda: plain  # what torch.jit compiles
        return standing

    def _put(self, owner: Any, name: Any, value: Any) -> None:
        self._before.append((owner, name, self._held(owner).get(name, _NOTHING), value))
        self._set(owner, name, value)

    @staticmethod
    def _held(owner: Any) -> Any:
        return owner if isinstance(owner, dict) else vars(owner)

    @staticmethod
    def _set(owner: Any, name: Any, value: Any) -> None:
        if isinstance(owner, dict):
            owner[name] = value
        else:
            setattr(owner, name, value)

    def undo(self) -> None:
        """All is as it was, but for what a user has put there since."""
        for owner, name, value, patch in reversed(self._before):
            if self._held(owner).get(name) is not patch:
                continue
            if value is _NOTHING:
                delattr(owner, name)
            else:
                self._set(owner, name, value)
        self._before.clear()


class _Looked(NamedTuple):
    """Which modules have imported some functions."""

    modules: int  # that there were
    functions: frozenset[int]  # their addresses
    names: tuple[str, ...]


_looked: _Looked | None = None  # in a forked process that of its parent


def look_for(functions: Iterable[Any]) -> None:
    """Finds the modules that have imported functions by name, for processes forked from here.

    A forked process that looks at all modules by itself copies the pages that they lie in.
    """
    global _looked
    wanted, modules = frozenset(map(id, functions)), len(sys.modules)
    if _looked is None or (_looked.modules, _looked.functions) != (modules, wanted):
        names = (
            name
            for name, held in _modules_of_users()
            if any(id(value) in wanted for value in tuple(held.values()))
        )
        _looked = _Looked(modules, wanted, tuple(names))


def _modules_holding(functions: Collection[int]) -> Iterator[dict[str, Any]]:
    """What those modules hold that may have imported one of the functions at these addresses."""
    known = _looked is not None and _looked.modules == len(sys.modules)
    if _looked is not None and known and _looked.functions.issuperset(functions):
        yield from (vars(sys.modules[name]) for name in _looked.names if name in sys.modules)
    else:
        yield from (held for _, held in _modules_of_users())


def _modules_of_users() -> Iterator[tuple[str, dict[str, Any]]]:
    """Modules that may have imported functions of picture libraries, and what they hold."""
    for name, module in tuple(sys.modules.items()):
        if type(module) is ModuleType and name.partition(".")[0] not in _OTHERS:
            yield name, vars(module)


def is_own(module: ModuleType, *functions: Any) -> bool:
    """Whether these are functions of the module, and wrap no other."""
    return all(
        isinstance(each, FunctionType)
        and each.__globals__ is vars(module)
        and not hasattr(each, "__wrapped__")
        for each in functions
    )


class Held:
    """What places held when they were first asked for with libraries' and our functions alone.

    Args:
        places: dictionaries, and their keys.
    """

    def __init__(self, places: Iterable[tuple[Any, Any]]) -> None:
        self._places = tuple(places)
        self._wanted: list[Any] | None = None

    def is_as_it_was(self) -> bool:
        """Whether a user has put nothing in the places."""
        held = [holder.get(name) for holder, name in self._places]
        if self._wanted is None and all(map(_is_librarys, held)):
            self._wanted = held
        return held == self._wanted


def _is_librarys(function: Any) -> bool:
    if isinstance(function, staticmethod):
        function = function.__func__
    if not isinstance(function, FunctionType):
        return function is None
    whose, _, _ = str(function.__globals__.get("__name__")).partition(".")
    return whose in ("torch", "torchvision", "PIL", "drapps")
