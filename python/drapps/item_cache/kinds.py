"""What the objects of a class can hold, by the class alone.

Objects of Python classes hold what the garbage collector sees. Those of extension modules may hold
anything: only of well-known libraries it is known that nothing draws random numbers in there.
"""

from __future__ import annotations

import _random
import builtins
import contextvars
import datetime
import decimal
import enum
import pathlib
import random
import sys
import types
import weakref
from typing import Any

import numpy as np

from drapps.item_cache.code import top_of
from drapps.libraries import Known, named


class Look(enum.Enum):
    """How an object is looked at."""

    NOTHING = enum.auto()  # it holds nothing from which random numbers come
    PARTS = enum.auto()  # all that it holds is what the garbage collector sees
    OWN = enum.auto()  # in a way of its own: a function, a class, a generator of random numbers
    UNKNOWN = enum.auto()  # nobody can look into it


ATOMS = (
    *(bool, int, float, complex, str, bytes, bytearray, type(None), type(...), range, slice),
    *(types.CodeType, pathlib.PosixPath, pathlib.PurePosixPath, datetime.datetime, datetime.date),
    *(datetime.timedelta, decimal.Decimal),
)
_OWN = (
    *(type, types.FunctionType, types.BuiltinFunctionType, types.ModuleType, types.GeneratorType),
    *(contextvars.ContextVar, weakref.ref, np.ndarray, np.void),
)
_OWN_LIBRARIES = ("drapps", "tokenizers", "_cython")
_CLOSED, _SEEN = named(Known.CLOSED), named(Known.IN_SIGHT)
_BUILTIN = {
    kind for home in (builtins, types) for kind in vars(home).values() if isinstance(kind, type)
} | {type(iter(range(0))), type(iter(range(1 << 70)))}
_IS_COLLECTED = 1 << 14  # Py_TPFLAGS_HAVE_GC


def generator_classes() -> tuple[type, ...]:
    """Classes whose objects random numbers, or the seeds of others, are drawn from."""
    torch = sys.modules.get("torch")
    own: tuple[Any, ...] = (
        *(_random.Random, np.random.Generator, np.random.RandomState),
        *(np.random.BitGenerator, np.random.SeedSequence),
    )
    return own if torch is None else (*own, torch.Generator)


def global_generators() -> tuple[Any, ...]:
    """The generators that belong to everybody."""
    torch: Any = sys.modules.get("torch")
    numpys: Any = np.random.mtrand._rand
    own = (random._inst, numpys, numpys._bit_generator)
    return own if torch is None else (*own, torch.default_generator)


def look_at(kind: type) -> Look:
    """How objects of a class are looked at."""
    if kind in ATOMS or (issubclass(kind, np.generic) and not issubclass(kind, np.void)):
        return Look.NOTHING
    top = _home_of(kind)
    if issubclass(kind, (*generator_classes(), *_OWN)) or top in _OWN_LIBRARIES:
        return Look.OWN
    if top in _CLOSED:
        return Look.NOTHING
    opaque = _opaque_base(kind)
    if opaque is None:
        return Look.PARTS
    collected = bool(kind.__flags__ & _IS_COLLECTED)
    home = _home_of(opaque)
    if home == "builtins" and not collected:
        return Look.NOTHING if opaque in _BUILTIN else Look.UNKNOWN
    if home in _CLOSED:
        return Look.NOTHING
    if home in _SEEN or home in sys.stdlib_module_names or home == "builtins":
        return Look.PARTS if collected else Look.NOTHING
    return Look.UNKNOWN


def is_looked_into(package: str) -> bool:
    """Whether a library is one that may have generators of its own, which no user sees."""
    return package not in (_CLOSED | _SEEN | sys.stdlib_module_names | {"drapps", "builtins"})


def _home_of(kind: type) -> str:
    top = top_of(str(kind.__module__))
    return "_cython" if top.startswith("_cython") else top


def _opaque_base(kind: type) -> type | None:
    """The class of its bases whose objects have bytes that no attribute shows."""
    above: type | None = None
    at: Any = kind
    while at is not object:
        base = at.__base__
        slots = sum(type(one) is types.MemberDescriptorType for one in vars(at).values())
        slots += at.__dictoffset__ > 0 and base.__dictoffset__ <= 0
        slots += at.__weakrefoffset__ > 0 and base.__weakrefoffset__ <= 0
        if (
            at.__basicsize__ > base.__basicsize__ + 8 * slots
            or at.__itemsize__ != base.__itemsize__
        ):
            is_pybind = _home_of(at) == "pybind11_builtins"  # the base of all that it makes
            return above if is_pybind and above is not None else at
        above, at = at, base
    return None
