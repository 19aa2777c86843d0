"""Collators that stack rows of equal length: torch's default_collate, and transformers'."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from drapps.torch.recognise import NotLifted
from drapps.torch.text.cells import Place, Rows, as_given
from drapps.torch.text.own import require_plain
from drapps.torch.text.padding import kind_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray


class TorchDefault:
    """``torch.utils.data.default_collate``.

    Of lists it makes a tensor for each place in them, which is nothing that anybody wants.
    """

    random = False

    def __init__(self, tensors: bool, lists: Iterable[str]) -> None:
        """Looks at what samples hold.

        Args:
            tensors: they are tensors of torch.
            lists: columns of lists.

        Raises:
            NotLifted: lists.
        """
        named = sorted(lists)
        if named and not tensors:
            raise NotLifted(
                f"default_collate makes a tensor of each place in the lists of {named[0]!r}: "
                "with_format('torch') makes one of each list"
            )

    def __call__(self, rows: Rows, place: Place) -> Any:  # noqa: ARG002
        """The batch of some rows; None where it is the stock collator's."""
        arrays = {name: cells.array() for name, cells in rows.columns.items()}
        if any(array is None for array in arrays.values()):
            return None
        given = {name: array for name, array in arrays.items() if array is not None}
        if rows.tensors:
            return {name: as_given(array, "pt") for name, array in given.items()}
        return {name: torch.from_numpy(array) for name, array in given.items()}


class TransformersDefault:
    """``default_data_collator`` of transformers, and DefaultDataCollator."""

    fields = ("return_tensors",)
    random = False

    def __init__(self, collator: Any, names: tuple[str, ...]) -> None:
        """Looks at its attributes, and at the columns that it gets.

        Raises:
            NotLifted: it does something that has no native form.
        """
        if hasattr(collator, "return_tensors"):  # the function has none
            require_plain(collator, self.fields)
            if kind_of(collator.return_tensors) != "pt":
                raise NotLifted(f"return_tensors={collator.return_tensors!r}")
        self._label = next((name for name in ("label", "label_ids") if name in names), None)

    def __call__(self, rows: Rows, place: Place) -> Any:  # noqa: ARG002
        """The batch of some rows; None where it is the stock collator's."""
        batch: dict[str, Any] = {}
        if self._label is not None:
            labels = rows.columns[self._label].array()
            if labels is None or (self._label == "label" and labels.ndim > 1):
                return None
            batch["labels"] = as_given(self._numbers(labels, rows.tensors), "pt")
        for name, cells in rows.columns.items():
            if name in ("label", "label_ids"):
                continue
            array = cells.array()
            if array is None:
                return None
            batch[name] = as_given(array, "pt")
        return batch

    def _numbers(self, labels: NDArray[Any], tensors: bool) -> NDArray[Any]:
        """Truth values are whole numbers, but where tensors of them are stacked."""
        stacked = tensors and self._label == "label_ids"
        return labels if labels.dtype != np.bool_ or stacked else labels.astype(np.int64)
