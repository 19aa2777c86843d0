"""DataCollatorWithFlattening: rows one behind the other, without padding."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from drapps import _core
from drapps.torch.recognise import NotLifted
from drapps.torch.text.cells import Place, Rows
from drapps.torch.text.own import require_plain
from drapps.torch.text.padding import kind_of, require_ids

_KEYS = {
    "_int_64_keys": {"labels", "position_ids", "input_ids"},
    "_batch_dim_keys": {"labels", "position_ids", "input_ids", "seq_idx"},
    "_py_int_keys": {"max_length_q", "max_length_k"},
}


class Flattening:
    """DataCollatorWithFlattening."""

    fields = (
        *("return_tensors", "return_position_ids", "separator_id", "return_flash_attn_kwargs"),
        *("return_seq_idx", "position_ids_start", *_KEYS),
    )
    random = False

    def __init__(self, collator: Any, names: tuple[str, ...]) -> None:
        """Looks at its attributes, and at the columns that it gets.

        Raises:
            NotLifted: it does something that has no native form.
        """
        require_plain(collator, self.fields)
        require_ids(names)
        if any(getattr(collator, name) != keys for name, keys in _KEYS.items()):
            raise NotLifted("the collator's keys were changed")
        self._kind = kind_of(collator.return_tensors)
        numbers = (collator.separator_id, collator.position_ids_start)
        if not all(type(number) is int for number in numbers):
            raise NotLifted(f"separator_id and position_ids_start are {numbers}")
        self._separator, self._first = numbers
        self._positions = bool(collator.return_position_ids)
        self._sequences = bool(collator.return_seq_idx)
        self._bounds = bool(collator.return_flash_attn_kwargs)
        self._labels = "labels" in names

    def __call__(self, rows: Rows, place: Place) -> Any:  # noqa: ARG002
        """The batch of some rows; None where it is the stock collator's."""
        cells = rows.columns["input_ids"]
        labels = rows.columns["labels"] if self._labels else cells
        for each in (cells, labels):
            if each.begins is None or not each.whole or each.lengths.min() == 0:
                return None
        assert cells.begins is not None
        assert labels.begins is not None
        targets = labels.values.copy()
        targets[labels.begins[:-1]] = self._separator
        begins = cells.begins
        positions, numbers = _core.text_flatten(begins, len(cells.values), self._first)
        flat: dict[str, Any] = {"input_ids": cells.values[None], "labels": targets[None]}
        if self._positions:
            flat["position_ids"] = positions[None]
        if self._sequences:
            flat["seq_idx"] = numbers[None]
        if self._bounds:
            flat["cu_seq_lens_q"] = begins.astype(np.int32)
            flat["cu_seq_lens_k"] = begins.astype(np.int32)
        batch = {name: self._given(array) for name, array in flat.items()}
        if self._bounds:
            batch["max_length_q"] = batch["max_length_k"] = int(cells.lengths.max())
        return batch

    def _given(self, array: Any) -> Any:
        return array if self._kind == "np" else torch.from_numpy(array)
