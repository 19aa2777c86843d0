"""What arguments may be. Each check gives the argument as the core takes it, or names it.

Numbers may be of any class, NumPy's too. A bool is no number, and neither is a text; but a size in
bytes may be one: see `byte_count`.
"""

from __future__ import annotations

import json
import math
import operator
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Real
from typing import Any

from drapps.errors import PipelineError

Bytes = int | str  # a number of bytes, or a text that `size_of` reads

_SIZE = re.compile(r"([0-9]+) ?([KMGTP]?)(I?B)?", re.ASCII | re.IGNORECASE)
_MOST_BYTES = 2**63 - 1


def size_of(text: str, letters: bool = False) -> int:
    """The bytes that a text says: ``4096``, ``512MiB``, ``1 GB``.

    KB, MB, GB, TB and PB are powers of 1000; KiB, MiB, GiB, TiB and PiB are powers of 1024. Case
    does not matter.

    Args:
        text: the size.
        letters: K, M, G, T and P alone are powers of 1024, too, as in GNU's commands.

    Raises:
        ValueError: it is no size.
    """
    match = _SIZE.fullmatch(text.strip())
    power, unit = ("", "") if match is None else (match[2].upper(), (match[3] or "").upper())
    alone = power and not unit and not letters
    if match is None or alone or (unit == "IB" and not power):
        raise ValueError(f"{text!r} is no size; write 4096, 512MiB or 1GB")
    factor: int = (1000 if unit == "B" else 1024) ** " KMGTP".index(power or " ")
    return int(match[1]) * factor


def byte_count(name: str, value: Any, lowest: int = 1, besides: str = "") -> int:
    """A number of bytes from `lowest` on: a whole number, or a text that `size_of` reads.

    Args:
        name: of the argument.
        value: that it has.
        lowest: that it may be.
        besides: what else the argument may be, as the beginning of a list.
    """
    try:
        count = size_of(value) if isinstance(value, str) else whole(name, value, lowest)
    except ValueError:
        count = -1
    if not lowest <= count <= _MOST_BYTES:
        kind = f"{besides}a number of bytes" if besides else "a whole number"
        raise PipelineError(
            f"{name}={value!r} must be {kind} from {lowest} to 2**63 - 1, or a size such as "
            "'512MiB' or '1GB'"
        )
    return count


def whole(name: str, value: Any, lowest: int, highest: int | None = None) -> int:
    """A whole number from `lowest` to `highest`, in whichever integer class."""
    try:
        number = None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = None
    if number is None or number < lowest or (highest is not None and number > highest):
        end = "" if highest is None else f" to {_shown(highest)}"
        raise PipelineError(f"{name}={value!r} must be a whole number from {lowest}{end}")
    return number


def _shown(highest: int) -> str:
    power = highest.bit_length()
    return f"2**{power} - 1" if power > 20 and highest == 2**power - 1 else str(highest)


def rank_in(rank: Any, world: Any, model_parallel: Any = 1) -> tuple[int, int]:
    """A rank, from 0, and how many there are, where so many neighbours count as one."""
    world = whole("world", world, 1, 2**31 - 1)
    rank = whole("rank", rank, 0)
    if rank >= world:
        raise PipelineError(f"rank={rank} must be below world={world}")
    together = whole("model_parallel", model_parallel, 1, world)
    if world % together:
        raise PipelineError(f"model_parallel={together} must divide world={world}")
    return rank // together, world // together


def seed(name: str, value: Any) -> int:
    """A seed."""
    return whole(name, value, 0, 2**64 - 1)


def number_in(value: Any) -> float | None:
    """The number that a value is, which may be infinite or NaN; None where it is none."""
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    try:
        return float(value) if is_number else None
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def positive(name: str, value: Any) -> float:
    """A number above 0, which is finite."""
    number = number_in(value)
    if number is None or not 0 < number < math.inf:
        raise PipelineError(f"{name}={value!r} must be a positive number")
    return number


def cores(name: str, value: Any) -> float:
    """A number of cores that a budget may be; the core has the same bounds."""
    number = number_in(value)
    if number is None or not 1e-4 <= number <= 4096:
        raise PipelineError(
            f"{name}={value!r} must be a number of cores from 0.0001 to 4096; leave it out for all "
            "that there are"
        )
    return number


def seconds(name: str, value: Any, highest: float = math.inf) -> float:
    """A number of seconds from 0 to `highest`."""
    duration = number_in(value)
    if duration is None or not 0 <= duration <= highest:
        end = "" if highest == math.inf else f" to {highest:g}"
        raise PipelineError(f"{name}={value!r} must be a number of seconds from 0{end}")
    return duration


