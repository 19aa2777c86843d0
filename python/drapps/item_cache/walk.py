"""One look at all that a dataset reaches, level by level.

Attributes, containers, closures, defaults and the global names of functions are followed, in the
user's own modules; of libraries the objects are, and not their code. Where there is much on one
level, what is data alone is looked through at once and left behind: so a million annotations cost
little, and hide nothing.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable
from typing import Any

import numpy as np

from drapps.item_cache.findings import Findings
from drapps.item_cache.kinds import ATOMS, Look, is_looked_into, look_at

_MANY = 1000  # parts of an object, which is not held from there on
_CHUNK = 100  # objects of a level that may be data together
_MOST = 100_000  # objects that are looked at one by one
_MOST_PARTS = 200_000  # of objects that are looked at one by one
_MOST_DATA = 150_000_000  # parts of data
_MOST_REMEMBERED = 1_000_000  # objects of a level; of data there may be more, seen again
_DEEPEST = 24  # levels of data
_IMMUTABLE = (tuple, frozenset)


class Walk:
    """What was found from a dataset.

    Attributes:
        findings: in objects of kinds of their own.
        holders: objects that can change, and have parts that count.
        data: parts of data that are not held.
        objects: that were looked at one by one.
    """

    def __init__(self, root: Any, exact: bool = False) -> None:
        """Looks at `root`, and all that it reaches; where `exact`, nothing is left behind."""
        self._most = _MOST_PARTS if exact else _MANY
        self.findings = Findings(self._most)
        self.holders: list[Any] = []
        self.data = self.objects = 0
        self._exact = exact
        self._parts = 0
        self._looks: dict[type, Look] = {}
        self._nothing: set[type] = set(ATOMS)
        self._seen: set[int] = set()
        alive = []  # what was seen, so that nothing else gets its address
        level = [root]
        while level:
            alive.append(level)
            level = self._beyond(level)
        for package in sorted(filter(is_looked_into, self.findings.packages)):
            self.findings.look_at_library(package)

    def is_known_data(self, values: Iterable[Any]) -> bool:
        """Whether values hold nothing but data, of classes that were looked at."""
        met: set[type] = set()
        return self._is_data(list(values), met) and met <= self.findings.classes

    def _beyond(self, values: list[Any]) -> list[Any]:
        """The next level."""
        nothing = self._nothing
        level = [one for one in values if type(one) not in nothing]
        is_remembered = len(level) <= _MOST_REMEMBERED
        if is_remembered:
            level = self._unseen(level)
        met: set[type] = set()
        if len(level) > _CHUNK and not self._exact:
            size = min(max(_CHUNK, len(level) // _CHUNK), _MANY)
            chunks = [level[at : at + size] for at in range(0, len(level), size)]
            level = [one for chunk in chunks if not self._is_data(chunk, met) for one in chunk]
        elif self._exact:  # what cannot change need not be held
            level = [one for one in level if not (type(one) is tuple and self._is_flat(one))]
        if not is_remembered:
            level = self._unseen(level)
        following: list[Any] = []
        for value in [*met, *level]:  # those that were met may have been seen as data
            self.objects += 1
            if self.objects > _MOST or self._parts > _MOST_PARTS:
                self.findings.miss("it holds too many objects to look at each")
                return []
            try:
                following += self._parts_of(value)
            except Exception as error:  # of an object whose class has other ideas of attributes
                self.findings.miss(
                    f"looking at a {type(value).__qualname__} in it failed ({error})"
                )
        return following

    def _unseen(self, values: list[Any]) -> list[Any]:
        """The values that no level had before; all count as seen from now on."""
        new = {id(one): one for one in values}
        unseen = [one for at, one in new.items() if at not in self._seen]
        self._seen.update(new)
        return unseen

    def _is_flat(self, values: tuple[Any, ...]) -> bool:
        return self._nothing.issuperset(map(type, values))

    def _look(self, kind: type) -> Look:
        look = self._looks.get(kind)
        if look is None:
            look = self._looks[kind] = look_at(kind)
            if look is Look.NOTHING:
                self._nothing.add(kind)
        return look

    def _parts_of(self, value: Any) -> list[Any]:
        look = self._look(type(value))
        if look is Look.NOTHING:
            return []
        if look is Look.UNKNOWN:
            kind = type(value)
            self.findings.miss(
                f"nobody can look into the {kind.__module__}.{kind.__qualname__} in it"
            )
            return []
        parts = self.findings.look(value) if look is Look.OWN else gc.get_referents(value)
        if len(parts) > self._most:
            self.data += len(parts)
        elif type(value) not in _IMMUTABLE:
            self.holders.append(value)
            self._parts += len(parts)
        return parts

    def _is_data(self, level: list[Any], met: set[type]) -> bool:
        """Whether values hold nothing that leads anywhere but to classes, which become `met`."""
        for _ in range(_DEEPEST):
            kinds = set(map(type, level)) - self._nothing
            kinds = {kind for kind in kinds if self._look(kind) is not Look.NOTHING}
            if not kinds:
                return True
            arrays = tuple(kind for kind in kinds if issubclass(kind, (np.ndarray, np.void)))
            if any(isinstance(one, arrays) and one.dtype.hasobject for one in level if arrays):
                return False
            classes = tuple(kind for kind in kinds if issubclass(kind, type))
            if classes:
                met.update(one for one in level if isinstance(one, classes))
            kinds -= {*arrays, *classes}
            if any(self._look(kind) is not Look.PARTS for kind in kinds):
                return False
            level = gc.get_referents(*(one for one in level if type(one) in kinds))
            self.data += len(level)
            if self.data > _MOST_DATA:
                self.findings.miss(f"it has more than {_MOST_DATA} parts")
                return True
        return False
