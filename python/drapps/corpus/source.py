"""Where documents come from: which files hold them, and what a document of them is."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from copy import copy
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from drapps import arguments
from drapps.corpus.arrow import arrow_corpus
from drapps.corpus.parquet import ParquetFiles
from drapps.errors import DataNotFoundError, PipelineError

if TYPE_CHECKING:
    from drapps import _core
    from drapps.storage import EmulatedStorage

KINDS = ("lines", "jsonl", "files", "parquet", "arrow")
_COMPRESSED = (".zst", ".zstd", ".gz")
_BY_ENDING = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".txt": "lines",
    ".parquet": "parquet",
    ".arrow": "arrow",
}
# What `datasets` writes beside Arrow files, which is no text.
_NO_DOCUMENTS = {"dataset_info.json", "dataset_dict.json", "state.json"}


class TextSource(ABC):
    """Documents, which are packed into rows. Immutable; files are opened at first use.

    Attributes:
        rows: of an epoch of packed text; None where that has no end.
        ends_by: the argument of `batch` that gives an epoch an end.
        files: their paths, of one source.
        described: what a document of them is, JSON-able.
        weights: of the sources that a mixture has, in the ratio of their shares; else none.
        numbered: whether documents are dealt and shuffled one by one.
        classes: none, as text has no labels.
    """

    rows: int | None = None
    ends_by: str = "rows="
    files: Sequence[bytes] = ()
    described: tuple[str | int, ...] = ()
    weights: tuple[int, ...] = ()
    numbered: bool = False
    classes: tuple[str, ...] = ()
    _storage: EmulatedStorage | None = None

    @property
    @abstractmethod
    def sets(self) -> Sequence[_core.Corpus | _core.TokenSet]:
        """The opened files of each source.

        Raises:
            DataNotFoundError: one of them is not there.
            PipelineError: one cannot be opened, or is damaged.
        """

    @abstractmethod
    def on(self, storage: EmulatedStorage) -> TextSource:
        """The same documents, whose files lie on another storage.

        Raises:
            PipelineError: they are of Parquet files, which pyarrow reads by itself.
        """

    @abstractmethod
    def by_number(self) -> TextSource:
        """The same documents, each of which can be read by itself, in any order.

        Raises:
            PipelineError: they are in files that can be read by blocks alone.
        """

    def of_rows(self, rows: int | None, ends_by: str = "rows=") -> TextSource:
        """The same documents, packed into so many rows an epoch."""
        return self._changed(rows=rows, ends_by=ends_by)

    def _changed(self, **changes: Any) -> TextSource:
        other = copy(self)
        other.__dict__.update(changes)
        return other

    @property
    def paths(self) -> list[Sequence[bytes]]:
        """The files of each source."""
        return [self.files]

    def located(self) -> _core.Source:
        """The source as the core takes it, on its storage."""
        from drapps import _core

        source = _core.text_source(self.sets, self.rows)
        if self._storage is not None:
            self._storage.holds(source)
        return source

    @property
    def size(self) -> int:
        """Rows of an epoch, or the most that there can be."""
        return 2**48 if self.rows is None else self.rows

    @property
    def extent(self) -> int:
        """What states name the size by: bytes or ids, as a pass may be of any number of rows."""
        return sum(each.extent for each in self.sets)

    def __len__(self) -> int:
        if self.rows is None:
            raise TypeError(
                "text goes on with its first document behind the last one, so it has no length: "
                f"say {self.ends_by} in batch(), or count the steps yourself"
            )
        return self.rows

    def digest(self) -> str:
        """Sixteen hex digits a source: its files' names, sizes, blocks, and what documents are."""
        return "".join(f"{each.fingerprint:016x}" for each in self.sets)


class TextFiles(TextSource):
    """Documents by file."""

    def __init__(self, files: list[bytes], documents: str, field: str, max_document: int) -> None:
        self.files = files
        self.described = (documents, field, max_document)
        self.documents = documents
        self._field = field
        self._max_document = max_document

    def on(self, storage: EmulatedStorage) -> TextSource:
        """The same documents, whose files lie on another storage."""
        if self.documents == "parquet":
            raise PipelineError("Parquet files are read by pyarrow, and from no other storage")
        return self._changed(_storage=storage)

    def by_number(self) -> TextSource:
        """The same documents, each read by itself; files that are documents are anyway."""
        if self.documents == "files":
            return self
        if self.documents == "parquet":
            raise PipelineError(
                "a Parquet file is read by row groups, not by single documents: shuffle blocks, or "
                "write it as Arrow"
            )
        other = self._changed(numbered=True)
        other.__dict__.pop("corpus", None)
        return other

    @property
    def sets(self) -> Sequence[_core.Corpus]:
        """The opened files, which are one source."""
        return [self.corpus]

    @cached_property
    def corpus(self) -> _core.Corpus:
        """The files with their blocks listed; errors as `TextSource.sets`."""
        from drapps import _core

        try:
            if self.documents == "parquet":
                return ParquetFiles(self.files, self._field).corpus()
            if self.documents == "arrow":
                return arrow_corpus(self.files, self._field, self._max_document, self.numbered)
            return _core.Corpus.open(
                self.files, self.documents, self._field, self._max_document, self.numbered
            )
        except (OSError, ValueError) as error:
            absent = not all(Path(os.fsdecode(name)).exists() for name in self.files)
            raise (DataNotFoundError if absent else PipelineError)(str(error)) from None


def text_source(
    files: Any,
    documents: str = "auto",
    field: str = "text",
    max_document: arguments.Bytes = "256MiB",
) -> TextFiles:
    """Documents in files; see `drapps.text`."""
    documents = arguments.one_of("documents", documents, ("auto", *KINDS))
    names = _names(files)
    if documents == "auto":
        documents = _kind_of(names)
    limit = arguments.byte_count("max_document", max_document)
    return TextFiles(names, documents, arguments.text("field", field), limit)


def _names(files: Any) -> list[bytes]:
    if isinstance(files, (str, bytes, os.PathLike)):
        top = Path(os.fsdecode(files)).expanduser()
        if not top.is_dir():
            return [os.fsencode(top)]
        names = [
            os.fsencode(each) for each in sorted(top.rglob("*")) if _ending(each) in _BY_ENDING
        ]
        if any(name.endswith(b".arrow") for name in names):
            names = [name for name in names if Path(os.fsdecode(name)).name not in _NO_DOCUMENTS]
        if not names:
            raise DataNotFoundError(
                f"{str(top)!r} has no files of text ({', '.join(_BY_ENDING)}, also compressed): "
                "name the files"
            )
        return names
    names = arguments.paths("files", files)
    if not names:
        raise PipelineError("files is empty: name one at least")
    return names


def _ending(path: Path) -> str:
    suffixes = [each.lower() for each in path.suffixes]
    if suffixes and suffixes[-1] in _COMPRESSED:
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def _kind_of(names: list[bytes]) -> str:
    kinds = {_BY_ENDING.get(_ending(Path(os.fsdecode(name))), "") for name in names}
    if len(kinds) != 1 or kinds == {""}:
        raise PipelineError(
            "the endings of the files do not say what their documents are: "
            f"say documents=, one of {', '.join(KINDS)}"
        )
    return kinds.pop()
