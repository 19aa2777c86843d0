"""Samples read from a table of `datasets`, and collated by a collator of `transformers`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from drapps.errors import PipelineError
from drapps.tokenizers.tokenise import Tokenise
from drapps.torch.recognise import NotLifted, name_of
from drapps.torch.text.cells import Place
from drapps.torch.text.collators import Collate, collate_of, require_collator, taken_of
from drapps.torch.text.language import LanguageModeling, certain, seeded
from drapps.torch.text.own import require_library, require_plain
from drapps.torch.text.plan import TextPlan
from drapps.torch.text.proof import same_batch, samples_of
from drapps.torch.text.stamps import of_attributes, of_tokenizer
from drapps.torch.text.table import Table, TableRows
from drapps.torch.text.tokens import TokenRows, require_tokenizer

_TRANSFORM = ("tokenizer", "column", "pair", "keep", "options")
_PROBED = 3  # samples whose batch is compared with that of the stock collator


class TablePlan(TextPlan):
    """Batches of a `datasets.Dataset`."""

    dataset = "datasets.Dataset"

    def __init__(self, loader: Any) -> None:
        """Looks at the loader's dataset and collator, and tries them on a few samples.

        Raises:
            NotLifted: they have no native form, or give something else than it does.
        """
        super().__init__(loader)
        self.stamp = self.stamp_of(loader)
        self._table = Table(loader.dataset)
        self._samples, lists = _samples_of(self._table, taken_of(self._collate_fn))
        self._collate: Collate = collate_of(self._collate_fn, self._samples, lists)
        self.random = self._collate.random
        self.described = self._described()
        if loader.torch_order and self.random:
            raise NotLifted("torch_order=True keeps torch's random numbers, which masks are of")
        self._prove()

    @staticmethod
    def stamp_of(loader: Any) -> tuple[Any, ...]:
        """What a plan of the loader would be made of.

        Raises:
            NotLifted: as `Table`, or something was replaced.
        """
        table, collate_fn = Table(loader.dataset), loader.collate_fn
        require_collator(collate_fn)
        stamp = [*table.stamp, loader.torch_order, collate_fn, *of_attributes(collate_fn)]
        if type(table.transform) is Tokenise:
            require_library(table.transform, ("__call__",))
            require_plain(table.transform, _TRANSFORM)
            require_tokenizer(table.transform.tokenizer)
            stamp += of_attributes(table.transform, of_tokenizer)
        return tuple(stamp)

    def _native_batch(self, index: Any, place: Place) -> Any:
        rows = self._table.rows(index)
        read = None if rows is None else self._samples.read(rows)
        return None if read is None else self._collate(read, place)

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
        try:
            rows = None if chosen is None else self._samples.read(chosen)
        except PipelineError:  # the table is damaged, which its batch will say
            return
        if rows is None:
            return
        for collate, stock in self._trials():
            ours = collate(rows, Place(0, 0, 0))
            if ours is None:
                continue
            native = isinstance(self._samples, TokenRows)  # a stock tokenizer would start threads
            samples = samples_of(rows) if native else self._dataset.__getitems__(index)
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
    rows = TokenRows(table, transform)
    return rows, [name for name in rows.names if name not in transform.keep]


def _named(transform: Any) -> str:
    function = getattr(transform, "func", None)
    return name_of(transform) if function is None else f"partial of {name_of(function)}"
