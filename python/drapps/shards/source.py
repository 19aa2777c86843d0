"""Samples that are ranges of larger files."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from drapps.errors import DataNotFoundError, PipelineError
from drapps.source import Source

if TYPE_CHECKING:
    import numpy.typing as npt

    from drapps import _core
    from drapps.shards.index import ShardIndex
    from drapps.source import Int64Array

TAKEN = ("image", "mask", "boxes", "box_labels", "box_counts", "index", "position", "flags")


class ShardSource(Source):
    """The samples of all shards, shard after shard.

    Args:
        shards: the files.
        indexes: of each of them; beside ``offset`` and ``length`` they may have ``mask_offset`` and
            ``mask_length``.
        labels: the columns of a batch, and the columns of the indexes that they come from.
        classes: names of the labels, where known.
    """

    def __init__(
        self,
        shards: Sequence[bytes],
        indexes: Sequence[ShardIndex],
        labels: Mapping[str, str],
        classes: Sequence[str] = (),
    ) -> None:
        import numpy as np

        super().__init__(classes=tuple(classes))
        self._shards = list(shards)
        self._identities = [index.identity for index in indexes]
        counts = [len(index) for index in indexes]
        if not sum(counts):
            raise DataNotFoundError(f"there are no samples in {_listed(shards)}")

        def column(name: str, dtype: Any) -> npt.NDArray[Any]:
            return np.concatenate([index.columns[name] for index in indexes]).astype(dtype)

        number = np.repeat(np.arange(len(counts), dtype=np.uint32), counts)
        self._images = (number, column("offset", np.uint64), column("length", np.uint32))
        self._label_columns: dict[str, Int64Array] = {
            name: column(of, np.int64) for name, of in labels.items()
        }
        self._mask_ranges = (
            (number, column("mask_offset", np.uint64), column("mask_length", np.uint32))
            if "mask_offset" in indexes[0].columns
            else None
        )

    def __len__(self) -> int:
        return len(self._images[0])

    def native(self) -> _core.Source:
        """The source as the core takes it."""
        from drapps import _core

        if self._native is None:
            self._native = _core.Source.shards(
                self._shards,
                self._identities,
                self._images,
                self._label_columns,
                self._mask_ranges,
            )
        return self._native

    def digest(self) -> str:
        """Sixteen hex digits over the shards' names, the records' sizes and labels, in order."""
        if self._digest is None:
            digest = hashlib.blake2b(digest_size=8)
            digest.update(b"\0".join(shard.rpartition(b"/")[2] for shard in self._shards))
            digest.update(self._images[2].tobytes())
            for values in self._label_columns.values():
                digest.update(values.tobytes())
            self._digest = digest.hexdigest()
        return self._digest


def check_label_names(names: Sequence[str]) -> None:
    """PipelineError for names that a batch has already."""
    for name in names:
        if name in TAKEN:
            raise PipelineError(f"a label column cannot be called {name!r}: batches have that")


def files_in(folder: Path, ending: str) -> list[bytes]:
    """The files of a folder with that ending, in the order of their names.

    Raises:
        DataNotFoundError: no such folder, or no such files in it.
    """
    if not folder.is_dir():
        raise DataNotFoundError(f"{str(folder)!r} is not a folder")
    files = [os.fsencode(path) for path in sorted(folder.iterdir()) if path.name.endswith(ending)]
    if not files:
        raise DataNotFoundError(f"{str(folder)!r} has no files *{ending}")
    return files


def _listed(shards: Sequence[bytes]) -> str:
    first = os.fsdecode(shards[0])
    return repr(first) if len(shards) == 1 else f"{first!r} and {len(shards) - 1} more"
