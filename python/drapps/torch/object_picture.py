"""A picture of all that an object holds: what it and its parts are, by path, to be compared.

Parts are values, random generators, containers, iterators, objects, and handles (files, locks,
databases, objects of libraries), behind which nobody looks. Code is followed to what it refers to.
"""

from __future__ import annotations

import functools
import io
import itertools
import random
import types
import zlib
from array import array
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import PurePath
from typing import Any

import numpy as np
import torch

from drapps.attributes import attribute_of, attributes_of, slots_of
from drapps.generator_memory import plain_state
from drapps.libraries import Known, is_within
from drapps.user_code import closure_of, names_of

_MOST_PARTS = 4000  # those nearest to the dataset first
_MOST_LOOKS = 16 * _MOST_PARTS  # at anything, also once more, and at code
_FEW = 32  # elements of a container that are looked at before those of larger ones
_MOST_ELEMENTS = 1000  # of a container; of a larger one its length counts
_MOST_BYTES = 1 << 20  # of an array; of a larger one its identity counts
_MOST_BYTES_READ = 64 << 20  # of all arrays together

_VALUES = (bool, int, float, complex, str, bytes, type(None), Enum, PurePath, np.generic)
_GENERATORS = (
    np.random.Generator,
    np.random.RandomState,
    np.random.BitGenerator,
    random.Random,
    torch.Generator,
)
_CONTAINERS = (dict, list, tuple, set, frozenset, deque)
_CODE = (types.FunctionType, types.MethodType, functools.partial)


@dataclass(frozen=True)
class Part:
    """One part.

    Attributes:
        kind: ``value``, ``generator``, ``container``, ``iterator``, ``object`` or ``handle``.
        token: equal where nothing has changed.
        identity: of what is replaced, or written to in place.
    """

    kind: str
    token: Any
    identity: int = 0


NOTHING = Part("value", "None")
Picture = dict[str, Part]
_Within = Iterable[tuple[str, Any]]


def picture(roots: Mapping[str, Any]) -> Picture:
    """What `roots` and all within them hold now, by path."""
    return _PictureMaker(roots).parts


class _PictureMaker:
    """Looks at one thing after the other, and at no more than it may."""

    def __init__(self, roots: Mapping[str, Any]) -> None:
        self.parts: Picture = {}
        self._seen: set[int] = set()
        self._bytes = _MOST_BYTES_READ
        near, far = deque[Iterator[tuple[str, Any]]]([iter(roots.items())]), deque[Any]()
        for path, value in itertools.islice(_chained(near, far), _MOST_LOOKS):
            if not isinstance(value, _VALUES):
                if id(value) in self._seen:
                    continue
                self._seen.add(id(value))
            try:
                part, within = self._look_at(path, value)
                large = isinstance(value, _CONTAINERS) and len(value) > _FEW
                (far if large else near).append(iter(within))
            except Exception:  # the user's own attribute access, a generator without a state
                part = Part("handle", None)
            if part is not None:
                self.parts[path] = part
                if len(self.parts) >= _MOST_PARTS:
                    return

    def _look_at(self, path: str, value: Any) -> tuple[Part | None, _Within]:
        """One part, None for code, and what is within it."""
        kind = type(value)
        if isinstance(value, _VALUES):
            return Part("value", hash(value) if kind in (str, bytes) else repr(value)), ()
        if isinstance(value, _GENERATORS):
            return _generator(value), ()
        if isinstance(value, _CODE):
            return None, _within_code(path, value)
        if isinstance(value, (type, types.ModuleType, types.BuiltinFunctionType)):
            return None, ()
        if isinstance(value, torch.Tensor):
            if value.is_shared():  # type: ignore[no-untyped-call]
                return Part("handle", None), ()
            return Part("container", (id(value), value._version), id(value)), ()
        if isinstance(value, (np.ndarray, array, bytearray)):
            return self._array(value), ()
        if isinstance(value, _CONTAINERS):
            return Part("container", (kind, len(value))), _within_container(path, value)
        if isinstance(value, Iterator) and kind.__module__ in ("builtins", "itertools"):
            return Part("iterator", None), ()
        own = attribute_of(value, "__dict__")
        if isinstance(value, io.IOBase) or is_within(kind.__module__, Known.HANDLE):
            formats = own.get("_format_kwargs") if own else None  # of datasets.Dataset
            return Part("handle", None), [(f"{path}.format", formats)] if formats else ()
        if own is None and attribute_of(kind, "__slots__") is None:
            return Part("handle", None), ()
        return Part("object", kind), _within_object(path, value)

    def _array(self, value: Any) -> Part:
        if isinstance(value, np.memmap):
            return Part("handle", None)
        data: Any = value if isinstance(value, np.ndarray) else memoryview(value)
        small = data.nbytes <= min(_MOST_BYTES, self._bytes)
        if not small or getattr(value, "dtype", None) == np.dtype("O"):
            return Part("container", id(value), id(value))
        self._bytes -= data.nbytes
        data = np.ascontiguousarray(data) if isinstance(value, np.ndarray) else data
        return Part("container", zlib.crc32(data), id(value))


