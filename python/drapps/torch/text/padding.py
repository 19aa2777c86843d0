"""Collators that pad: DataCollatorWithPadding and DataCollatorForSeq2Seq."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from drapps import _core
from drapps.torch.recognise import NotLifted
from drapps.torch.text.cells import Cells, Place, Rows, as_given
from drapps.torch.text.own import require_plain
from drapps.torch.text.tokens import require_tokenizer

if TYPE_CHECKING:
    from numpy.typing import NDArray

KINDS = ("pt", "np")


class Padding:
    """`pad` of a tokenizer, with the arguments that a collator gives it."""

    def __init__(self, tokenizer: Any, padding: Any, max_length: Any, multiple: Any) -> None:
        """Resolves the arguments, as the tokenizer does.

        Raises:
            NotLifted: it refuses them, or the tokenizer is of another kind.
        """
        require_tokenizer(tokenizer)
        if tokenizer.model_input_names[0] != "input_ids":
            raise NotLifted(f"the model's first input is {tokenizer.model_input_names[0]}")
        try:
            strategy, _, most, _ = tokenizer._get_padding_truncation_strategies(
                padding=padding, max_length=max_length, verbose=False
            )
        except ValueError as error:
            raise NotLifted(f"the tokenizer cannot pad: {error}") from None
        self._strategy = str(getattr(strategy, "value", strategy))
        self._most = most
        self._multiple = multiple_of(multiple)
        self.left = side_of(tokenizer) == "left"
        self._masks = "attention_mask" in tokenizer.model_input_names
        self._fills = {
            "input_ids": tokenizer.pad_token_id,
            "token_type_ids": tokenizer.pad_token_type_id,
            "special_tokens_mask": 1,
        }
        if self._masks:
            self._fills["attention_mask"] = 0

    def __call__(self, rows: Rows) -> dict[str, NDArray[Any]] | None:
        """The columns of a batch; None where only the stock tokenizer knows what comes of them."""
        main = rows.columns["input_ids"]
        if main.begins is None or not main.whole:
            return None
        width = self._width(main)
        if width is None or width == 0:
            return None
        padded: dict[str, NDArray[Any]] = {}
        for name, cells in rows.columns.items():
            array = self._padded(name, cells, main, width) if name in self._fills else cells.array()
            if array is None:
                return None
            padded[name] = array
        if self._masks and "attention_mask" not in padded:
            marks = _core.text_mark(main.begins, width, self.left)
            padded["attention_mask"] = marks.reshape(-1, width)
        return padded

    def _width(self, main: Cells) -> int | None:
        lengths = main.lengths
        longest = int(lengths.max())
        if self._strategy == "do_not_pad":
            return longest if (lengths == longest).all() else None
        width = longest if self._strategy == "longest" else int(self._most)
        width += -width % self._multiple
        return width if longest <= width else None

    def _padded(self, name: str, cells: Cells, main: Cells, width: int) -> NDArray[np.int64] | None:
        if cells.begins is None or main.begins is None or not cells.whole:
            return None
        if cells.begins is not main.begins and not np.array_equal(cells.begins, main.begins):
            return None
        fill = self._fills[name]
        if fill is None:  # nothing is padded
            return cells.array()
        return pad(cells, width, fill, self.left)


def pad(cells: Cells, width: int, fill: int, left: bool) -> NDArray[np.int64]:
    """Rows as those of a matrix."""
    assert cells.begins is not None
    flat: NDArray[np.int64] = _core.text_pad(cells.values, cells.begins, width, fill, left)
    return flat.reshape(-1, width) if width else flat.reshape(len(cells.lengths), 0)


def multiple_of(given: Any) -> int:
    """What widths are rounded up to; 1: nothing.

    Raises:
        NotLifted: it is no whole number above 0.
    """
    if given is None:
        return 1
    if type(given) is not int or given < 1:
        raise NotLifted(f"pad_to_multiple_of={given!r}")
    return given


def side_of(tokenizer: Any) -> str:
    """Where a tokenizer pads.

    Raises:
        NotLifted: on no side.
    """
    side = tokenizer.padding_side
    if side not in ("left", "right"):
        raise NotLifted(f"padding_side={side!r}")
    return str(side)


def kind_of(return_tensors: Any) -> str:
    """What a collator makes of arrays: ``pt`` or ``np``.

    Raises:
        NotLifted: something else.
    """
    kind = getattr(return_tensors, "value", return_tensors)
    if kind not in KINDS:
        raise NotLifted(f"return_tensors={return_tensors!r}")
    return str(kind)


def encoding(arrays: dict[str, Any]) -> Any:
    """A batch of transformers."""
    from transformers import BatchEncoding

    return BatchEncoding(arrays)


class WithPadding:
    """DataCollatorWithPadding."""

    fields = ("tokenizer", "padding", "max_length", "pad_to_multiple_of", "return_tensors")
    random = False

    def __init__(self, collator: Any, names: tuple[str, ...]) -> None:
        """Looks at its attributes, and at the columns that it gets.

        Raises:
            NotLifted: it does something that has no native form.
        """
        require_plain(collator, self.fields)
        require_ids(names)
        arguments = (collator.padding, collator.max_length, collator.pad_to_multiple_of)
        self._pad = Padding(collator.tokenizer, *arguments)
        self._kind = kind_of(collator.return_tensors)

    def __call__(self, rows: Rows, place: Place) -> Any:  # noqa: ARG002
        """The batch of some rows; None where it is the stock collator's."""
        padded = self._pad(rows)
        if padded is None:
            return None
        for name in ("label", "label_ids"):
            if name in padded:
                padded["labels"] = padded.pop(name)
        return encoding({name: as_given(array, self._kind) for name, array in padded.items()})


