"""Which files hold the ids, and how."""

from __future__ import annotations

import contextlib
import json
import os
from copy import copy
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from drapps import arguments
from drapps.errors import DataNotFoundError, PipelineError
from drapps.source import Source
from drapps.token_shards.columns import arrow_ranges, parquet_values
from drapps.token_shards.spec import Rows

if TYPE_CHECKING:
    from drapps import _core
    from drapps.storage import EmulatedStorage

DTYPES = ("uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64")
_KINDS = {".bin": "bin", ".idx": "bin", ".arrow": "arrow", ".parquet": "parquet"}
_DATASET = "state.json"  # of a folder that Dataset.save_to_disk wrote
_DATASETS = "dataset_dict.json"
_MOST_IDS = 2**63


@dataclass(frozen=True)
class TokenFiles:
    """Files of one kind, in their order.

    Attributes:
        kind: ``megatron``, ``plain``, ``arrow`` or ``parquet``.
        names: of the files; of those of Megatron the ``.bin`` ones.
        dtype: of plain files.
        header: bytes of plain files before their ids.
        eos: the id behind each document of plain files, or none is known.
        vocabulary: ids are below it, or none is known.
        column: of lists of ids.
    """

    kind: str
    names: tuple[bytes, ...]
    dtype: str = ""
    header: int = 0
    eos: int | None = None
    vocabulary: int | None = None
    column: str = "input_ids"
    _opened: dict[str, _core.TokenSet] = field(default_factory=dict, compare=False, repr=False)

    def opened(self, rows: Rows) -> _core.TokenSet:
        """The files, with what says where the documents begin if rows need that.

        Raises:
            DataNotFoundError: one of them is not there.
            PipelineError: one cannot be opened, or is not what it should be.
        """
        by = "nothing"
        if rows.by_document:
            by = "index" if self.kind != "plain" else "nothing" if self.eos is None else "eos"
        if by not in self._opened:
            self._opened[by] = self._open(by)
        return self._opened[by]

    def _open(self, by: str) -> _core.TokenSet:
        from drapps import _core

        builder = _core.TokenSetBuilder(by, self.eos or 0, self.vocabulary or 0)
        for name in self.names:
            self._add_checked(builder, name)
        try:
            return builder.finish()
        except ValueError as error:
            raise PipelineError(str(error)) from None

    def _add_checked(self, builder: _core.TokenSetBuilder, name: bytes) -> None:
        try:
            self._add(builder, name)
        except PipelineError:
            raise
        except (OSError, ValueError) as error:
            path = os.fsdecode(name)
            absent = not Path(path).exists()
            text = str(error) if path in str(error) else f"{path}: {error}"
            raise (DataNotFoundError if absent else PipelineError)(text) from None

    def _add(self, builder: _core.TokenSetBuilder, name: bytes) -> None:
        import numpy as np

        if self.kind == "megatron":
            builder.add_megatron(name, index_of(name))
        elif self.kind == "plain":
            builder.add_plain(name, self.dtype, self.header)
        elif self.kind == "arrow":
            ranges = arrow_ranges(os.fsdecode(name), self.column)
            if ranges.dtype:
                builder.add_ranges(name, ranges.dtype, ranges.offsets, ranges.ids, ranges.documents)
        else:
            values = parquet_values(os.fsdecode(name), self.column)
            dtype = values.ids.dtype.name
            builder.add_memory(name, dtype, values.ids.view(np.uint8), values.documents)


class TokenSource(Source):
    """Rows of ids. Immutable; files are opened at first use."""

    def __init__(self, files: TokenFiles, rows: Rows) -> None:
        super().__init__()
        self._files = files
        self._rows = rows

    def __len__(self) -> int:
        if self._rows.of_documents:
            return self.opened.documents
        shifted = self._rows.labels == "shifted"
        return max(0, self.extent - shifted) // self._rows.length

    @property
    def extent(self) -> int:
        """What states name the set's size by: ids."""
        return self.opened.size

    def on(self, storage: EmulatedStorage) -> TokenSource:
        """The same ids, whose files lie on another storage."""
        return cast("TokenSource", super().on(storage))

    def of_rows(self, rows: Rows) -> TokenSource:
        """The same files, cut otherwise."""
        other = copy(self)
        other._rows, other._native = rows, None
        return other

    @property
    def eos(self) -> int | None:
        """The id behind each document of files of ids alone, where it is known."""
        return self._files.eos

    @property
    def opened(self) -> _core.TokenSet:
        """The files as the core knows them; errors as `TokenFiles.opened`."""
        return self._files.opened(self._rows)

    def native(self) -> _core.Source:
        """The source as the core takes it."""
        if self._native is None:
            rows = self._rows
            self._native = self.opened.source(
                rows.length, rows.labels, rows.mask_starts, rows.packing
            )
        return self._native

    def digest(self) -> str:
        """Sixteen hex digits over the files' names, dtypes and sizes, and where ids lie in them."""
        return f"{self.opened.fingerprint:016x}"