def _chained(near: deque[Any], far: deque[Any]) -> Iterator[tuple[str, Any]]:
    """All that is in `near`, then all in `far`; both may get more in the meantime."""
    while near or far:
        first = near or far
        try:
            yield next(first[0])
        except Exception:  # its end, or the user's own attribute access
            first.popleft()


def _generator(value: Any) -> Part:
    shared = (np.random.mtrand._rand, random._inst, torch.default_generator)
    if any(value is one for one in shared):  # seeded for each sample
        return Part("handle", None)
    if isinstance(value, random.Random):
        return Part("generator", hash(value.getstate()))
    if isinstance(value, torch.Generator):
        return Part("generator", zlib.crc32(bytes(value.get_state().numpy())))
    bits = getattr(value, "bit_generator", getattr(value, "_bit_generator", value))
    state = value.get_state(legacy=False) if hasattr(value, "get_state") else bits.state
    return Part("generator", zlib.crc32(repr(plain_state(state)).encode()))


def _within_container(path: str, value: Any) -> _Within:
    if len(value) > _MOST_ELEMENTS:
        pass
    elif isinstance(value, (set, frozenset)):
        yield f"{path}[set]", hash(frozenset(value))
    elif isinstance(value, dict):
        yield from ((f"{path}[{key!r:.40}]", part) for key, part in value.items())
    else:
        yield from ((f"{path}[{i}]", part) for i, part in enumerate(value))
    if attribute_of(value, "__dict__") is not None:
        yield from _within_object(path, value)


def _within_object(path: str, value: Any) -> _Within:
    for name, part in attributes_of(value).items():
        yield f"{path}.{name}", part
    for name, part in slots_of(value):
        yield f"{path}.{name}", part
    for kind in type(value).__mro__:
        if is_within(kind.__module__, Known.STATELESS):
            continue
        where = f"{path}.{kind.__name__}"
        for name, part in vars(kind).items():
            if isinstance(part, types.FunctionType):
                yield from _within_code(f"{where}.{name}", part)
            elif not name.startswith("__") and not hasattr(type(part), "__get__"):
                yield f"{where}.{name}", part


def _within_code(path: str, value: Any) -> _Within:
    if isinstance(value, types.MethodType):
        yield path, value.__self__
        yield f"{path}()", value.__func__
    elif isinstance(value, functools.partial):
        parts = (value.func, *value.args, *value.keywords.values())
        yield from ((f"{path}({i})", part) for i, part in enumerate(parts))
    elif not is_within(value.__module__ or "", Known.STATELESS):
        yield from ((f"{path}.{name}", part) for name, part in closure_of(value))
        defaults = (*(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values())
        yield from ((f"{path}(={i})", part) for i, part in enumerate(defaults))
        for name in names_of(value.__code__):
            if name in value.__globals__:
                yield f"{value.__module__}.{name}", value.__globals__[name]
