"""Large lists of a dataset, moved to memory that all processes read.

Python counts references inside of objects, so a process that only reads a list it shares with its
parent after a fork ends up with a copy of every page of it. A `SharedList` keeps its elements
pickled in one memory file instead, and makes an element when it is asked for.
"""

from __future__ import annotations

import logging
import mmap
import os
import pickle
from array import array
from collections import deque
from collections.abc import Callable, Iterator, MutableSequence
from multiprocessing import context
from typing import Any
from weakref import WeakValueDictionary

from drapps.attributes import attributes_of
from drapps.worker.descriptor import Descriptor
from drapps.worker.looks import Looks
from drapps.worker.serialise import Reduce

LARGE = 64 << 20  # bytes
_LOOKED_AT = 64  # elements that are looked for datasets
_UNCHANGING = (str, bytes, int, float, tuple, frozenset, type(None))  # cannot change in place
_log = logging.getLogger("drapps")
_WRITE = 8 << 20  # bytes that are collected before they are written


class SharedElements:
    """Pickles of elements, one behind the other, in memory that any process maps."""

    def __init__(self, memory: Descriptor, places: Descriptor, length: int) -> None:
        """For `SharedList.of`, and for the process that receives it.

        Args:
            memory: pickles of the elements.
            places: where each of them ends.
            length: their number.
        """
        self._memory = memory
        self._places = places
        self.length = length
        self._bytes = _mapped(memory.fd)
        self._ends = memoryview(_mapped(places.fd)).cast("q")
        self.inode = os.fstat(memory.fd).st_ino  # the same in every process
        _mapped_here[self.inode] = self

    def make(self, place: int) -> Any:
        """The element at `place`, a new object."""
        return pickle.loads(self._bytes[self._ends[place] : self._ends[place + 1]])

    def __reduce__(self) -> Any:
        return SharedElements, (self._memory, self._places, self.length)


_mapped_here: WeakValueDictionary[int, SharedElements] = WeakValueDictionary()


def elements_mapped_here() -> list[SharedElements]:
    """The elements of all the lists of this process."""
    return list(_mapped_here.values())


def keeping_lists_shared(reduce: Reduce | None) -> Reduce:
    """`reduce` for one pickle, by which a `SharedList` stays one in a process of the same loader.

    It goes as the memory that both processes map: a descriptor would be fetched from the sender,
    which may have ended by then.
    """

    def keeping(value: Any) -> Any:
        if type(value) is SharedList:
            return _list_here, value.parts_here()
        return NotImplemented if reduce is None else reduce(value)

    return keeping


def _list_here(inode: int, own: dict[int, Any]) -> SharedList:
    return SharedList(_mapped_here[inode], own)


