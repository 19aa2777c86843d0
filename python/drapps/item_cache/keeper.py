"""What becomes of an item: it is given from the cache, or made, and then kept where it may be."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any
from weakref import WeakValueDictionary

from drapps import _core
from drapps.errors import SampleError
from drapps.item_cache.making import Making
from drapps.item_cache.reach import Reached
from drapps.item_cache.together import MakeOne, MakeSeveral, Together
from drapps.item_cache.values import DamagedBlockError, UnknownHere, Writer, marked, value_in

_PATIENCE = 10.0  # seconds for which an item is waited for that another process makes
_NOTHING: Any = object()


class SharedCache:
    """A cache as this process has it.

    Attributes:
        cache: what all processes share.
        maker: the process that made it, and its descriptor there.
    """

    def __init__(self, cache: _core.ItemCache, maker: tuple[int, int] | None = None) -> None:
        """For a cache that this process has made where `maker` is absent, or attached to."""
        self.cache = cache
        self.maker = maker or (os.getpid(), cache.fd)
        _here[cache.token] = self

    @property
    def places(self) -> tuple[tuple[int, int], ...]:
        """Processes that have it, and its descriptor there: this one, and its maker."""
        return (os.getpid(), self.cache.fd), self.maker


_here: WeakValueDictionary[bytes, SharedCache] = WeakValueDictionary()


def cache_here(token: bytes) -> SharedCache | None:
    """The cache of that token, where this process has it."""
    return _here.get(token)


class Keeper:
    """The items of one dataset object; a copy of it has one of its own, over the same cache.

    A sample is a function of its index, and of the class of number that this is given as: it may
    hold the very number. So each is kept with the mark of that class, and given for no other.

    Attributes:
        shared: where they are kept.
        cache: the same, without its places.
        frozen: items are kept whatever they drew.
    """

    def __init__(
        self, dataset: Any, shared: SharedCache, frozen: bool, reached: Reached | None = None
    ) -> None:
        """For the items that `dataset` makes; what it has `reached` may be known already."""
        self.shared = shared
        self.cache = shared.cache
        self.frozen = frozen
        self._making = Making(dataset, shared.cache, frozen, reached)
        self._together = Together(dataset, shared.cache, self._making, frozen)

    def item(self, index: int, mark: int, make: Callable[[], Any]) -> Any:
        """An item, equal to what `make` gives.

        Args:
            index: below the number of items.
            mark: of the class in which it was given.
            make: makes it.

        Raises:
            SampleError: something has written over it.
        """
        block = self.cache.get(index)
        if block is not None:
            value = self._read(index, mark, block)
        elif self._making.passes():
            value = _NOTHING
        else:
            value = self._claimed(index, mark, make)
        return make() if value is _NOTHING else value

    def _claimed(self, index: int, mark: int, make: Callable[[], Any]) -> Any:
        """An item that was not there: this process makes it, or another one just now."""
        # Who holds a claim waits for nobody: the other one may be waiting for that claim.
        state = self.cache.claim(index, 0.0 if self._making.within else _PATIENCE)
        if state != "taken":
            block = self.cache.get(index) if state == "ready" else None
            return _NOTHING if block is None else self._read(index, mark, block)
        try:
            value, writer = self._making.one(make)
        except BaseException:
            self.cache.abandon(index)
            raise
        self._settle(index, mark, writer)
        return value

    def items(
        self,
        given: list[Any],
        marks: Sequence[int],
        make: MakeSeveral,
        one: MakeOne,
    ) -> Any:
        """As `item`, for several that `make` makes together, as a list, and `one` each."""
        if self._together.differ or not given or self._making.passes():
            return make(given)
        if not self._together.are_alike:
            values, is_list, drawn = self._making.together(lambda: make(given), len(given))
            if not is_list:
                self._together.give_batches()
            elif not drawn:
                self._together.compare(given, make, one)
            return values
        indices = list(map(int, given))
        entries: dict[int, Any] = {}  # by the place in the list
        claimed: list[int] = []  # places
        try:
            for place, index in enumerate(indices):
                block = self.cache.get(index)
                if block is not None:
                    entries[place] = self._read(index, marks[place], block)
                elif self.cache.claim(index) == "taken":
                    claimed.append(place)
            if claimed:
                wanted = [given[place] for place in claimed]
                values, writers = self._making.several(lambda: make(wanted), len(wanted))
                if values is None:
                    self._together.give_batches()
                    return make(given)
                entries |= zip(claimed, values, strict=True)
                for writer in reversed(writers):
                    place = claimed.pop()
                    self._settle(indices[place], marks[place], writer)
        finally:
            for place in claimed:
                self.cache.abandon(indices[place])
        for place, index in enumerate(indices):
            if entries.get(place, _NOTHING) is _NOTHING:
                entries[place] = self._alone(index, marks[place], given[place], one)
        return [entries[place] for place in range(len(indices))]

    def _alone(self, index: int, mark: int, given: Any, one: MakeOne) -> Any:
        return self.item(index, mark, lambda: one(given))

    def _settle(self, index: int, mark: int, writer: Writer | None) -> None:
        """Ends a claim, with an item where there is room for it."""
        if writer is None:
            self.cache.abandon(index)
            return
        room = self.cache.begin(index, writer.nbytes)
        if room is None:
            return
        try:
            writer.write(room.data, mark)
        except BaseException:
            self.cache.abandon(index)
            raise
        self.cache.publish(index)

    def _read(self, index: int, mark: int, block: Any) -> Any:
        view = block.data
        if marked(view) not in (mark, -1):
            return _NOTHING
        try:
            return value_in(view)
        except UnknownHere:
            return _NOTHING
        except DamagedBlockError as error:
            message = (
                f"{error}: something has written over the cached items, as native code does that "
                "writes beyond an array's end; find it, or do without drapps.cached"
            )
            raise SampleError("deliver", "corrupt", "", -1, index, message) from error
