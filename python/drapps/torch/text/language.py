"""DataCollatorForLanguageModeling: causal labels, and masks that are drawn by coordinates."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import numpy as np

from drapps import _core
from drapps.torch.recognise import NotLifted
from drapps.torch.text.cells import Place, Rows, as_given
from drapps.torch.text.own import require_plain
from drapps.torch.text.padding import Padding, encoding, kind_of, require_ids

if TYPE_CHECKING:
    from numpy.typing import NDArray

_IGNORED = -100


class LanguageModeling:
    """DataCollatorForLanguageModeling.

    Attributes:
        random: it draws masks.
    """

    fields = (
        *("tokenizer", "mlm", "whole_word_mask", "mlm_probability", "mask_replace_prob"),
        *("random_replace_prob", "pad_to_multiple_of", "return_tensors", "seed", "generator"),
    )

    def __init__(self, collator: Any, names: tuple[str, ...]) -> None:
        """Looks at its attributes, and at the columns that it gets.

        Raises:
            NotLifted: it does something that has no native form.
        """
        require_plain(collator, self.fields)
        require_ids(names)
        self.random = bool(collator.mlm)
        if self.random and (collator.seed is not None or collator.generator is not None):
            raise NotLifted("the collator draws from a generator of its own, by its seed")
        if collator.whole_word_mask and "offset_mapping" not in names:
            raise NotLifted("whole_word_mask needs offset_mapping, which samples do not have")
        tokenizer = collator.tokenizer
        self._pad = Padding(tokenizer, True, None, collator.pad_to_multiple_of)
        self._kind = kind_of(collator.return_tensors)
        self._pad_id = tokenizer.pad_token_id
        self._specials = np.array(sorted(tokenizer.all_special_ids), np.int64)
        self._masking = _masking_of(collator) if self.random else None

    def __call__(self, rows: Rows, place: Place) -> Any:
        """The batch of some rows; None where it is the stock collator's."""
        padded = self._pad(rows)
        if padded is None:
            return None
        special = padded.pop("special_tokens_mask", None)
        places = padded.pop("offset_mapping", None)
        ids = padded["input_ids"]
        if self._masking is None:
            labels = ids.copy()
            if self._pad_id is not None:
                labels[labels == self._pad_id] = _IGNORED
        else:
            ids, labels = self._masked(self._masking, ids, special, places, place)
        padded |= {"input_ids": ids, "labels": labels}
        return encoding({name: as_given(array, self._kind) for name, array in padded.items()})

    def _masked(
        self,
        masking: Any,
        ids: NDArray[np.int64],
        special: NDArray[np.int64] | None,
        places: NDArray[np.int64] | None,
        place: Place,
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        flat = ids.reshape(-1)
        marks = _core.text_special(flat, self._specials) if special is None else special.reshape(-1)
        where = None if places is None else np.ascontiguousarray(places).reshape(-1)
        masked, labels = _core.text_mask(flat, ids.shape[1], marks, where, masking, *place)
        return masked.reshape(ids.shape), labels.reshape(ids.shape)


def _masking_of(collator: Any) -> Any:
    tokenizer = collator.tokenizer
    masking = _core.TextMasking()
    masking.probability = float(collator.mlm_probability)
    masking.replaced = float(collator.mask_replace_prob)
    masking.random = float(collator.random_replace_prob)
    masking.mask_id = int(tokenizer.convert_tokens_to_ids(tokenizer.mask_token))
    masking.vocabulary = len(tokenizer)
    masking.whole_words = bool(collator.whole_word_mask)
    return masking


def certain(collator: Any) -> list[Any]:
    """Copies of a collator that draw masks whose outcome is certain: none, and all replaced."""
    copies = []
    for probability in (0.0, 1.0):
        each = copy.copy(collator)
        each.mlm_probability, each.mask_replace_prob, each.random_replace_prob = (
            probability,
            1.0,
            0.0,
        )
        copies.append(each)
    return copies


def seeded(collator: Any, key: int) -> Any:
    """A copy of a collator that draws from a generator of its own."""
    drawing = copy.copy(collator)
    drawing.seed = key
    drawing.generator = drawing.get_generator(key)
    return drawing
