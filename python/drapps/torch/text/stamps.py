"""What a plan was made of, so that a change is seen at the next ``iter()``."""

from __future__ import annotations

import hashlib
from typing import Any

# What of a tokenizer, beside its description, decides what a call gives.
_SETTINGS = (
    *("padding_side", "truncation_side", "model_max_length", "model_input_names"),
    *("pad_token", "pad_token_id", "pad_token_type_id", "mask_token", "split_special_tokens"),
)


def of_tokenizer(tokenizer: Any) -> list[Any]:
    """The tokenizer, its settings, and a digest of what decides its ids."""
    backend = getattr(tokenizer, "_tokenizer", None)
    content = b"" if backend is None else backend.to_str().encode()
    settings = [repr(getattr(tokenizer, name, None)) for name in _SETTINGS]
    return [tokenizer, *settings, hashlib.blake2b(content).hexdigest()]


def of_attributes(thing: Any) -> list[Any]:
    """What an object holds, by name: tokenizers as `of_tokenizer`, the rest as it is written."""
    stamp: list[Any] = []
    for name, value in sorted(getattr(thing, "__dict__", {}).items()):
        stamp += [name, *(of_tokenizer(value) if name == "tokenizer" else [repr(value)])]
    return stamp


def same_stamp(a: tuple[Any, ...], b: tuple[Any, ...]) -> bool:
    """Whether two plans would be the same: of the same objects, and equal texts and numbers."""
    plain = (str, int, bytes)
    return len(a) == len(b) and all(
        x is y or (isinstance(x, plain) and type(x) is type(y) and x == y)
        for x, y in zip(a, b, strict=True)
    )