def chance(value: Any, name: str = "p") -> float:
    """A probability."""
    probability = number_in(value)
    if probability is None or not 0.0 <= probability <= 1.0:
        raise PipelineError(f"{name}={value!r} must be a probability from 0 to 1")
    return probability


def flag(name: str, value: Any) -> bool:
    """True or False, NumPy's too; 1 and 0 will do."""
    if isinstance(value, bool) or type(value).__name__ in ("bool", "bool_"):
        return bool(value)
    if number_in(value) not in (0.0, 1.0):
        raise PipelineError(f"{name}={value!r} must be True or False")
    return bool(value)


def one_of(name: str, value: Any, choices: Sequence[str]) -> str:
    """A name that is among `choices`."""
    if not isinstance(value, str) or value not in choices:
        raise PipelineError(f"{name}={value!r} must be one of {', '.join(choices)}")
    return choices[choices.index(value)]


def text(name: str, value: Any) -> str:
    """A text."""
    if not isinstance(value, str):
        raise PipelineError(f"{name}={value!r} must be a text")
    return value


def texts(name: str, value: Any, what: str) -> list[str]:
    """One text, or a list of them that is not empty, each of which is not; `what` they are."""
    entries = [value] if isinstance(value, str) else elements(value)
    if not entries or not all(isinstance(each, str) and each for each in entries):
        raise PipelineError(f"{name}={value!r} must be {what}, at least one")
    return entries


def called(name: str, value: Any) -> Callable[..., Any]:
    """Something that can be called."""
    if not callable(value):
        raise PipelineError(f"{name}={value!r} must be a function, or something else to call")
    function: Callable[..., Any] = value
    return function


def path(name: str, value: Any, what: str = "file") -> str:
    """The name of a file, or of whatever else `what` says."""
    try:
        filename = os.fsdecode(value)
    except TypeError:
        filename = ""
    if not filename or "\0" in filename:
        raise PipelineError(f"{name}={value!r} must be the name of a {what}")
    return filename


def paths(name: str, values: Any) -> list[bytes]:
    """The names of files, as the system takes them."""
    files = elements(values)
    if files is None:
        raise PipelineError(f"{name}={values!r} must be a list of files")
    try:
        return [os.fsencode(each) for each in files]
    except TypeError as error:
        raise PipelineError(f"{name} holds what is no name of a file: {error}") from None


def file_bytes(name: str, value: Any) -> bytes:
    """The contents of a file."""
    if not isinstance(value, (bytes, bytearray, memoryview)):
        raise PipelineError(f"{name} must be the bytes of a file, and is {type(value).__name__}")
    return bytes(value)


def fields(name: str, value: Any) -> dict[str, Any]:
    """A mapping whose keys are texts."""
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise PipelineError(f"{name}={value!r} must be a mapping, with texts for its keys")
    return dict(value)


def json_of(name: str, value: Any) -> str:
    """A value as JSON, for the core."""
    try:
        return json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        raise PipelineError(
            f"{name}={value!r} must be made of plain numbers, texts, lists and mappings"
        ) from None


def listed(value: Any) -> list[Any] | None:
    """The elements of a list or of its like, in order; None where it is no such thing."""
    return None if isinstance(value, (Mapping, set, frozenset)) else elements(value)


def elements(value: Any) -> list[Any] | None:
    """The elements of anything that can be iterated over; None where it cannot, or is a text."""
    if isinstance(value, (str, bytes, bytearray)) or not isinstance(value, Iterable):
        return None
    try:
        return list(value)
    except TypeError:  # an array without dimensions
        return None


def one_or_more(value: Any) -> list[Any]:
    """The elements of a list or of its like, or the one thing that it is."""
    entries = listed(value)
    return [value] if entries is None else entries


def floats(name: str, values: Any, each: str = "one per channel") -> list[float]:
    """A list of finite numbers."""
    entries = listed(values)
    try:
        numbers = [_float_of(value) for value in ([None] if entries is None else entries)]
    except (TypeError, ValueError, OverflowError):
        numbers = [math.nan]
    if not all(map(math.isfinite, numbers)):
        raise PipelineError(f"{name}={values!r} must be numbers, {each}")
    return numbers


def _float_of(value: Any) -> float:
    if isinstance(value, (bool, str, bytes)):
        raise TypeError
    return float(value)


def interval(name: str, values: Any) -> list[float]:
    """Two numbers, the lower first."""
    both = floats(name, values, "two of them, the lower first")
    if len(both) != 2 or both[0] > both[1]:
        raise PipelineError(f"{name}={values!r} must be two numbers, the lower first")
    return both
