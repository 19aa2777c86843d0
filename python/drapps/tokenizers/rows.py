"""What transformers asks of a tokenizer, as the options of ours."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from drapps._core import TextRowOptions

# Arguments of _encode_plus that are understood; any other goes to the stock method.
KNOWN = frozenset(
    {
        *("add_special_tokens", "padding_strategy", "truncation_strategy", "max_length", "stride"),
        *("is_split_into_words", "pad_to_multiple_of", "padding_side", "return_tensors"),
        *("return_token_type_ids", "return_attention_mask", "return_overflowing_tokens"),
        *("return_special_tokens_mask", "return_offsets_mapping", "return_length", "verbose"),
        "split_special_tokens",
    }
)
COUNTS = ("max_length", "stride", "pad_to_multiple_of")


class Request(NamedTuple):
    """A call of a tokenizer.

    Attributes:
        texts: the first text of each row.
        seconds: the second text of each row, or nothing.
        options: how they become rows.
        tensors: `"pt"`, `"np"`, or nothing for lists.
        lengths: whether the length of each row is wanted.
        alone: whether it is one text, which gives one row and no list of rows.
    """

    texts: list[str]
    seconds: list[str] | None
    options: TextRowOptions
    tensors: str | None
    lengths: bool
    alone: bool


def rows_asked(tokenizer: Any, text: Any, text_pair: Any, asked: dict[str, Any]) -> Request | None:
    """What a call asks for; nothing where only the stock method can answer it."""
    splits = asked.get("split_special_tokens")
    if splits is None:
        splits = tokenizer.split_special_tokens
    if not asked.keys() <= KNOWN or asked.get("is_split_into_words") or splits:
        return None
    if not all(_is_count(asked.get(name)) for name in COUNTS):
        return None
    tensors = asked.get("return_tensors")
    tensors = getattr(tensors, "value", tensors)
    texts = _texts_of(text, text_pair)
    options = _options_of(tokenizer, asked)
    if texts is None or options is None or tensors not in (None, "pt", "np"):
        return None
    lengths, alone = bool(asked.get("return_length")), isinstance(text, str)
    return Request(*texts, options, tensors, lengths, alone)


def column_of(name: str, values: Any, begins: Any, request: Request) -> Any:
    """A column as transformers has it: an array of equal rows, or lists."""
    rows = len(begins) - 1
    places = name == "offset_mapping"
    if request.tensors is not None:
        return values.reshape((rows, -1, 2) if places else (rows, -1))
    flat = (
        list(zip(values[::2].tolist(), values[1::2].tolist(), strict=True))
        if places
        else values.tolist()
    )
    return [flat[begin:end] for begin, end in pairwise(begins.tolist())]


def _is_count(number: Any) -> bool:
    return number is None or (isinstance(number, (int, np.integer)) and 0 <= int(number) < 1 << 31)


def _texts_of(text: Any, text_pair: Any) -> tuple[list[str], list[str] | None] | None:
    """First texts and second ones."""
    if isinstance(text, str):
        if not text_pair:
            return [text], None
        return ([text], [text_pair]) if isinstance(text_pair, str) else None
    if not isinstance(text, (list, tuple)) or not text:
        return None
    if text_pair is not None:
        if not isinstance(text_pair, (list, tuple)) or len(text) != len(text_pair):
            return None
        firsts, seconds = list(text), list(text_pair)
    elif isinstance(text[0], str):
        firsts, seconds = list(text), None
    else:
        if not all(isinstance(each, (list, tuple)) and len(each) == 2 for each in text):
            return None
        firsts, seconds = [each[0] for each in text], [each[1] for each in text]
    if not all(isinstance(each, str) for each in (*firsts, *(seconds or ()))):
        return None
    return firsts, seconds


def _options_of(tokenizer: Any, asked: dict[str, Any]) -> TextRowOptions | None:
    from drapps import _core

    options = _core.TextRowOptions()
    options.specials = bool(asked.get("add_special_tokens", True))
    for name, member in (("token_type_ids", "types"), ("attention_mask", "attention")):
        wanted = asked.get(f"return_{name}")
        wanted = name in tokenizer.model_input_names if wanted is None else bool(wanted)
        setattr(options, member, wanted)
    options.overflowing = bool(asked.get("return_overflowing_tokens"))
    options.special_mask = bool(asked.get("return_special_tokens_mask"))
    options.places = bool(asked.get("return_offsets_mapping"))
    fits = _cut(options, tokenizer, asked) and _pad(options, tokenizer, asked)
    return options if fits else None


def _cut(options: TextRowOptions, tokenizer: Any, asked: dict[str, Any]) -> bool:
    """Sets how rows are cut; false for what is not understood."""
    strategy = _value(asked.get("truncation_strategy"), "do_not_truncate")
    if strategy == "do_not_truncate":
        return True
    if asked.get("max_length") is None or tokenizer.truncation_side not in ("left", "right"):
        return False
    options.max_length = asked["max_length"]
    options.stride = asked.get("stride") or 0
    options.cut_left = tokenizer.truncation_side == "left"
    options.cut(strategy)
    return True


def _pad(options: TextRowOptions, tokenizer: Any, asked: dict[str, Any]) -> bool:
    """Sets how rows are padded; false for what is not understood."""
    strategy = _value(asked.get("padding_strategy"), "do_not_pad")
    if strategy == "do_not_pad":
        return True
    side = asked.get("padding_side") or tokenizer.padding_side
    number = tokenizer.pad_token_id
    if side not in ("left", "right") or not isinstance(number, int) or number < 0:
        return False
    if strategy == "max_length":
        if asked.get("max_length") is None:
            return False
        options.length = asked["max_length"]
    options.multiple = asked.get("pad_to_multiple_of") or 0
    options.pad_left = side == "left"
    options.pad_id, options.pad_type = number, tokenizer.pad_token_type_id
    options.pad(strategy)
    return True


def _value(strategy: Any, default: str) -> str:
    return default if strategy is None else str(getattr(strategy, "value", strategy))
