"""Rows of a `datasets.Dataset`."""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from drapps.torch.kept import rows_of, without_subsets
from drapps.torch.recognise import NotLifted, name_of
from drapps.torch.text.cells import Cells, Rows
from drapps.torch.text.columns import Column, column_of
from drapps.torch.text.own import is_exactly, is_library, require_library

if TYPE_CHECKING:
    from drapps.torch.text.cells import Int64Array

HOME = "datasets.arrow_dataset"
_METHODS = ("__getitem__", "__getitems__", "__len__", "_getitem")
_FIELDS = (
    *("_data", "_indices", "_format_type", "_format_kwargs", "_format_columns"),
    "_output_all_columns",
)
_CALLED = ("query_table", "format_table", "get_formatter")


class Table:
    """The table of a `datasets.Dataset`, behind any number of subsets.

    Attributes:
        dataset: the `datasets.Dataset`.
        format: of its samples: None, ``torch`` or ``custom``.
        names: of the columns that samples are made of.
    """

    def __init__(self, dataset: Any) -> None:
        """Looks at the dataset, of which nothing is copied.

        Raises:
            NotLifted: it is none, or does something that has no native form.
        """
        self.dataset, subsets = without_subsets(dataset)
        if not is_exactly(self.dataset, HOME, "Dataset"):
            raise NotLifted(f"the dataset is {name_of(self.dataset)}")
        require_library(self.dataset, _METHODS)
        for name in _FIELDS:
            if not hasattr(self.dataset, name):
                raise NotLifted(f"a Dataset has no {name} in the installed version")
        for name in _CALLED:
            if not is_library(getattr(sys.modules[HOME], name)):
                raise NotLifted(f"{HOME}.{name} was replaced")
        if self.dataset._output_all_columns:
            raise NotLifted("output_all_columns mixes formatted columns with others")
        self.format: str | None = self.dataset._format_type
        if self.format not in (None, "torch", "custom"):
            raise NotLifted(f"the dataset's format is {self.format!r}")
        options = self.dataset._format_kwargs or {}
        if self.format == "torch" and options:
            raise NotLifted(f"with_format('torch') has options: {sorted(options)}")
        self.transform = options.get("transform") if self.format == "custom" else None
        shown = self.dataset._format_columns
        every = list(self.dataset._data.column_names)
        self.names = every if shown is None else [name for name in every if name in shown]
        if any(number < 0 for each in subsets for number in each):
            raise NotLifted("a subset has negative indices, which some data sets refuse")
        self._chosen = rows_of(subsets, len(self.dataset))
        self._columns: dict[str, Column] = {}

    @property
    def stamp(self) -> tuple[Any, ...]:
        """What says, by identity, whether another look would find the same."""
        dataset = self.dataset
        chosen = () if self._chosen is None else (self._chosen.tobytes(),)
        return (dataset._data, dataset._indices, self.format, self.transform, *self.names, *chosen)

    def __len__(self) -> int:
        return len(self.dataset) if self._chosen is None else len(self._chosen)

    @functools.cached_property
    def _order(self) -> Int64Array | None:
        """The row of the table of each sample; None where sample i is row i."""
        if self.dataset._indices is None:
            return self._chosen
        numbers: Int64Array = self.dataset._indices.column(0).to_numpy().astype(np.int64)
        return numbers if self._chosen is None else numbers[self._chosen]

    def rows(self, index: Any) -> Int64Array | None:
        """The rows of the table that a batch names; None for what is no list of known samples."""
        try:
            chosen = np.asarray(index)
        except (TypeError, ValueError):
            return None
        if chosen.dtype.kind not in "iu" or chosen.ndim != 1 or not chosen.size:
            return None
        chosen = np.ascontiguousarray(chosen, np.int64)
        if chosen.min() < 0 or chosen.max() >= len(self):
            return None
        return chosen if self._order is None else self._order[chosen]

    def column(self, name: str) -> Column:
        """How a column is read.

        Raises:
            NotLifted: there is none of that name, or it holds something that is not read here.
        """
        if name not in self._columns:
            if name not in self.names:
                raise NotLifted(f"there is no column {name!r}")
            self._columns[name] = column_of(self.dataset._data.table.column(name), name)
        return self._columns[name]


class TableRows:
    """Samples of numbers and lists of numbers, as columns have them."""

    def __init__(self, table: Table, names: Iterable[str]) -> None:
        """Reads these columns.

        Raises:
            NotLifted: one of them holds something else.
        """
        self._table = table
        self._columns = {name: table.column(name) for name in names}
        texts = [name for name, column in self._columns.items() if column.kind == "text"]
        if texts:
            raise NotLifted(f"column {texts[0]!r} holds texts: leave it out by remove_columns()")
        self.names = tuple(self._columns)
        self.tensors = table.format == "torch"

    def read(self, rows: Int64Array) -> Rows | None:
        """The samples of rows; None where one holds a null."""
        if not all(column.has_all(rows) for column in self._columns.values()):
            return None
        cells = {name: column.read(rows, name) for name, column in self._columns.items()}
        if self.tensors:
            cells = {name: _as_tensor(each) for name, each in cells.items()}
        return Rows(cells, len(rows), self.tensors)


def _as_tensor(cells: Cells) -> Cells:
    """What stays of numbers that become tensors of torch, and numbers again."""
    if cells.values.dtype != np.float64:
        return cells
    return cells._replace(values=cells.values.astype(np.float32).astype(np.float64))
