"""How large a user's objects are, as far as a limited number of looks can tell."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterator
from itertools import islice
from typing import Any

from drapps.attributes import attributes_of

_MOST = 100_000  # looks in all
_MOST_FOR_ONE = 10_000
_LOOKED_AT = 64  # elements of a container, from which the others are inferred
_ATOMS = (str, bytes, int, float, bool, type(None))


class Looks:
    """Counts looks at objects.

    Attributes:
        left: how many more there may be.
    """

    def __init__(self, most: int = _MOST) -> None:
        self.left = most

    def size_of(self, items: list[Any]) -> int:
        """Bytes of a list and of what its elements hold, about; what holds itself counts once.

        What is not looked at any more counts nothing.
        """
        size, seen = 0.0, {id(items)}
        ahead: deque[tuple[Any, float]] = deque(_within(items, 1.0))
        end = self.left - _MOST_FOR_ONE
        while ahead and self.left > max(end, 0):
            self.left -= 1
            value, copies = ahead.popleft()
            size += copies * _own_size(value)
            if not isinstance(value, _ATOMS) and id(value) not in seen:
                seen.add(id(value))
                ahead.extend(_within(value, copies))
        return int(size) + 8 * len(items)


def _own_size(value: Any) -> int:
    try:
        return sys.getsizeof(value)
    except Exception:  # the user's own __sizeof__
        return 0


def _within(value: Any, copies: float) -> Iterator[tuple[Any, float]]:
    """Some of the parts of `value`, and for how many each of them stands."""
    if isinstance(value, (list, tuple)):
        all_parts, parts = len(value), list(value[:: max(1, len(value) // _LOOKED_AT)])
    elif isinstance(value, (set, frozenset)):
        all_parts, parts = len(value), list(islice(value, _LOOKED_AT))
    else:
        of = value if isinstance(value, dict) else attributes_of(value)
        items = islice(dict.items(of), _LOOKED_AT)
        all_parts, parts = 2 * len(of), [part for item in items for part in item]
    return ((part, copies * all_parts / len(parts)) for part in parts)
