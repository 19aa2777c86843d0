"""Copies of a user's lists, by which a change is seen at the next ``iter()``.

A list may be changed in place, as often as its owner likes: what counts is what it holds when a
pass begins. Comparing a list with its shallow copy looks at addresses alone where nothing has
changed, which costs a million samples a millisecond.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
import torch.utils.data

from drapps.attributes import method_of
from drapps.torch.recognise import NotLifted, require_pristine
from drapps.worker.lists import SharedList

if TYPE_CHECKING:
    from drapps.source import Int64Array

METHODS = ("__getitem__", "__getitems__", "__len__")
LISTS = (list, tuple, SharedList)
_PROBES = 4096


def copy_of(values: Any) -> Any:
    """A copy for `is_unchanged`; of a list, a shallow one."""
    if isinstance(values, torch.Tensor):
        return values.clone()
    copied = method_of(values, "copy")
    return values if copied is None else copied()


def is_unchanged(values: Any, copied: Any) -> bool:
    """Whether a list, tensor or array is as it was when it was copied."""
    if type(values) is not type(copied):
        return False
    if isinstance(values, SharedList):
        return values.holds_what(copied)
    if isinstance(values, torch.Tensor):
        return values.dtype == copied.dtype and torch.equal(values, copied)
    equal = values == copied
    if isinstance(equal, bool):
        return equal and _same_objects(values, copied)
    import numpy as np

    return values.dtype == copied.dtype and np.array_equal(values, copied)


def _same_objects(values: Any, copied: Any) -> bool:
    """Whether elements that are equal are also the same: 1, 1.0 and True are equal.

    Fetching every object of a long list takes a hundred times as long as comparing their
    addresses, so of a long list every so many are compared.
    """
    if not isinstance(values, (list, tuple)):
        return True
    step = len(values) // _PROBES + 1
    return all(map(operator.is_, values[::step], copied[::step]))


def without_subsets(dataset: Any) -> tuple[Any, list[Any]]:
    """The dataset behind any number of subsets, and the indices of each, outermost first.

    Raises:
        NotLifted: a subset does more than picking samples.
    """
    subsets: list[Any] = []
    while type(dataset) is torch.utils.data.Subset:
        require_pristine(dataset, METHODS)
        subsets.append(dataset.indices)
        dataset = dataset.dataset
    return dataset, subsets


def rows_of(subsets: Sequence[Any], size: int) -> Int64Array | None:
    """Which of `size` samples the subsets leave, in order; None for all of them.

    Raises:
        NotLifted: an index that the dataset would refuse.
    """
    import numpy as np

    rows: Int64Array | None = None
    for indices in reversed(subsets):
        try:
            chosen = np.fromiter(map(operator.index, indices), np.int64, len(indices))
        except (TypeError, OverflowError):
            raise NotLifted("a subset has indices that are no whole numbers") from None
        of = size if rows is None else len(rows)
        if chosen.size and not -of <= chosen.min() <= chosen.max() < of:
            raise NotLifted(f"a subset names a sample that its dataset of {of} does not have")
        chosen[chosen < 0] += of
        rows = chosen if rows is None else rows[chosen]
    return rows
