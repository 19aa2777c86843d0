"""What may be kept of the samples that this process makes."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any

from drapps import _core
from drapps.item_cache.draws import Draws
from drapps.item_cache.reach import Reached
from drapps.item_cache.values import NotKept, Writer, written

_IN_A_ROW = 16  # samples that cannot be kept, after which most are not looked at
_LOOKED_AT = 64  # of so many samples one is looked at then
# What is said once, by any process.
_DRAWS, _CLASS, _NO_LIST, _UNKNOWN, _DIFFERENT = range(5)
_DRAWN = (
    "samples of %s are not kept because making them draws random numbers, or asks for the seed of "
    "a worker or the state of a generator: give drapps.cached the dataset without its random "
    "transforms, and apply these to what it returns; or keep of each sample what is drawn first, "
    "with frozen=True"
)
_HIDDEN = (
    "samples of %s are not kept because there is no telling whether making them draws random "
    "numbers: %s; where each is the same whenever it is made, keep them with frozen=True"
)
_log = logging.getLogger("drapps")


class Making:
    """Makes samples of one dataset, and says which may be kept: those that drew nothing."""

    def __init__(
        self, dataset: Any, cache: _core.ItemCache, frozen: bool, reached: Reached | None
    ) -> None:
        """For samples of `dataset` that go to `cache`; `frozen` ones whatever they drew.

        What the dataset has `reached` is looked for where it is not given.
        """
        self._name = type(dataset).__qualname__
        self._cache = cache
        self._draws = None if frozen else Draws(dataset, reached)
        self._unkept = 0  # in a row
        self._passed = 0
        self._thread = threading.local()

    @property
    def within(self) -> bool:
        """Whether this thread is making a sample, and so holds a claim."""
        return getattr(self._thread, "within", False)

    def passes(self) -> bool:
        """Whether the next sample is not to be kept, whatever it is or as those before it were."""
        if self._draws is not None and (why := self._draws.unknown()):
            self._say(_UNKNOWN, _HIDDEN, self._name, why)
            return True
        if self._unkept < _IN_A_ROW:
            return False
        self._passed += 1
        return self._passed % _LOOKED_AT != 0

    def one(self, make: Callable[[], Any]) -> tuple[Any, Writer | None]:
        """The sample that `make` gives, and how it is to be kept."""
        value, drawn = self._watched(make)
        return value, None if drawn else self.written(value)

    def several(
        self, make: Callable[[], Any], count: int
    ) -> tuple[list[Any] | None, list[Writer | None]]:
        """So many samples that `make` gives in one list; None where it gives something else."""
        values, is_list, drawn = self.together(make, count)
        if not is_list:
            return None, []
        return values, [None if drawn else self.written(value) for value in values]

    def together(self, make: Callable[[], Any], count: int) -> tuple[Any, bool, bool]:
        """What `make` gives, whether it is a list of so many samples, and whether it drew."""
        values, drawn = self._watched(make)
        is_list = type(values) is list and len(values) == count
        if not is_list:
            text = "%s.__getitems__ gives no list of samples, so they are not kept"
            self._say(_NO_LIST, text, self._name)
        return values, is_list, drawn

    def _watched(self, make: Callable[[], Any]) -> tuple[Any, bool]:
        """What `make` gives, and whether it drew."""
        outer, self._thread.within = self.within, True
        try:
            if self._draws is None:
                return make(), False
            before = self._draws.before()
            value = make()
            drawn = self._draws.since(before)
        finally:
            self._thread.within = outer
        if drawn:
            self._unkept += 1
            if self._unkept >= _IN_A_ROW:
                self._say(_DRAWS, _DRAWN, self._name)
        return value, drawn

    def written(self, value: Any) -> Writer | None:
        """How a sample is to be kept; None where it cannot be."""
        try:
            writer = written(value)
        except NotKept as refusal:
            why = str(refusal)
        except Exception as error:
            # NumPy, torch and Pillow refuse what is in a state that nothing here knows of.
            why = f"it cannot be written ({type(error).__name__}: {error})"
        else:
            self._unkept = 0
            return writer
        self._unkept += 1
        self._say(_CLASS, "a sample of %s is not kept because %s", self._name, why)
        return None

    def say_different(self, text: str, index: Any) -> None:
        """Says, once, why samples that are made together are not kept."""
        self._say(_DIFFERENT, text, self._name, index)

    def _say(self, what: int, text: str, *arguments: Any) -> None:
        if self._cache.first(what):
            _log.warning(text, *arguments)