class Seq2Seq:
    """DataCollatorForSeq2Seq."""

    fields = (*WithPadding.fields, "model", "label_pad_token_id")
    random = False

    def __init__(self, collator: Any, names: tuple[str, ...]) -> None:
        """As `WithPadding`."""
        require_plain(collator, self.fields)
        require_ids(names)
        if "label" in names and "labels" in names:
            raise NotLifted("there are a column 'label' and a column 'labels'")
        self._labels = next((name for name in ("label", "labels") if name in names), None)
        arguments = (collator.padding, collator.max_length, collator.pad_to_multiple_of)
        self._pad = Padding(collator.tokenizer, *arguments)
        self._kind = kind_of(collator.return_tensors)
        self._padded = collator.padding is not False and collator.padding != "do_not_pad"
        self._length = collator.max_length if collator.padding == "max_length" else None
        self._multiple = multiple_of(collator.pad_to_multiple_of)
        self._fill = collator.label_pad_token_id
        if type(self._fill) is not int:
            raise NotLifted(f"label_pad_token_id={self._fill!r}")
        self._shift = getattr(collator.model, "prepare_decoder_input_ids_from_labels", None)
        if self._shift is not None and not self._shift.__func__.__module__.startswith(
            "transformers."
        ):
            raise NotLifted("the model has a prepare_decoder_input_ids_from_labels of its own")

    def __call__(self, rows: Rows, place: Place) -> Any:  # noqa: ARG002
        """As `WithPadding`."""
        columns = dict(rows.columns)
        labels = columns.pop(self._labels) if self._labels is not None else None
        padded = self._pad(Rows(columns, rows.count, rows.tensors))
        if padded is None:
            return None
        batch = encoding({name: as_given(array, self._kind) for name, array in padded.items()})
        if labels is None:
            batch["labels"] = None
            return batch
        numbers = self._label_rows(labels)
        if numbers is None:
            return None
        batch["labels"] = as_given(numbers, self._kind)
        if self._shift is not None:
            batch["decoder_input_ids"] = self._shift(labels=batch["labels"])
        return batch

    def _label_rows(self, labels: Cells) -> NDArray[np.int64] | None:
        if labels.begins is None or not labels.whole:
            return None
        if not self._padded:
            return labels.array()
        longest = int(labels.lengths.max())
        width = longest if self._length is None else self._length
        width += -width % self._multiple
        return pad(labels, width, self._fill, self._pad.left) if longest <= width else None


def require_ids(names: tuple[str, ...]) -> None:
    """Makes sure that samples have ids.

    Raises:
        NotLifted: they have none.
    """
    if "input_ids" not in names:
        raise NotLifted(f"there is no column 'input_ids' among {', '.join(names) or 'none'}")
