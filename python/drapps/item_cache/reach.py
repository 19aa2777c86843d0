"""What a dataset reaches, as it changes."""

from __future__ import annotations

import copy
import gc
import operator
from types import FunctionType
from typing import Any

from drapps.item_cache.findings import ABSENT
from drapps.item_cache.kinds import generator_classes
from drapps.item_cache.walk import Walk

# The code that names one of these may make a generator, and put it anywhere.
_MAKES = frozenset(
    (
        *("Random", "SystemRandom", "default_rng", "RandomState", "Generator", "BitGenerator"),
        *("PCG64", "PCG64DXSM", "MT19937", "SFC64", "Philox", "SeedSequence"),
    )
)
# By these, what is drawn can depend on a generator that stands as before.
_READS = frozenset(
    (
        *("initial_seed", "fork_rng", "isolate_rng", "getstate", "get_state", "get_rng_state"),
        *("get_rng_state_all", "get_bit_generator", "bit_generator", "seed_seq", "jumped"),
        *("clone_state", "graphsafe_get_state", "default_generator", "_inst", "_rand"),
    )
)
_COPIES = frozenset(
    (*("deepcopy", "dumps", "__reduce__", "__reduce_ex__", "__getstate__", "__copy__"),)
)
_MUCH = 2000  # objects, from which on it counts how often they are looked at
_MOST_AGAIN = 2_000_000  # objects looked at in searches after the first one
_GROWTH = 10_000  # parts that may be added before all is looked at again


class Reached:
    """What was found from a dataset, by a search that is gone on with where something changes.

    Attributes:
        missing: why something may not have been found; empty where all was.
    """

    def __init__(self, root: Any) -> None:
        """Looks at `root`, and all that it reaches."""
        self._root = root
        self._again = 0
        self.missing = ""
        self._search()

    @property
    def generators(self) -> list[Any]:
        """Generators of random numbers, but for the global ones."""
        return self._walk.findings.generators

    @property
    def functions(self) -> list[FunctionType]:
        """Functions of the user's modules."""
        return self._walk.findings.functions

    @property
    def packages(self) -> set[str]:
        """The libraries that the user's code and objects come from."""
        return self._walk.findings.packages

    @property
    def bindings(self) -> list[tuple[Any, str, Any]]:
        """Names that the user's functions and classes have for others: whose, which, for what."""
        return self._walk.findings.bindings

    @property
    def reads_states(self) -> bool:
        """Whether the user's code asks for the seed of a worker, or for a generator's state."""
        names = self._walk.findings.names
        if not names.isdisjoint(_READS) or {"get_worker_info", "seed"} <= names:
            return True
        return bool(self.generators) and self._copies()

    def _copies(self) -> bool:
        """Whether the user's code may copy a generator."""
        facts = self._walk.findings
        values = [value for _, _, value in facts.globals]
        named = "copy" in facts.names and any(value is copy for value in values)
        named = named or any(value is copy.copy or value is copy.deepcopy for value in values)
        return named or not facts.names.isdisjoint(_COPIES)

    def refresh(self) -> None:
        """Looks at what has changed."""
        if not self._stands() and not self._accepts():
            self._search()
            if self._walk.objects > _MUCH:
                self._again += self._walk.objects
            if self._again > _MOST_AGAIN:
                self.missing = self.missing or "what it holds changes again and again"

    def _search(self) -> None:
        walk = Walk(self._root)
        held = any(issubclass(one, generator_classes()) for one in walk.findings.classes)
        self._makes = held or not walk.findings.names.isdisjoint(_MAKES)
        if walk.data and self._makes and not walk.findings.missing:
            walk = Walk(self._root, exact=True)
        parts: list[Any] = gc.get_referents(*walk.holders)
        self._most = 2 * len(parts) + _GROWTH
        self._walk, self._parts = walk, parts
        self.missing = self.missing or walk.findings.missing

    def _stands(self) -> bool:
        """Whether all that was looked at still has the same parts."""
        now = gc.get_referents(*self._walk.holders)
        return _same(now, self._parts) and self._names_stand()

    def _names_stand(self) -> bool:
        facts = self._walk.findings
        return all(home.get(name, ABSENT) is value for home, name, value in facts.globals) and all(
            _same(parts(), before) for parts, before in facts.readings
        )

    def _accepts(self) -> bool:
        """Whether what has changed is data, which nothing that draws can come to."""
        if self._makes or not self._names_stand():
            return False
        now = gc.get_referents(*self._walk.holders)
        known = set(map(id, self._parts))
        new = [part for part in now if id(part) not in known]
        if len(now) > self._most or not self._walk.is_known_data(new):
            return False
        self._parts = now
        return True


def _same(some: list[Any], others: list[Any]) -> bool:
    return len(some) == len(others) and all(map(operator.is_, some, others))
