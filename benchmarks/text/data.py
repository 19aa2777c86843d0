"""Documents as JSON lines in zstd files, and the vocabulary that they become ids of.

build/bench/text/SIZE/NN.jsonl.zst    each compressed as a whole, as `zstd` does by default
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, pairwise, zip_longest
from pathlib import Path

from benchmarks.contestant import ROOT
from benchmarks.tokenizers import corpora

PLACE = ROOT / "build/bench/text"
FILES = 16
EOS = "<|end_of_text|>"  # of Llama 3
_LEVEL = 3  # the default of the command `zstd`


@dataclass(frozen=True)
class Settings:
    """How much is loaded.

    Attributes:
        name: of the folder of its files.
        full: whether it is made of all packages that a text of scenario tokenizers has.
        texts: of scenario tokenizers, a document of each in turn.
        size: bytes of documents at most.
    """

    name: str
    full: bool
    texts: tuple[str, ...]
    size: int


CUT = Settings("cut", False, tuple(corpora.CUT), 20_000_000)
FULL = Settings("full", True, ("english",), 150_000_000)


def ensure(settings: Settings) -> list[Path]:
    """The files, made on their first use.

    Raises:
        ContestantError: a package can neither be found nor downloaded.
    """
    folder = PLACE / settings.name
    files = [folder / f"{number:02}.jsonl.zst" for number in range(FILES)]
    if not all(map(Path.is_file, files)):
        texts = (corpora.ensure(name, settings.full) for name in settings.texts)
        documents = _first_bytes(in_turn(map(corpora.documents, texts)), settings.size)
        folder.mkdir(parents=True, exist_ok=True)
        for file, lines in zip(files, shares(documents), strict=True):
            _put(file, b"".join(lines))
    return files


def empty_folder() -> tempfile.TemporaryDirectory[str]:
    """A folder for a cache that starts empty, until the context ends."""
    PLACE.mkdir(parents=True, exist_ok=True)
    return tempfile.TemporaryDirectory(dir=PLACE)


def tokenizer_file() -> Path:
    """The real Llama 3 without its template: what marks a document is the packing's."""
    from benchmarks.tokenizers import vocabularies  # which reads what tokenizers trains

    return vocabularies.without_template(vocabularies.real("llama3"))


def shares(documents: Iterable[bytes]) -> list[list[bytes]]:
    """A line of JSON for each document, neighbours in one file."""
    lines = [
        json.dumps({"id": number, "text": text, "size": len(text)}, ensure_ascii=False)
        for number, text in enumerate(document.decode() for document in documents if document)
    ]
    cuts = [len(lines) * number // FILES for number in range(FILES + 1)]
    return [[f"{line}\n".encode() for line in lines[begin:end]] for begin, end in pairwise(cuts)]


def in_turn(texts: Iterable[Iterable[bytes]]) -> Iterator[bytes]:
    """A document of each text in turn, of those that have one left."""
    return (each for each in chain.from_iterable(zip_longest(*texts)) if each is not None)


def _first_bytes(documents: Iterable[bytes], size: int) -> Iterator[bytes]:
    for document in documents:
        size -= len(document)
        if size < 0:
            return
        yield document


def _put(file: Path, content: bytes) -> None:
    import pyarrow

    new = file.with_suffix(".part")
    new.write_bytes(pyarrow.Codec("zstd", compression_level=_LEVEL).compress(content, asbytes=True))
    new.replace(file)
