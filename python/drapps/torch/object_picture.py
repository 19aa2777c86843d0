"""A picture of all that an object holds: what it and its parts are, by path, to be compared.

Parts are values, random generators, containers, iterators, objects, and handles (files, locks,
databases, objects of libraries), behind which nobody looks. Code is followed to what it refers to.
"""

from __future__ import annotations

import functools
import io
import random
import sys
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

_MOST_PARTS = 4000  # that are looked at, those nearest to the dataset first
_FEW = 32  # elements of a container that are looked at before those of larger ones
_MOST_ELEMENTS = 1000  # of a container; of a larger one its length counts
_MOST_BYTES = 1 << 20  # of an array; of a larger one which it is counts

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
# Libraries whose objects are handles, or keep caches of what does not change.
_HANDLES = (
    *("PIL", "cv2", "datasets", "h5py", "jax", "lmdb", "numpy", "pandas", "polars", "pyarrow"),
    *("tables", "tensorflow", "tokenizers", "zarr"),
    *("transformers.models", "transformers.tokenization"),
    "drapps.item_cache.keeper",
)
# And those whose functions have no state.
_LIBRARIES = (
    *_HANDLES,
    "drapps",
    "scipy",
    "skimage",
    "sklearn",
    "torch",
    "torchvision",
    "transformers",
)


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


def picture(roots: Mapping[str, Any]) -> Picture:
    """What `roots` and all within them hold now, by path."""
    seen: set[int] = set()
    parts: Picture = {}
    near, far = deque(roots.items()), deque[tuple[str, Any]]()
    while (near or far) and len(parts) < _MOST_PARTS:
        path, value = (near or far).popleft()
        if not isinstance(value, _VALUES):
            if id(value) in seen:
                continue
            seen.add(id(value))
        try:
            part, within = _look_at(path, value)
            large = isinstance(value, _CONTAINERS) and len(value) > _FEW
            (far if large else near).extend(within)
        except Exception:  # the user's own attribute access, a generator without a state
            part = Part("handle", None)
        if part is not None:
            parts[path] = part
    return parts


_Within = Iterable[tuple[str, Any]]


def _look_at(path: str, value: Any) -> tuple[Part | None, _Within]:
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
        return _array(value), ()
    if isinstance(value, _CONTAINERS):
        return Part("container", (kind, len(value))), _within_container(path, value)
    if isinstance(value, Iterator) and kind.__module__ in ("builtins", "itertools"):
        return Part("iterator", None), ()
    own = getattr(value, "__dict__", None)
    if isinstance(value, io.IOBase) or _is_of(kind.__module__, _HANDLES):
        formats = own.get("_format_kwargs") if own else None  # of datasets.Dataset
        return Part("handle", None), [(f"{path}.format", formats)] if formats else ()
    if own is None and not hasattr(kind, "__slots__"):
        return Part("handle", None), ()
    return Part("object", kind), _within_object(path, value)


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
    return Part("generator", zlib.crc32(repr(_plain(state)).encode()))


def _plain(state: Any) -> Any:
    if isinstance(state, dict):
        return {name: _plain(value) for name, value in state.items()}
    return state.tobytes() if isinstance(state, np.ndarray) else state


def _array(value: Any) -> Part:
    if isinstance(value, np.memmap):
        return Part("handle", None)
    data: Any = np.ascontiguousarray(value) if isinstance(value, np.ndarray) else value
    small = memoryview(data).nbytes <= _MOST_BYTES and getattr(value, "dtype", None) != "O"
    return Part("container", zlib.crc32(data) if small else id(value), id(value))


def _within_container(path: str, value: Any) -> _Within:
    if isinstance(value, (set, frozenset)):
        yield f"{path}[set]", hash(frozenset(value))
    elif isinstance(value, dict) and len(value) <= _MOST_ELEMENTS:
        yield from ((f"{path}[{key!r:.40}]", part) for key, part in value.items())
    elif len(value) <= _MOST_ELEMENTS:
        yield from ((f"{path}[{i}]", part) for i, part in enumerate(value))
    if hasattr(value, "__dict__"):
        yield from _within_object(path, value)


def _within_object(path: str, value: Any) -> _Within:
    for name, part in getattr(value, "__dict__", {}).items():
        yield f"{path}.{name}", part
    for kind in type(value).__mro__:
        if _is_of(kind.__module__, _LIBRARIES):
            continue
        where = f"{path}.{kind.__name__}"
        slots = kind.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if hasattr(value, name):
                yield f"{path}.{name}", getattr(value, name)
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
    elif not _is_of(value.__module__ or "", _LIBRARIES):
        for name, cell in zip(value.__code__.co_freevars, value.__closure__ or (), strict=False):
            yield f"{path}.{name}", cell.cell_contents
        defaults = (*(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values())
        yield from ((f"{path}(={i})", part) for i, part in enumerate(defaults))
        for name in _names(value.__code__):
            if name in value.__globals__:
                yield f"{value.__module__}.{name}", value.__globals__[name]


def _names(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            yield from _names(inner)


def _is_of(module: str, names: tuple[str, ...]) -> bool:
    """Whether a module is one of `names`, within one, or of Python's own."""
    top = module.partition(".")[0]
    return top in sys.stdlib_module_names or any(
        module == name or module.startswith(f"{name}.") for name in names
    )
