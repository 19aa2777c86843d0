"""Texts that a tokenizer collates: ``collate_fn=functools.partial(tokenizer, padding=True, …)``."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from drapps.tokenizers.fast import batch_of
from drapps.torch.recognise import NotLifted, name_of
from drapps.torch.text.cells import Place
from drapps.torch.text.own import is_exactly, require_library
from drapps.torch.text.plan import TextPlan
from drapps.torch.text.stamps import of_tokenizer
from drapps.torch.text.table import HOME, Table
from drapps.torch.text.tokens import core_of, request_of, require_tokenizer


def tokenizer_called(collate_fn: Any) -> tuple[Any, dict[str, Any]] | None:
    """The tokenizer that a collate function is a call of, and its options; None for others."""
    tokenizer, options = collate_fn, {}
    if type(collate_fn) is functools.partial and not collate_fn.args:
        tokenizer, options = collate_fn.func, dict(collate_fn.keywords)
    bases = type(tokenizer).__mro__
    called = any(base.__name__ == "PreTrainedTokenizerBase" for base in bases)
    return (tokenizer, options) if called else None


class CallPlan(TextPlan):
    """Batches of a list of texts, or of a column of a `datasets.Dataset`."""

    dataset = "texts"

    def __init__(self, loader: Any) -> None:
        """Looks at the loader's dataset and tokenizer.

        Raises:
            NotLifted: they have no native form.
        """
        super().__init__(loader)
        self.stamp = self.stamp_of(loader)
        tokenizer, options = tokenizer_called(loader.collate_fn) or (None, {})
        self._tokenizer: Any = tokenizer
        self._limit = options.get("max_length")
        self._core = core_of(tokenizer)
        self._request = request_of(tokenizer, False, options)
        self._table = _table_of(loader.dataset)
        given = ", ".join(f"{name}={value!r}" for name, value in options.items())
        self.described = (f"{type(tokenizer).__name__}({given})",)

    @staticmethod
    def stamp_of(loader: Any) -> tuple[Any, ...]:
        """What a plan of the loader would be made of.

        Raises:
            NotLifted: the texts lie somewhere else, or something was replaced.
        """
        tokenizer, options = tokenizer_called(loader.collate_fn) or (None, {})
        require_tokenizer(tokenizer)
        table = _table_of(loader.dataset)
        held = () if table is None else (*table[0].stamp, table[1])
        return (loader.dataset, *held, *of_tokenizer(tokenizer), repr(sorted(options.items())))

    def _native_batch(self, index: Any, place: Place) -> Any:
        columns = self._columns(index)
        if columns is None or isinstance(columns, str):
            return None
        longest = int(np.diff(columns["begins"]).max())
        batch = batch_of(columns, self._request, lambda: self._stock_batch(index, place).encodings)
        if batch is not None:
            self._tokenizer._eventual_warn_about_too_long_sequence(
                range(longest), self._limit, True
            )
        return batch

    def _columns(self, index: Any) -> Any:
        """What the core makes of the texts; None, or why, where it makes nothing."""
        options = self._request.options
        if self._table is None:
            texts = [self._dataset[each] for each in index]
            plain = texts and all(type(text) is str for text in texts)
            return self._core.rows(texts, None, options) if plain else None
        table, name = self._table
        rows, column = table.rows(index), table.column(name)
        if rows is None or not column.has_all(rows):
            return None
        return self._core.column_rows(column.core, None, rows, options)


def _table_of(dataset: Any) -> tuple[Table, str] | None:
    """The table of a column of texts, and its name; None for a list.

    Raises:
        NotLifted: it is neither, or does something that has no native form.
    """
    if type(dataset) is list:
        return None
    if not is_exactly(dataset, HOME, "Column"):
        raise NotLifted(f"the dataset is {name_of(dataset)}")
    require_library(dataset, ("__getitem__", "__len__"))
    table = Table(dataset.source)
    if table.format == "custom":
        raise NotLifted("the column's dataset has a transform")
    if table.column(dataset.column_name).kind != "text":
        raise NotLifted(f"column {dataset.column_name!r} holds no texts")
    return table, dataset.column_name
