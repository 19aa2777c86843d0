"""What a plan was made of, so that a change is seen at the next ``iter()``."""

from __future__ import annotations

from typing import Any

from drapps.tokenizers.fast import parts_of

# What of a tokenizer, beside what its backend consists of, decides what a call gives.
_SETTINGS = (
    *("padding_side", "truncation_side", "model_max_length", "model_input_names"),
    *("pad_token", "pad_token_id", "pad_token_type_id", "mask_token", "split_special_tokens"),
    "all_special_ids",
)


def of_padding(tokenizer: Any) -> list[Any]:
    """The tokenizer, and what decides how it pads, and what masks are made of."""
    settings = [repr(getattr(tokenizer, name, None)) for name in _SETTINGS]
    return [tokenizer, *settings, len(tokenizer)]


def of_tokenizer(tokenizer: Any) -> list[Any]:
    """The same with what decides its ids, but for the tables of its model, which take too long."""
    backend = getattr(tokenizer, "_tokenizer", None)
    return [*of_padding(tokenizer), "" if backend is None else repr(parts_of(backend))]


def of_attributes(thing: Any, tokenizer: Any = of_padding) -> list[Any]:
    """What an object holds, by name: its tokenizer as that says, and the rest as it is written."""
    stamp: list[Any] = []
    for name, value in sorted(getattr(thing, "__dict__", {}).items()):
        stamp += [name, *(tokenizer(value) if name == "tokenizer" else [repr(value)])]
    return stamp


def same_stamp(a: tuple[Any, ...], b: tuple[Any, ...]) -> bool:
    """Whether two plans would be the same: of the same objects, and equal texts and numbers."""
    plain = (str, int, bytes)
    return len(a) == len(b) and all(
        x is y or (isinstance(x, plain) and type(x) is type(y) and x == y)
        for x, y in zip(a, b, strict=True)
    )
