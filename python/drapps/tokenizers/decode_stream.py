"""Text of ids that come one after the other."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterable
from typing import SupportsInt


class DecodeStream:
    """Gives text as soon as its characters are whole. Made by `Tokenizer.stream`.

    What it gives, one behind the other and with `end`, is what `decode` gives of all ids at once.
    """

    def __init__(
        self, decode: Callable[[Iterable[int], bool], str | bytes], skip_special_tokens: bool
    ) -> None:
        self._decode = decode
        self._skip = skip_special_tokens
        self._pieces = codecs.getincrementaldecoder("utf-8")("replace")
        self._ids: list[int] = []  # all ids so far, where the library decodes
        self._given = 0  # characters of the text of those ids

    def add(self, ids: SupportsInt | Iterable[int]) -> str:
        """The text that these ids complete.

        Args:
            ids: one, or several.

        Raises:
            PipelineError: as `Tokenizer.decode`.
        """
        several = ids if isinstance(ids, Iterable) else (ids,)
        more = [int(number) for number in several]
        text = self._decode([*self._ids, *more], self._skip)
        if isinstance(text, bytes):
            return self._pieces.decode(text)
        self._ids += more
        whole = text.rstrip("\ufffd")
        return self._rest(whole) if len(whole) > self._given else ""

    def end(self) -> str:
        """What is left: of a character that is not whole, U+FFFD. A new text may begin."""
        left = self._pieces.decode(b"", True)
        if self._ids:
            left = self._rest(str(self._decode(self._ids, self._skip)))
            self._ids, self._given = [], 0
        return left

    def _rest(self, text: str) -> str:
        new = text[self._given :]
        self._given = len(text)
        return new
