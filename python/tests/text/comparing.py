"""Ids of `drapps.tokenizer` beside those of its oracle."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import drapps
from drapps.tokenizers.check import shortened

Ids = list[list[int]]


@dataclass(frozen=True)
class Subject:
    """A vocabulary, from which both sides are made.

    Attributes:
        name: of the test.
        source: gives what `drapps.tokenizer` takes: a path, or an encoding of tiktoken.
        native: whether it must not be left to the library that it is from.
    """

    name: str
    source: Callable[[], Any]
    native: bool = True

    def __str__(self) -> str:
        return self.name


class Sides:
    """Both sides of a subject."""

    def __init__(self, subject: Subject) -> None:
        source = subject.source()
        self.ours = ours(source)
        assert self.ours.native or not subject.native, f"{subject}: {self.ours.reason}"
        self.stock = _Tokenizers(source) if isinstance(source, Path) else _Tiktoken(source)

    def compare(self, texts: Sequence[str], **options: Any) -> int:
        """Fails at the first text whose ids differ; returns how many bytes were compared."""
        rows, wanted = self.ids(texts, **options), self.stock.ids(texts)
        for text, mine, theirs in zip(texts, rows, wanted, strict=True):
            if mine != theirs:
                pytest.fail(self._difference(text))
        return sum(len(text.encode()) for text in texts)

    def ids(self, texts: Sequence[str | bytes], **options: Any) -> Ids:
        """Ours, text by text."""
        return encoded(self.ours, texts, **options)

    def _difference(self, text: str) -> str:
        def differs(some: str) -> bool:
            return self.ids([some]) != self.stock.ids([some])

        if not differs(text):
            return f"{text[:200]!r} has other ids alone than among other texts"
        small = shortened(text, differs)
        return f"{small!r}: {self.ids([small])[0]}, the oracle has {self.stock.ids([small])[0]}"


class _Tokenizers:
    """The oracle of a tokenizer.json."""

    def __init__(self, file: Path) -> None:
        from tokenizers import Tokenizer

        self._tokenizer = Tokenizer.from_file(str(file))

    def ids(self, texts: Sequence[str]) -> Ids:
        return [each.ids for each in self._tokenizer.encode_batch_fast(list(texts))]

    def decode(self, ids: list[int]) -> str:
        return str(self._tokenizer.decode(ids))


class _Tiktoken:
    """The oracle of an encoding of tiktoken."""

    def __init__(self, encoding: Any) -> None:
        self._encoding = encoding

    def ids(self, texts: Sequence[str]) -> Ids:
        return list(map(self.encode, texts))

    def encode(self, text: str, **allowed: Any) -> list[int]:
        """The ids of a text; special tokens are ordinary text unless they are allowed."""
        ids: list[int] = self._encoding.encode(text, disallowed_special=(), **allowed)
        return ids

    def decode(self, ids: list[int]) -> str:
        return str(self._encoding.decode(ids))


def encoded(tokenizer: Any, texts: Sequence[str | bytes], **options: Any) -> Ids:
    """The ids of texts in a batch, text by text."""
    batch = tokenizer.encode_batch(list(texts), **options)
    assert (batch.ids.dtype, batch.offsets.dtype) == (np.int32, np.int64)
    assert len(batch.offsets) == len(texts) + 1
    return [batch.ids[begin:end].tolist() for begin, end in pairwise(batch.offsets)]


def ours(source: Any) -> Any:
    """`drapps.tokenizer` of a source; the test is skipped where there is none."""
    if not hasattr(drapps, "tokenizer"):
        pytest.skip("this build has no drapps.tokenizer")
    return drapps.tokenizer(source)
