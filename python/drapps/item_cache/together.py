"""Whether several samples that a dataset makes together are what it makes of each alone.

They are not where a dataset pads a batch to its longest sample, or normalises over it. So samples
are kept one by one where the code of `__getitems__` says that it asks for one after the other, or
where some from all over the dataset came out as they do alone.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import CodeType, FunctionType
from typing import Any

from drapps import _core
from drapps.attributes import attribute_of
from drapps.item_cache.draws import undisturbed
from drapps.item_cache.making import Making
from drapps.item_cache.values import Writer

_OF_A_BATCH = 8  # samples of it that are compared, and as many from all over the dataset
_TRIES = 4
# What all processes know, among what is said once.
_DIFFERENT, _ALIKE = 62, 63
_TOLD = (
    "samples of %s are not kept where several are asked for at once: what its __getitems__ makes "
    "of sample %s among others is not what it is alone. Keep them by a dataset without "
    "__getitems__, and do what needs the whole batch in collate_fn"
)

MakeSeveral = Callable[[list[Any]], Any]
MakeOne = Callable[[Any], Any]


class Together:
    """What is known of one dataset."""

    def __init__(self, dataset: Any, cache: _core.ItemCache, making: Making, frozen: bool) -> None:
        """For samples of `dataset` in `cache`; what is random is kept where `frozen`."""
        self._cache = cache
        self._making = making
        self._frozen = frozen
        self._size = len(cache)
        self._tries = 0
        self._is_told = _asks_for_each(dataset)

    @property
    def are_alike(self) -> bool:
        """Whether samples are what they are alone, as far as is known."""
        return not self.differ and (self._is_told or self._cache.asked(_ALIKE))

    @property
    def differ(self) -> bool:
        """Whether samples are known not to be what they are alone, or it could not be found out."""
        return self._tries >= _TRIES or self._cache.asked(_DIFFERENT)

    def give_batches(self) -> None:
        """What comes is no list of samples."""
        self._cache.first(_DIFFERENT)

    def compare(self, given: Sequence[Any], several: MakeSeveral, one: MakeOne) -> None:
        """Finds out whether samples are alike, by those of a batch that was `given` and others."""
        kind = type(given[0])
        step = max(self._size // _OF_A_BATCH, 1)
        others = range((self._tries + step // 2) % step, self._size, step)
        asked = list(dict.fromkeys([*given[:_OF_A_BATCH], *map(kind, others)]))
        self._tries += 1
        with undisturbed():
            try:
                values = several(asked)
                if type(values) is not list or len(values) != len(asked):
                    return self.give_batches()
                for index, value in zip(asked, values, strict=True):
                    alone, among = self._block(one(index)), self._block(value)
                    if alone is None or among is None:
                        return None
                    if alone != among and not self._is_drawn(alone, one, index):
                        self._cache.first(_DIFFERENT)
                        return self._making.say_different(_TOLD, index)
            except Exception:  # of samples that nobody has asked for
                return None
        self._cache.first(_ALIKE)
        return None

    def _is_drawn(self, alone: bytes, one: MakeOne, index: Any) -> bool:
        """Whether a sample is another each time, and its user keeps it nevertheless."""
        return self._frozen and alone != self._block(one(index))

    def _block(self, value: Any) -> bytes | None:
        writer: Writer | None = self._making.written(value)
        if writer is None:
            return None
        block = bytearray(writer.nbytes)
        writer.write(memoryview(block), 0)
        return bytes(block)


def _asks_for_each(dataset: Any) -> bool:
    """Whether `__getitems__` is known to give what the dataset gives for each index alone."""
    kind = type(dataset)
    given = getattr(kind, "__getitems__", None)
    if isinstance(given, FunctionType) and _shape(given.__code__) in _SHAPES:
        return True
    torchs: Any = sys.modules.get("torch.utils.data")
    for own in () if torchs is None else (torchs.Subset, torchs.StackDataset):
        if given is own.__getitems__ and kind.__getitem__ is own.__getitem__:
            return all(
                attribute_of(inner, "__getitems__") is None or _asks_for_each(inner)
                for inner in _within(dataset)
            )
    return False


def _within(dataset: Any) -> Iterable[Any]:
    """The datasets that one of torch's is made of."""
    if hasattr(dataset, "dataset"):
        return (dataset.dataset,)
    several = dataset.datasets
    return several.values() if isinstance(several, dict) else several


def _shape(code: CodeType) -> tuple[Any, ...]:
    """What code does, whatever its variables are called."""
    return code.co_code, code.co_names, tuple(_constants(code))


def _constants(code: CodeType) -> Iterator[Any]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield _shape(constant)
        elif not isinstance(constant, str):  # the names of functions within, or a text on this one
            yield constant


def _first(self: Any, indices: Any) -> Any:
    return [self[index] for index in indices]


def _second(self: Any, indices: Any) -> Any:
    return [self.__getitem__(index) for index in indices]


def _third(self: Any, indices: Any) -> Any:
    return list(map(self.__getitem__, indices))


_SHAPES = frozenset(_shape(one.__code__) for one in (_first, _second, _third))
