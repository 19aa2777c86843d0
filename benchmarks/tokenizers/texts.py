"""The texts of a run: what is timed, what warms for it, and the hostile inputs.

build/bench/tokenizers/text/SETTINGS/NAME-timed.txt    documents with NUL between them
build/bench/tokenizers/text/SETTINGS/NAME-warm.txt     other documents, of its own kind at the end
build/bench/tokenizers/hostile/NAME-SIZE               one document
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

from benchmarks.tokenizers import corpora, hostile, vocabularies
from benchmarks.tokenizers.settings import GPT2, MIXED, Settings


def timed(settings: Settings, name: str) -> Path:
    """Documents of a text."""
    file = _folder(settings) / f"{name}-timed.txt"
    if not file.is_file():
        _put(file, _first_bytes(_own(settings, name), settings.timed))
    return file


def warm(settings: Settings, name: str, size: int) -> Path:
    """Other documents: those of the same kind last, and before them of all kinds, up to `size`."""
    file = _folder(settings) / f"{name}-warm-{size}.txt"
    if not file.is_file():
        rest = _own(settings, name)
        skipped = sum(1 for _ in _first_bytes(_own(settings, name), settings.timed))
        own = list(_first_bytes(islice(rest, skipped, None), size))
        left = size - sum(map(len, own))
        kinds = [kind for kind in _known(settings) if kind not in _parts(settings, name)]
        others = _in_turn([_documents(settings, kind) for kind in kinds])
        _put(file, [*_first_bytes(others, left), *own])
    return file


def hostile_input(name: str, size: int) -> Path:
    """One of the hostile inputs."""
    file = corpora.PLACE / "hostile" / f"{name.replace(' ', '-')}-{size}"
    if not file.is_file():
        _put(file, [hostile.make(name, size)])
    return file


def vocabulary(settings: Settings, name: str) -> Path:
    """A tokenizer.json without a template, so that all contestants give the same ids."""
    if name != GPT2:
        return vocabularies.without_template(vocabularies.real(name))
    text = _folder(settings) / f"training-{settings.train}.txt"
    if not text.is_file():
        kinds = [_documents(settings, kind) for kind in settings.train_on]
        _put(text, _first_bytes(_in_turn(kinds), settings.train))
    return vocabularies.trained(GPT2, 50_257, text)


def _first_bytes(documents: Iterable[bytes], size: int) -> Iterator[bytes]:
    """So many bytes of documents, the last one cut where a character ends."""
    left = size
    for document in documents:
        if left <= 0:
            return
        yield document if len(document) <= left else _cut(document, left)
        left -= len(document)


def _cut(document: bytes, size: int) -> bytes:
    return document[:size].decode("utf-8", "ignore").encode()


def _known(settings: Settings) -> tuple[str, ...]:
    return tuple(corpora.CORPORA if settings.full else corpora.CUT)


def _parts(settings: Settings, name: str) -> tuple[str, ...]:
    if name != MIXED:
        return (name,)
    return tuple(each for each in _known(settings) if each in corpora.MIXED)


def _own(settings: Settings, name: str) -> Iterator[bytes]:
    return _in_turn([_documents(settings, part) for part in _parts(settings, name)])


def _documents(settings: Settings, name: str) -> Iterator[bytes]:
    return iter(corpora.documents(corpora.ensure(name, settings.full)))


def _in_turn(kinds: list[Iterator[bytes]]) -> Iterator[bytes]:
    """A document of each kind in turn, of those that have one left."""
    while kinds:
        for kind in tuple(kinds):
            document = next(kind, None)
            if document is None:
                kinds.remove(kind)
            else:
                yield document


def _folder(settings: Settings) -> Path:
    return corpora.PLACE / "text" / settings.name


def _put(file: Path, documents: Iterable[bytes]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    new = file.with_suffix(".part")
    new.write_bytes(b"\0".join(documents))
    new.replace(file)
