"""Which files hold the documents, and what a document of them is."""

from __future__ import annotations

import os
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from drapps import arguments
from drapps.corpus.parquet import ParquetFiles
from drapps.errors import DataNotFoundError, PipelineError

if TYPE_CHECKING:
    from drapps import _core
    from drapps.storage import EmulatedStorage

KINDS = ("lines", "jsonl", "files", "parquet")
_COMPRESSED = (".zst", ".zstd", ".gz")
_BY_ENDING = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".txt": "lines",
    ".parquet": "parquet",
}


class TextSource:
    """Documents by file. Immutable; files are opened at first use.

    Attributes:
        rows: of an epoch of packed text; None where that has no end.
        classes: none, as text has no labels.
    """

    classes: tuple[str, ...] = ()

    def __init__(self, files: list[bytes], documents: str, field: str, max_document: int) -> None:
        self._files = files
        self._documents = documents
        self._field = field
        self._max_document = max_document
        self._storage: EmulatedStorage | None = None
        self.rows: int | None = None

    def on(self, storage: EmulatedStorage) -> TextSource:
        """The same documents, whose files lie on another storage.

        Raises:
            PipelineError: they are of Parquet files, which pyarrow reads by itself.
        """
        if self._documents == "parquet":
            raise PipelineError("Parquet files are read by pyarrow, and from no other storage")
        return self._changed(_storage=storage)

    def of_rows(self, rows: int | None) -> TextSource:
        """The same documents, packed into so many rows an epoch."""
        return self._changed(rows=rows)

    def _changed(self, **changes: Any) -> TextSource:
        other = TextSource(self._files, self._documents, self._field, self._max_document)
        other.__dict__.update({**self.__dict__, **changes})
        return other

    @property
    def names(self) -> list[bytes]:
        """Of the files."""
        return self._files

    @property
    def documents(self) -> str:
        """What one of them is, of `KINDS`."""
        return self._documents

    @cached_property
    def opened(self) -> _core.Corpus:
        """The files with their blocks listed.

        Raises:
            DataNotFoundError: one of them is not there.
            PipelineError: one cannot be opened, or is damaged.
        """
        from drapps import _core

        try:
            if self._documents == "parquet":
                return ParquetFiles(self._files, self._field).corpus()
            return _core.Corpus.open(self._files, self._documents, self._field, self._max_document)
        except (OSError, ValueError) as error:
            absent = not all(Path(os.fsdecode(name)).exists() for name in self._files)
            raise (DataNotFoundError if absent else PipelineError)(str(error)) from None

    def located(self) -> _core.Source:
        """The source as the core takes it, on its storage."""
        source = self.opened.source(self.rows)
        if self._storage is not None:
            self._storage.holds(source)
        return source

    @property
    def size(self) -> int:
        """Rows of an epoch, or the most that there can be."""
        return 2**48 if self.rows is None else self.rows

    @property
    def extent(self) -> int:
        """What states name the set's size by: bytes, as a pass may be of any number of rows."""
        return self.opened.bytes

    def __len__(self) -> int:
        if self.rows is None:
            raise TypeError(
                "packed text goes on for ever, so it has no length: "
                "say rows= or tokens= in batch(), or count the steps yourself"
            )
        return self.rows

    def digest(self) -> str:
        """Sixteen hex digits over the files' names, sizes and blocks, and what documents are."""
        return f"{self.opened.fingerprint:016x}"


def text_source(
    files: Any,
    documents: str = "auto",
    field: str = "text",
    max_document: arguments.Bytes = "256MiB",
) -> TextSource:
    """Documents in files; see `drapps.text`."""
    documents = arguments.one_of("documents", documents, ("auto", *KINDS))
    names = _names(files)
    if documents == "auto":
        documents = _kind_of(names)
    limit = arguments.byte_count("max_document", max_document)
    return TextSource(names, documents, arguments.text("field", field), limit)


def _names(files: Any) -> list[bytes]:
    if isinstance(files, (str, bytes, os.PathLike)):
        top = Path(os.fsdecode(files)).expanduser()
        if not top.is_dir():
            return [os.fsencode(top)]
        names = [
            os.fsencode(each) for each in sorted(top.rglob("*")) if _ending(each) in _BY_ENDING
        ]
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