def token_files(
    files: Any,
    dtype: Any,
    header: int,
    eos: int | None,
    vocabulary: int | None,
    column: str,
) -> TokenFiles:
    """Files of ids; see `drapps.tokens`."""
    names = _names(files)
    kind = _kind_of(names)
    if kind == "bin":
        names = list(dict.fromkeys(str(Path(name).with_suffix(".bin")) for name in names))
        kind = "megatron" if dtype is None else "plain"
    if kind != "plain" and (dtype is not None or header or eos is not None):
        raise PipelineError(
            "dtype=, header= and eos= are for files of ids alone: these say themselves of "
            "which dtype the ids are, and where documents begin"
        )
    if kind == "megatron":
        for name in names:
            if not Path(os.fsdecode(index_of(os.fsencode(name)))).exists() and Path(name).exists():
                raise PipelineError(
                    f"{name}: there is no .idx file beside it: name dtype=, such as uint16"
                )
    return TokenFiles(
        kind,
        tuple(os.fsencode(name) for name in names),
        dtype="" if dtype is None else _dtype_name(dtype),
        header=arguments.whole("header", header, 0, 2**40),
        eos=None if eos is None else arguments.whole("eos", eos, 0, _MOST_IDS - 1),
        vocabulary=None
        if vocabulary is None
        else arguments.whole("vocabulary", vocabulary, 1, _MOST_IDS - 1),
        column=arguments.text("column", column),
    )


def _dtype_name(dtype: Any) -> str:
    """The name of a dtype, NumPy's too, in this machine's order of bytes."""
    import numpy as np

    with contextlib.suppress(TypeError, ValueError):
        if (known := np.dtype(dtype)).isnative:
            dtype = known.name
    return arguments.one_of("dtype", dtype, DTYPES)


def index_of(name: bytes) -> bytes:
    """The index beside a ``.bin`` file."""
    return name.removesuffix(b".bin") + b".idx"


def _names(files: Any) -> list[str]:
    if isinstance(files, (str, bytes, os.PathLike)):
        files = [files]
    names = [os.fsdecode(each) for each in arguments.paths("files", files)]
    if not names:
        raise PipelineError("files is empty: name one at least")
    return [name for each in names for name in _below(Path(each).expanduser())]


def _below(top: Path) -> list[str]:
    """The files in a folder, or the file itself, or Megatron's that has this prefix."""
    if not top.is_dir():
        prefixed = top.with_name(top.name + ".bin")
        return [str(prefixed if top.suffix not in _KINDS and prefixed.exists() else top)]
    if (top / _DATASETS).exists():
        splits = ", ".join(sorted(each.parent.name for each in top.glob(f"*/{_DATASET}")))
        raise PipelineError(f"{str(top)!r} holds several data sets ({splits}): name one's folder")
    if (top / _DATASET).exists():
        try:
            listed = json.loads((top / _DATASET).read_text())["_data_files"]
            return [str(top / each["filename"]) for each in listed]
        except (ValueError, KeyError, TypeError):
            raise PipelineError(f"{str(top / _DATASET)!r} lists no files of a data set") from None
    names = [
        str(each)
        for each in sorted(top.rglob("*"))
        if each.suffix in (".bin", ".arrow", ".parquet")
    ]
    if not names:
        raise DataNotFoundError(f"{str(top)!r} has no files of tokens (.bin, .arrow, .parquet)")
    return names


def _kind_of(names: list[str]) -> str:
    kinds = {_KINDS.get(Path(name).suffix, "") for name in names}
    if len(kinds) != 1 or kinds == {""}:
        endings = ", ".join(sorted({Path(name).suffix or "none" for name in names}))
        raise PipelineError(
            f"the files end with {endings}: name files of one kind, of {', '.join(_KINDS)}"
        )
    return kinds.pop()