class SharedList(MutableSequence[Any]):
    """A list of fixed length in shared memory. Each access makes a new object.

    What a process assigns to an index is seen by that process alone, and by those that it starts,
    as in a forked list. It cannot grow or shrink. Sums of it are plain lists, and so is what a
    pickle or a deep copy of it gives.
    """

    __hash__ = None  # type: ignore[assignment]  # as of a list

    def __init__(self, elements: SharedElements, own: dict[int, Any] | None = None) -> None:
        """For `SharedList.of`, and for the process that receives it.

        Args:
            elements: what the list was made of.
            own: what was assigned in the place of some.
        """
        self._elements = elements
        self._own = dict(own or {})

    @classmethod
    def of(cls, items: list[Any]) -> SharedList:
        """The elements of `items`, copied. Raises what pickling an element raises."""
        memory, places = _memory_file("drapps-list"), _memory_file("drapps-list-ends")
        ends, pending, end = array("q", [0]), bytearray(), 0
        for item in items:
            data = pickle.dumps(item, protocol=5)
            pending += data
            end += len(data)
            ends.append(end)
            if len(pending) >= _WRITE:
                memory.write(pending)
                pending.clear()
        memory.write(pending)
        places.write(ends)
        return cls(SharedElements(memory, places, len(items)))

    def __len__(self) -> int:
        return self._elements.length

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        place = self._place(index)
        if place in self._own:
            return self._own[place]
        return self._elements.make(place)

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __setitem__(self, index: Any, value: Any) -> None:
        if isinstance(index, slice):
            raise TypeError(f"a slice of {self._refusal}")
        self._own[self._place(index)] = value

    def __delitem__(self, index: Any) -> None:
        raise TypeError(self._refusal)

    def insert(self, index: int, value: Any) -> None:  # noqa: ARG002
        """Refused: the length is fixed."""
        raise TypeError(self._refusal)

    def copy(self) -> SharedList:
        """A list of the same elements, in the same memory, that no later assignment changes."""
        return SharedList(self._elements, self._own)

    __copy__ = copy

    def sort(self, *, key: Callable[[Any], Any] | None = None, reverse: bool = False) -> None:
        """Sorts as a list does; from then on its elements are this process's own."""
        self._own = dict(enumerate(sorted(self, key=key, reverse=reverse)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, (list, SharedList)):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    def __add__(self, other: Any) -> list[Any]:
        return list(self) + list(other) if isinstance(other, (list, SharedList)) else NotImplemented

    def __radd__(self, other: Any) -> list[Any]:
        return other + list(self) if isinstance(other, list) else NotImplemented

    def __repr__(self) -> str:
        return repr(list(self))

    def holds_what(self, copied: SharedList) -> bool:
        """Whether nothing was assigned since the `copy`."""
        return self._elements is copied._elements and self._own == copied._own

    def parts_here(self) -> tuple[int, dict[int, Any]]:
        """By what a process that maps the elements, too, makes the same list."""
        return self._elements.inode, self._own

    def __reduce__(self) -> Any:
        if context.get_spawning_popen() is None:  # the pickle may outlive this process
            return list, (list(self),)
        return SharedList, (self._elements, self._own)

    def _place(self, index: Any) -> int:
        place = index.__index__()
        place += len(self) if place < 0 else 0
        if not 0 <= place < len(self):
            raise IndexError("list index out of range")
        return int(place)

    @property
    def _refusal(self) -> str:
        return (
            "a large list that the loader moved to shared memory cannot change its length: change "
            "it before the loader's first iteration, or give the loader share_lists=False"
        )


def share_large_lists(dataset: Any, kind: type, large: int = LARGE) -> list[str]:
    """Moves the large lists among the attributes of `dataset`, and of datasets inside of it.

    Args:
        dataset: changed in place.
        kind: of attributes that are datasets of their own.
        large: bytes from which on a list is moved.

    Returns:
        The attributes that became a `SharedList`, by their paths.
    """
    moved: list[str] = []
    looks, seen = Looks(), set[int]()
    owners = deque([(dataset, "dataset")])
    while owners and looks.left > 0:
        owner, path = owners.popleft()
        if id(owner) in seen:
            continue
        seen.add(id(owner))
        for name, value in list(attributes_of(owner).items()):
            looks.left -= 1
            inner = value if type(value) in (list, tuple) and len(value) <= _LOOKED_AT else [value]
            owners.extend((part, f"{path}.{name}") for part in inner if isinstance(part, kind))
            if type(value) is list and looks.size_of(value) >= large:
                _move(owner, name, f"{path}.{name}", moved)
    return moved


def _move(owner: Any, name: str, path: str, moved: list[str]) -> None:
    items = attributes_of(owner)[name]
    try:
        setattr(owner, name, SharedList.of(items))
    except Exception:  # an element that does not pickle, an attribute that is read-only
        return
    moved.append(path)
    if not all(isinstance(item, _UNCHANGING) for item in items[:_LOOKED_AT]):
        _log.warning(
            "%s has moved to shared memory, where an element that is changed in place stays as it "
            "was: assign it anew, or give the loader share_lists=False",
            path,
        )


def _memory_file(name: str) -> Descriptor:
    return Descriptor(os.memfd_create(name, os.MFD_CLOEXEC))


def _mapped(fd: int) -> Any:
    size = os.fstat(fd).st_size
    return mmap.mmap(fd, size, prot=mmap.PROT_READ) if size else b""
