"""What a loader over text runs: samples read natively, and collated natively.

Whatever the native form has no answer for, the stock code makes: a batch with a null, rows that
cannot be stacked, an index that is none. So it fails as stock does, and with stock's words.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch.utils.data._utils.fetch import _MapDatasetFetcher

from drapps import _core
from drapps.tokenizers.tokenise import Tokenise
from drapps.torch.recognise import NotLifted, name_of
from drapps.torch.text.cells import Place, Rows
from drapps.torch.text.collators import Collate, collate_of, require_collator, taken_of
from drapps.torch.text.language import LanguageModeling, certain, seeded
from drapps.torch.text.table import Table, TableRows
from drapps.torch.text.tokens import TokenRows, digest_of, require_tokenizer

_PROBED = 3  # samples whose batch is compared with that of the stock collator


class TextPlan:
    """Batches of one dataset and one collator; from any thread.

    Attributes:
        described: what samples are made of, and what is done with them, as reports say it.
    """

    def __init__(self, loader: Any) -> None:
        """Looks at the loader's dataset and collator, and tries them on a few samples.

        Raises:
            NotLifted: they have no native form, or give something else than it does.
        """
        self._dataset, self._collate_fn = loader.dataset, loader.collate_fn
        self.stamp = stamp_of(loader)
        self._table = Table(loader.dataset)
        self._samples, lists = _samples_of(self._table, taken_of(self._collate_fn))
        self._collate: Collate = collate_of(self._collate_fn, self._samples, lists)
        self._stock = threading.Lock()
        self.described = self._described()
        if getattr(loader, "torch_order", False) and self._collate.random:
            raise NotLifted("torch_order=True keeps torch's random numbers, which masks are of")
        self._prove()

    @property
    def random(self) -> bool:
        """The collator draws."""
        return self._collate.random

    def batch(self, index: Any, place: Place) -> Any:
        """The batch of the samples that `index` names."""
        rows = self._table.rows(index)
        read = None if rows is None else self._samples.read(rows)
        batch = None if read is None else self._collate(read, place)
        return self._stock_batch(index, place) if batch is None else batch

    def _stock_batch(self, index: Any, place: Place) -> Any:
        """As the stock loader makes it: one at a time, as stock tokenizers are for one thread."""
        collate = self._collate_fn
        with self._stock:
            if self._collate.random:
                collate = seeded(collate, _key_of(place))
            return _MapDatasetFetcher(self._dataset, True, collate, False).fetch(index)  # type: ignore[no-untyped-call]

    def _described(self) -> tuple[str, ...]:
        steps = [repr(self._table.transform)] if self._table.format == "custom" else []
        return (*steps, name_of(self._collate_fn).rpartition(".")[2])

    def _prove(self) -> None:
        """Compares a batch of the first samples with what the stock collator makes of them.

        Raises:
            NotLifted: it makes something else.
        """
        index = list(range(min(_PROBED, len(self._table))))
        chosen = self._table.rows(index)
        rows = None if chosen is None else self._samples.read(chosen)
        if rows is None:
            return
        for collate, stock in self._trials():
            ours = collate(rows, Place(0, 0, 0))
            if ours is None:
                continue
            made = isinstance(self._samples, TokenRows)  # a stock tokenizer would start threads
            samples = samples_of(rows) if made else self._dataset.__getitems__(index)
            try:
                theirs = stock(samples)
            except Exception as error:
                raise NotLifted(f"the collator fails on the first samples: {error}") from None
            if not same_batch(ours, theirs):
                raise NotLifted("the collator gives other batches than its native form")

    def _trials(self) -> Iterator[tuple[Collate, Any]]:
        """Pairs of a native form and a stock collator that are to give the same."""
        if not self._collate.random:
            yield self._collate, self._collate_fn
            return
        for collator in certain(self._collate_fn):
            yield LanguageModeling(collator, self._samples.names), seeded(collator, 0)


def _samples_of(
    table: Table, taken: tuple[str, ...] | None
) -> tuple[TableRows | TokenRows, list[str]]:
    """What gives a table's samples, and which of their columns are lists."""
    if table.format != "custom":
        names = [name for name in table.names if taken is None or name in taken]
        samples = TableRows(table, names)
        return samples, [name for name in names if table.column(name).lists]
    transform = table.transform
    if type(transform) is not Tokenise:
        raise NotLifted(f"the dataset's transform is {_named(transform)}: give it drapps.Tokenise")
    made = TokenRows(table, transform)
    return made, [name for name in made.names if name not in transform.keep]


def _named(transform: Any) -> str:
    function = getattr(transform, "func", None)
    return name_of(transform) if function is None else f"partial of {name_of(function)}"


def stamp_of(loader: Any) -> tuple[Any, ...]:
    """What a plan was made of: equal, and the same objects, where another would be the same.

    Raises:
        NotLifted: as `Table`, or something was replaced.
    """
    table, collate = Table(loader.dataset), loader.collate_fn
    require_collator(collate)
    stamp: list[Any] = [*table.stamp, collate, getattr(loader, "torch_order", False)]
    for name, value in sorted(getattr(collate, "__dict__", {}).items()):
        fast = name == "tokenizer"
        stamp += [name, *(_of_tokenizer(value) if fast else (repr(value),))]
    if type(table.transform) is Tokenise:
        transform = table.transform
        require_tokenizer(transform.tokenizer)
        stamp += [*_of_tokenizer(transform.tokenizer), transform.column, transform.pair]
        stamp += [transform.keep, repr(sorted(transform.options.items()))]
    return tuple(stamp)


def _of_tokenizer(tokenizer: Any) -> tuple[Any, ...]:
    return digest_of(tokenizer) if hasattr(tokenizer, "_tokenizer") else (tokenizer,)


def same_stamp(a: tuple[Any, ...], b: tuple[Any, ...]) -> bool:
    """Whether two plans would be the same."""
    texts = (str, int, bytes, tuple)
    return len(a) == len(b) and all(
        x is y or (isinstance(x, texts) and type(x) is type(y) and x == y)
        for x, y in zip(a, b, strict=True)
    )


def samples_of(rows: Rows) -> list[dict[str, Any]]:
    """Samples as `datasets` gives them of lists and numbers."""
    samples: list[dict[str, Any]] = [{} for _ in range(rows.count)]
    for name, cells in rows.columns.items():
        for number, sample in enumerate(samples):
            if cells.begins is None:
                sample[name] = cells.values[number].item()
                continue
            begin, end = cells.begins[number : number + 2].tolist()
            values = cells.values.reshape(-1, 2) if cells.pairs else cells.values
            sample[name] = values[begin:end].tolist()
    return samples


def same_batch(a: Any, b: Any) -> bool:
    """Whether two batches have the same type, keys in the same order, and the same values."""
    if type(a) is not type(b) or list(a) != list(b):
        return False
    return all(_same(a[name], b[name]) for name in a)


def _same(a: Any, b: Any) -> bool:
    if type(a) is not type(b):
        return False
    if isinstance(a, torch.Tensor):
        return a.dtype == b.dtype and a.shape == b.shape and torch.equal(a, b)
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and np.array_equal(a, b)
    return bool(a == b)


def _key_of(place: Place) -> int:
    """A seed for what is drawn at a place by stock code."""
    unused = np.zeros(len(torch.default_generator.get_state()), np.uint8)
    where = (place.seed, place.epoch, place.position, _core.ORDINAL_BATCH, 0)
    return _core.seed_torch_state(unused, *where) >> 1
