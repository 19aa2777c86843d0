"""Documents for tests, in files of every kind, and rows as plain Python packs them."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import drapps
from benchmarks.tokenizers import vocabularies
from drapps.corpus.loader import PackedLoader
from python.tests.text.test_oracle import own_text

EOS = "<|endoftext|>"


def tokenizer_file() -> Path:
    """A byte-level BPE of 1,000 tokens, with special ones."""
    return vocabularies.trained("llama3", 1000, own_text())


def documents(count: int, seed: int = 0) -> list[str]:
    """Texts of some words to some hundred, all different."""
    draw = random.Random(seed)
    own = own_text().read_text("utf-8")[:200_000].replace(EOS, "")  # the guides show it
    words = own.split()
    return [
        f"{number} " + " ".join(draw.choices(words, k=draw.randint(3, 300)))
        for number in range(count)
    ]


def write_lines(path: Path, texts: list[str]) -> Path:
    """One document a line."""
    path.write_text("".join(f"{text}\n" for text in texts), "utf-8")
    return path


def json_lines(texts: list[str]) -> bytes:
    """An object a line, with more than the text in it."""
    return b"".join(
        json.dumps({"id": number, "text": text, "meta": {"text": "no"}}).encode() + b"\n"
        for number, text in enumerate(texts)
    )


def write_zstd(path: Path, content: bytes, frame: int = 1 << 20) -> Path:
    """Frames that begin and end anywhere in lines."""
    import pyarrow

    codec = pyarrow.Codec("zstd")
    path.write_bytes(
        b"".join(
            codec.compress(content[at : at + frame], asbytes=True)
            for at in range(0, len(content), frame)
        )
    )
    return path


def write_gzip(path: Path, content: bytes) -> Path:
    """One stream."""
    path.write_bytes(gzip.compress(content, 1))
    return path


def write_arrow(path: Path, texts: Sequence[str | None], rows: int, **kind: Any) -> Path:
    """A row for each in a column of strings beside another one, so many in a record batch.

    `kind` is the type of the column, as ``dtype``, ``stream``, or options for writing.
    """
    import pyarrow

    dtype, stream = kind.pop("dtype", pyarrow.string()), kind.pop("stream", False)
    column = pyarrow.array(texts, pyarrow.string()).cast(dtype)
    table = pyarrow.table({"id": range(len(texts)), "text": column})
    open_new = pyarrow.ipc.new_stream if stream else pyarrow.ipc.new_file
    options = pyarrow.ipc.IpcWriteOptions(**kind)
    with open_new(str(path), table.schema, options=options) as writer:
        writer.write_table(table, max_chunksize=rows)
    return path


def small_loader(folder: Path) -> Callable[[], PackedLoader]:
    """What makes loaders of the same ten batches."""
    tokenizer = drapps.tokenizer(tokenizer_file())
    path = write_lines(folder / "texts.txt", documents(2000))

    def make_loader() -> PackedLoader:
        return drapps.text(path).pack(tokenizer, 100, eos=EOS).shuffle(4).batch(4, rows=40)

    return make_loader


def small_padded_loader(folder: Path) -> Callable[[], PackedLoader]:
    """The same for batches of a token budget."""
    tokenizer = drapps.tokenizer(tokenizer_file())
    path = write_lines(folder / "texts.txt", documents(2000))

    def make_loader() -> PackedLoader:
        rows = drapps.text(path).tokenise(tokenizer, 100, eos=EOS).shuffle(4)
        return rows.batch(token_budget=1000, batches=10)

    return make_loader


def rows_of(loader: PackedLoader, column: str = "input_ids") -> np.ndarray[Any, Any]:
    """One column of a whole pass, row by row."""
    return np.concatenate([batch[column] for batch in loader.numpy()])


def concatenated(encode: Any, texts: list[str], eos: int, length: int) -> np.ndarray[Any, Any]:
    """What `run_clm.py` of transformers makes of documents: all ids in a row, cut."""
    ids = [number for text in texts for number in [*encode(text), eos]]
    whole = len(ids) - len(ids) % length
    return np.asarray(ids[:whole], np.int64).reshape(-1, length)
