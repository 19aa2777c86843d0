"""Files of documents become files of token ids, as Megatron-LM has them."""

from __future__ import annotations

import math
import os
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from drapps.corpus.source import text_source
from drapps.corpus.spec import NO_ID
from drapps.corpus.tokens import native_tokenizer, token_id
from drapps.errors import SampleError
from drapps.token_shards.megatron import dtype_for
from drapps.token_shards.unfinished import Place, Unfinished, unfinished

if TYPE_CHECKING:
    from drapps import _core

    Piece = tuple[Any, Any, list[tuple[Any, ...]]]

_LARGE_BLOCK = 16 << 20  # bytes: its pieces are made one by one, each by all threads
_KEPT_AFTER = 2.0  # seconds
_FORMAT = 1


@dataclass(frozen=True)
class Written:
    """What was written.

    Attributes:
        path: of the ``.bin`` file; the ``.idx`` file lies beside it.
        dtype: of the ids.
        tokens: how many, those before and behind documents among them.
        documents: that have any.
        bad: documents that were left out.
        resumed: tokens that an earlier run had written.
    """

    path: Path
    dtype: str
    tokens: int
    documents: int
    bad: int
    resumed: int


def write_tokens(
    out: str | os.PathLike[str],
    files: Any,
    tokenizer: Any,
    *,
    eos: int | str | None = None,
    bos: int | str | None = None,
    documents: str = "auto",
    field: str = "text",
    skip_bad: bool = False,
    jobs: int | None = None,
    progress: Callable[[float, int], None] | None = None,
) -> Written:
    """Write the ids of all documents, in their order, as ``OUT.bin`` and ``OUT.idx``.

    What was not finished is gone on with by the next call with the same arguments.

    Args:
        out: name of the files, without its ending.
        files: as `drapps.text` takes them, and `documents` and `field`.
        tokenizer: a native one.
        eos: the token behind each document, by its id or its text; None for no token.
        bos: the token before each document, likewise.
        documents: what a document is.
        field: of JSON objects, or a column.
        skip_bad: leave out documents that are bad; else the first one is an error.
        jobs: threads; by default as many as this process may use cores.
        progress: called with the share that is done and the number of tokens so far.

    Raises:
        DataNotFoundError: no such files.
        PipelineError: the files are there already, or an argument makes no sense.
        SampleError: a bad document.
        OSError: reading or writing failed; the file is named.
    """
    from drapps import _core

    native = native_tokenizer(tokenizer)
    corpus = text_source(files, documents, field).corpus
    marks = {"bos": token_id("bos", bos, native), "eos": token_id("eos", eos, native)}
    job = {
        "format": _FORMAT,
        "documents": f"{corpus.fingerprint:016x}",
        "tokenizer": native.digest,
        **marks,
    }
    dtype = dtype_for(native.vocab_size)
    threads = jobs or math.ceil(_core.cpu_budget())
    encoding = _Encoding(
        corpus, native.core, {k: None if v == NO_ID else v for k, v in marks.items()}, threads
    )
    with unfinished(Path(out).expanduser(), job, dtype) as target:
        resumed = target.place.ids
        _write(target, encoding, skip_bad, progress)
        place = target.place
        path = target.finish()
    return Written(path, dtype, place.ids, place.documents, place.bad, resumed)


def _write(
    target: Unfinished,
    encoding: _Encoding,
    skip_bad: bool,
    progress: Callable[[float, int], None] | None,
) -> None:
    place, due = target.place, time.monotonic() + _KEPT_AFTER
    for block, number, piece in encoding.pieces(place.block, place.piece):
        if piece is None:
            place = Place(block + 1, 0, place.ids, place.documents, place.bad)
        else:
            ids, lengths, errors = piece
            if errors and not skip_bad:
                target.keep(place)
                raise SampleError(*errors[0])
            target.add(ids, lengths)
            place = Place(
                block,
                number + 1,
                place.ids + len(ids),
                place.documents + len(lengths),
                place.bad + len(errors),
            )
        if progress is not None:
            progress(encoding.share(place.block), place.ids)
        if time.monotonic() >= due:
            target.keep(place)
            due = time.monotonic() + _KEPT_AFTER
    target.keep(place)


class _Encoding:
    """The ids of all documents, block by block, made ahead by some threads."""

    def __init__(
        self, corpus: _core.Corpus, tokenizer: Any, marks: dict[str, int | None], threads: int
    ) -> None:
        self._corpus = corpus
        self._tokenizer = tokenizer
        self._marks = marks
        self._threads = threads
        self._sizes = corpus.blocks
        self._total = sum(self._sizes)
        self._shares = [0]
        for size in self._sizes:
            self._shares.append(self._shares[-1] + size)

    def share(self, block: int) -> float:
        """How much of all is done when a block comes next."""
        return self._shares[block] / self._total

    def pieces(self, block: int, piece: int) -> Iterator[tuple[int, int, Piece | None]]:
        """Number of the block, of the piece in it, and the piece; None at a block's end."""
        ahead: deque[Future[list[Piece]] | None] = deque()
        upcoming = block
        with ThreadPoolExecutor(self._threads) as pool:
            try:
                for current in range(block, len(self._sizes)):
                    while upcoming < len(self._sizes) and len(ahead) < 2 * self._threads + 1:
                        large = self._sizes[upcoming] > _LARGE_BLOCK
                        first = piece if upcoming == block else 0
                        ahead.append(
                            None if large else pool.submit(self._whole_block, upcoming, first)
                        )
                        upcoming += 1
                    first = piece if current == block else 0
                    future = ahead.popleft()
                    pieces = self._each(current, first) if future is None else future.result()
                    for number, each in enumerate(pieces, first):
                        yield current, number, each
                    yield current, 0, None
            finally:
                pool.shutdown(cancel_futures=True)

    def _whole_block(self, block: int, first: int) -> list[Piece]:
        return list(self._each(block, first, 1))

    def _each(self, block: int, first: int, threads: int | None = None) -> Iterator[Piece]:
        encoder = self._corpus.encoder(block, self._tokenizer, **self._marks)
        for _ in range(first):
            encoder.skip()
        while (piece := encoder.next(threads or self._threads)) is not None:
            yield cast("Piece", piece)
