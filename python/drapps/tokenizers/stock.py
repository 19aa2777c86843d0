"""The tokenizers that ours are held to, behind the few methods that ours have."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Protocol

Text = str | bytes
Allowed = str | Collection[str] | None


def text_of(text: Text) -> str:
    """A text without what has no UTF-8: such bytes, and lone surrogates, are U+FFFD."""
    if isinstance(text, bytes):
        return text.decode("utf-8", "replace")
    if not isinstance(text, str):
        raise TypeError("texts must be str or bytes")
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


class Stock(Protocol):
    """A stock tokenizer."""

    def encode(self, text: Text, specials: bool, allowed: Allowed) -> list[int]:
        """The ids of a text."""

    def decode(self, ids: list[int], skip_special: bool) -> str:
        """The text of ids."""

    @property
    def vocab_size(self) -> int:
        """How many tokens there are."""


class StockTokenizers:
    """A stock tokenizer of the library `tokenizers`."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer

    def encode(self, text: Text, specials: bool, allowed: Allowed) -> list[int]:
        """The ids of a text; it has no special tokens on request."""
        del allowed
        ids: list[int] = self._tokenizer.encode(text_of(text), add_special_tokens=specials).ids
        return ids

    def decode(self, ids: list[int], skip_special: bool) -> str:
        """The text of ids."""
        text: str = self._tokenizer.decode(ids, skip_special_tokens=skip_special)
        return text

    @property
    def vocab_size(self) -> int:
        """How many tokens there are, added ones too."""
        size: int = self._tokenizer.get_vocab_size()
        return size


class StockTiktoken:
    """A stock tokenizer of the library `tiktoken`."""

    def __init__(self, encoding: Any) -> None:
        self._encoding = encoding

    def encode(self, text: Text, specials: bool, allowed: Allowed) -> list[int]:
        """The ids of a text; nothing is put around it."""
        del specials
        wanted = allowed if isinstance(allowed, str) else set(allowed or ())
        ids: list[int] = self._encoding.encode(
            text_of(text), allowed_special=wanted, disallowed_special=()
        )
        return ids

    def decode(self, ids: list[int], skip_special: bool) -> str:
        """The text of ids; it leaves none out."""
        del skip_special
        text: str = self._encoding.decode(ids)
        return text

    @property
    def vocab_size(self) -> int:
        """One more than the highest id."""
        size: int = self._encoding.n_vocab
        return size
