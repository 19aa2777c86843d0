"""Ids of many texts, as arrays."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from drapps.arguments import whole
from drapps.errors import PipelineError
from drapps.tokenizers.buffers import chunks_of, texts_in

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from drapps._core import TextTokenizer
    from drapps.tokenizers.stock import Text


class Encoded:
    """The ids of many texts, one behind the other.

    Attributes:
        ids: int32, those of all texts.
        offsets: int64, one more than there are texts: those of text *i* are
            ``ids[offsets[i]:offsets[i + 1]]``, which ``encoded[i]`` gives too.
    """

    __slots__ = ("ids", "offsets")

    def __init__(self, ids: NDArray[np.int32], offsets: NDArray[np.int64]) -> None:
        self.ids = ids
        self.offsets = offsets

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, index: int) -> NDArray[np.int32]:
        if not -len(self) <= index < len(self):
            raise IndexError(f"there are {len(self)} texts, and no text {index}")
        index %= len(self)
        return self.ids[self.offsets[index] : self.offsets[index + 1]]

    def __repr__(self) -> str:
        return f"Encoded({len(self)} texts, {len(self.ids)} ids)"


def flat(lists: Iterable[list[int]]) -> Encoded:
    """The ids of texts, list by list."""
    rows = list(lists)
    ends = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    ids = np.fromiter((number for each in rows for number in each), np.int32, int(ends[-1]))
    return Encoded(ids, ends)


def check_threads(threads: int | None) -> None:
    """Refuses what is no number of threads.

    Raises:
        PipelineError: it is none.
    """
    if threads is not None:
        whole("threads", threads, 1, 1024)


def listed(texts: Iterable[Text], threads: int | None) -> Iterable[Text]:
    """The texts of a call, one by one.

    Raises:
        PipelineError: for one text, a column of something else, and what is no number of threads.
    """
    check_threads(threads)
    _check_many(texts)
    chunks = chunks_of(texts)
    return texts if chunks is None else texts_in(chunks)


def encode_natively(
    core: TextTokenizer,
    texts: Iterable[Text],
    threads: int | None,
    specials: bool,
    wanted: list[str] | None,
) -> Encoded:
    """The ids of many texts by a tokenizer of the core.

    Raises:
        PipelineError: as `listed`.
    """
    check_threads(threads)
    _check_many(texts)
    chunks = chunks_of(texts)
    if chunks is not None:
        return Encoded(*core.encode_ranges(chunks, threads or 0, specials, wanted))
    return Encoded(*core.encode_batch(texts, threads or 0, specials, wanted))


def _check_many(texts: Iterable[Text]) -> None:
    if isinstance(texts, (str, bytes)):
        raise PipelineError("encode_batch takes a list of texts; for one text there is encode")
