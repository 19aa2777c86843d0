"""Writing a folder of pictures into tar shards."""

from __future__ import annotations

import json
import os
import re
import tarfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from drapps.arguments import Bytes, byte_count
from drapps.errors import DataNotFoundError, PipelineError
from drapps.output import NewFile, refuse_inside
from drapps.shards.webdataset import CLASSES_FILE
from drapps.source import EXTENSIONS, Source, folder_source

if TYPE_CHECKING:
    from drapps.source import PathLike

BLOCK = tarfile.BLOCKSIZE
SHARD_BYTES = 256 << 20


@dataclass(frozen=True)
class Packed:
    """What was written.

    Attributes:
        shards: the files, in their order.
        samples: how many.
        size: of all shards, in bytes.
    """

    shards: tuple[Path, ...]
    samples: int
    size: int


def pack(
    folder: PathLike,
    out: PathLike,
    *,
    shard_bytes: Bytes = SHARD_BYTES,
    extensions: Iterable[str] = EXTENSIONS,
    progress: Callable[[int, int], None] | None = None,
) -> Packed:
    """Write a folder of class folders into tar shards that `drapps.webdataset` reads.

    Samples keep the order of `drapps.image_folder`; files go in as they are, with a ``.cls`` member
    of the class's number beside each, and the names of the classes into ``classes.json``. A shard
    appears when it is complete. ``classes.json`` comes last, so a folder that has it is whole.

    Args:
        folder: as `drapps.image_folder` takes it.
        out: a folder that does not exist or is empty.
        shard_bytes: a shard is closed before it grows above this, a number or a size such as
            ``"256MiB"``; one sample fits always.
        extensions: which files are pictures.
        progress: called with the number of samples written so far, and of all.

    Raises:
        DataNotFoundError: as `drapps.image_folder`; or a picture that is gone.
        PipelineError: `out` holds something already or lies in `folder`, or a size that makes no
            sense.
        OSError: reading or writing failed; the file is named.
    """
    most = byte_count("shard_bytes", shard_bytes)
    source = folder_source(folder, extensions)
    top, target = (Path(os.fsdecode(path)).expanduser() for path in (folder, out))
    refuse_inside(target, top)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise PipelineError(f"{str(target)!r} is not an empty folder: nothing is overwritten")
    target.mkdir(parents=True, exist_ok=True)

    writer = _Writer(target, most)
    try:
        for done, (key, extension, content, label) in enumerate(_samples(source, top), 1):
            writer.add(key, ((extension, content), ("cls", str(label).encode())))
            if progress is not None:
                progress(done, len(source))
        writer.close_shard()
    finally:
        writer.discard()
    names = NewFile(target / CLASSES_FILE)
    try:
        names.write(json.dumps(list(source.classes), indent=1).encode())
        names.appear()
    finally:
        names.discard()
    return Packed(tuple(writer.shards), len(source), writer.size)


def _samples(source: Source, top: Path) -> Iterator[tuple[str, str, bytes, int]]:
    """Key, extension, content and label of each file, in the order of the source."""
    taken: set[str] = set()
    for path, label in source.labelled_files():
        name = Path(os.path.relpath(os.fsdecode(path), top))
        # A dot ends a key, and two underscores begin a member that readers pass over.
        key = re.sub(r"[._]{2,}|\.", "_", name.with_suffix("").as_posix())
        while key in taken:  # a.jpg beside a.png
            key += "+"
        taken.add(key)
        try:
            content = Path(os.fsdecode(path)).read_bytes()
        except FileNotFoundError:
            raise DataNotFoundError(f"{os.fsdecode(path)!r} was listed and is gone now") from None
        yield key, name.suffix[1:].lower(), content, label


class _Writer:
    """Fills one shard after the other."""

    def __init__(self, folder: Path, limit: int) -> None:
        self.shards: list[Path] = []
        self.size = 0
        self._folder = folder
        self._limit = limit
        self._file: NewFile | None = None

    def add(self, key: str, members: Iterable[tuple[str, bytes]]) -> None:
        """Write the members of a sample into one shard."""
        blocks = b"".join(_member(f"{key}.{extension}", data) for extension, data in members)
        if self._file is not None and self._file.size + len(blocks) + 2 * BLOCK > self._limit:
            self.close_shard()
        if self._file is None:
            path = self._folder / f"shard-{len(self.shards):06}.tar"
            self._file = NewFile(path)
            self.shards.append(path)
        self._file.write(blocks)

    def close_shard(self) -> None:
        """End the open shard, if there is one: it appears under its name."""
        if self._file is not None:
            self._file.write(bytes(2 * BLOCK))
            self.size += self._file.size
            self._file.appear()
            self._file = None

    def discard(self) -> None:
        """Remove what is not complete."""
        if self._file is not None:
            self._file.discard()


def _member(name: str, data: bytes) -> bytes:
    """Header and data, filled up to whole blocks; the same for the same name and data."""
    info = tarfile.TarInfo(name)
    info.size = len(data)
    header = info.tobuf(tarfile.PAX_FORMAT, "utf-8", "surrogateescape")
    return header + data + bytes(-len(data) % BLOCK)
