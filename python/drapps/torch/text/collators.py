"""Which collators are known, by the class that they are exactly of."""

from __future__ import annotations

import sys
from typing import Any, Protocol

from torch.utils.data import default_collate

from drapps.torch.own import is_own
from drapps.torch.recognise import NotLifted, name_of, require_own
from drapps.torch.text.cells import Place, Rows
from drapps.torch.text.flattening import Flattening
from drapps.torch.text.language import LanguageModeling
from drapps.torch.text.own import is_exactly, is_library, require_library
from drapps.torch.text.padding import Seq2Seq, WithPadding
from drapps.torch.text.stacking import TorchDefault, TransformersDefault
from drapps.torch.text.table import TableRows
from drapps.torch.text.tokens import TokenRows, require_tokenizer

HOME = "transformers.data.data_collator"
KNOWN: dict[str, Any] = {
    "DataCollatorWithPadding": WithPadding,
    "DataCollatorForSeq2Seq": Seq2Seq,
    "DataCollatorForLanguageModeling": LanguageModeling,
    "DataCollatorWithFlattening": Flattening,
    "DefaultDataCollator": TransformersDefault,
}
# Columns that collators take; the others take all.
_TAKEN = {"DataCollatorWithFlattening": ("input_ids", "labels")}
_CALLS = ("__call__", "torch_call", "numpy_call", "torch_mask_tokens", "numpy_mask_tokens")
_CALLED = ("pad_without_fast_tokenizer_warning", "BatchEncoding")


class Collate(Protocol):
    """A collator in its native form.

    Attributes:
        random: it draws.
    """

    random: bool

    def __call__(self, rows: Rows, place: Place) -> Any:
        """The batch of some rows; None where it is the stock collator's."""


def is_collator(collate_fn: Any) -> bool:
    """Whether it is one of those of transformers."""
    return type(collate_fn).__module__ == HOME or _is_function(collate_fn)


def taken_of(collate_fn: Any) -> tuple[str, ...] | None:
    """The columns that it looks at; None: all."""
    return _TAKEN.get(type(collate_fn).__name__)


def require_collator(collate_fn: Any) -> None:
    """Makes sure that a collator is known, and does what its library says.

    Raises:
        NotLifted: it is not, or does not.
    """
    if collate_fn is default_collate:
        if not is_own(collate_fn):
            raise NotLifted(f"{name_of(collate_fn)} was replaced")
        require_own(collate_fn)
        return
    if _is_function(collate_fn):
        return
    name = type(collate_fn).__name__
    if name not in KNOWN or not is_exactly(collate_fn, HOME, name):
        raise NotLifted(f"collate_fn is {name_of(collate_fn)}")
    require_library(collate_fn, [each for each in _CALLS if hasattr(collate_fn, each)])
    module = sys.modules[HOME]
    for each in _CALLED:
        if not is_library(getattr(module, each, is_exactly)):
            raise NotLifted(f"{HOME}.{each} was replaced")
    if hasattr(collate_fn, "tokenizer"):
        require_tokenizer(collate_fn.tokenizer)


def collate_of(collate_fn: Any, samples: TableRows | TokenRows, lists: list[str]) -> Collate:
    """The native form of a collator that `require_collator` knows.

    Args:
        collate_fn: the loader's.
        samples: that it collates.
        lists: columns of these that are lists.

    Raises:
        NotLifted: with its attributes it has none.
    """
    if collate_fn is default_collate:
        return TorchDefault(samples.tensors, lists)
    if _is_function(collate_fn):
        return TransformersDefault(collate_fn, samples.names)
    collate: Collate = KNOWN[type(collate_fn).__name__](collate_fn, samples.names)
    return collate


def _is_function(collate_fn: Any) -> bool:
    module = sys.modules.get(HOME)
    function = getattr(module, "default_data_collator", None)
    return function is not None and collate_fn is function and is_library(function)
