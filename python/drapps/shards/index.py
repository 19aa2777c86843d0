"""What was found in a shard, kept so that it is listed once.

A kept index is one file per shard and per way of reading it:

    8 bytes   the magic b"DRAPPSIX"
    4         version, little-endian like all that follows
    4         CRC-32 of everything behind it
    4         length of the head
    ...       the head, JSON: {"shard", "identity", "what", "columns": [[name, dtype, count], ...]}
    ...       the columns, each from a multiple of 8 bytes on

It holds for a shard of the identity in it (size, modification time, inode) and no other. A file
that does not fit in any way is no index: the shard is listed again. No file is replaced that is not
a kept index itself, and where nothing can be written nothing is kept.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import struct
import tempfile
import warnings
import zlib
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from drapps.errors import DataNotFoundError, PipelineError, SampleError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from drapps.source import PathLike

    Column = npt.NDArray[np.integer[Any]]
    Identity = tuple[int, int, int]

MAGIC = b"DRAPPSIX"
VERSION = 1
DTYPES = ("<u8", "<u4", "<i8")
# Listing waits for storage most of the time.
LISTERS = 16


@dataclass(frozen=True)
class ShardIndex:
    """The samples of one shard.

    Attributes:
        identity: of the shard when it was listed: size, modification time in ns, inode.
        columns: arrays of one integer per sample; at least ``offset`` and ``length``, in bytes.
    """

    identity: Identity
    columns: Mapping[str, Column]

    def __len__(self) -> int:
        return len(self.columns["offset"])


def shard_indexes(
    shards: Sequence[bytes],
    what: Mapping[str, Any],
    lister: Callable[[bytes], ShardIndex],
    index: PathLike | None,
) -> list[ShardIndex]:
    """The index of each shard: a kept one where it holds, else made by `lister`, and kept.

    Args:
        shards: files.
        what: how the shards are read, JSON-able; an index made for another way does not hold.
        lister: makes the index of a shard; called from several threads.
        index: where indexes are kept: ``cache`` is the user's cache folder, ``beside`` each shard's
            own folder, None nowhere; else a folder.

    Raises:
        DataNotFoundError: a shard is not there.
        SampleError: a shard is damaged or of another format.
    """
    from drapps import _core

    place = _place(index)
    # A folder that the user named should say that it cannot be used; the default one need not.
    asked = place is not None and index != "cache"

    def one(shard: bytes) -> ShardIndex:
        kept = None if place is None else place(shard, what)
        entry = None if kept is None else load(kept, shard, what)
        if entry is not None:
            return entry
        try:
            listing = lister(shard)
        except _core.SampleError as error:
            if error.args[1] == "not found":
                raise DataNotFoundError(f"{os.fsdecode(shard)!r}: {error.args[-1]}") from None
            raise SampleError(*error.args) from None
        if kept is not None:
            try:
                save(kept, shard, what, listing)
            except OSError as error:
                if asked:
                    warnings.warn(f"the index of a shard is not kept: {error}", stacklevel=2)
        return listing

    with ThreadPoolExecutor(min(LISTERS, len(shards))) as pool:
        return list(pool.map(one, shards))


def _place(index: PathLike | None) -> Callable[[bytes, Mapping[str, Any]], Path] | None:
    if index is None:
        return None
    if index == "beside":
        return lambda shard, what: Path(f"{os.fsdecode(shard)}.{_hex(_text(what))}.dsi")
    if index == "cache":
        cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")  # noqa: PTH111
        folder = Path(cache) / "drapps" / "shards"
    elif isinstance(index, (str, bytes, os.PathLike)):
        folder = Path(os.fsdecode(index)).expanduser()
    else:
        raise PipelineError(f"index={index!r} must be 'cache', 'beside', None or a folder")
    return lambda shard, what: folder / f"{_hex(os.path.realpath(shard) + _text(what), 16)}.dsi"


def _text(what: Mapping[str, Any]) -> bytes:
    return json.dumps(what, sort_keys=True).encode()


def _hex(data: bytes, size: int = 4) -> str:
    return hashlib.blake2b(data, digest_size=size).hexdigest()


def _aligned(size: int) -> int:
    return (size + 7) // 8 * 8


def save(kept: Path, shard: bytes, what: Mapping[str, Any], index: ShardIndex) -> None:
    """Keep an index.

    Raises:
        OSError: it could not be written; or something else is there, which is left alone.
    """
    columns = {
        name: column.astype(column.dtype.newbyteorder("<"))
        for name, column in index.columns.items()
    }
    head = json.dumps(
        {
            "shard": os.fsdecode(shard),
            "identity": index.identity,
            "what": what,
            "columns": [[name, column.dtype.str, len(column)] for name, column in columns.items()],
        }
    ).encode()
    body = struct.pack("<I", len(head)) + head
    parts = [body, bytes(_aligned(len(body)) - len(body))]
    for column in columns.values():
        data = column.tobytes()
        parts += [data, bytes(_aligned(len(data)) - len(data))]
    content = b"".join(parts)

    kept.parent.mkdir(parents=True, exist_ok=True)
    number, name = tempfile.mkstemp(dir=kept.parent, prefix=".drapps-index-")
    try:
        with os.fdopen(number, "wb") as file:
            file.write(MAGIC + struct.pack("<II", VERSION, zlib.crc32(content)) + content)
        try:
            os.link(name, kept)  # fails where something is there
        except FileExistsError:
            if not _is_index(kept):
                raise
            os.replace(name, kept)  # noqa: PTH105
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)  # noqa: PTH108


def _is_index(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC


def load(kept: Path, shard: bytes, what: Mapping[str, Any]) -> ShardIndex | None:
    """The index kept there, if it holds for the shard as it is now; else None."""
    try:
        status = os.stat(shard)  # noqa: PTH116
        content = kept.read_bytes()
        return _parse(content, (status.st_size, status.st_mtime_ns, status.st_ino), what)
    except (OSError, ValueError, KeyError, TypeError, struct.error):
        return None


def _parse(content: bytes, identity: Identity, what: Mapping[str, Any]) -> ShardIndex | None:
    import numpy as np

    if content[:8] != MAGIC:
        return None
    version, checksum, head_size = struct.unpack_from("<III", content, 8)
    if version != VERSION or checksum != zlib.crc32(memoryview(content)[16:]):
        return None
    head = json.loads(content[20 : 20 + head_size])
    if tuple(head["identity"]) != identity or head["what"] != json.loads(_text(what)):
        return None
    at = 16 + _aligned(4 + head_size)
    columns: dict[str, Column] = {}
    for name, dtype, count in head["columns"]:
        if dtype not in DTYPES:
            return None
        columns[name] = np.frombuffer(content, dtype, count, at)
        at += _aligned(columns[name].nbytes)
    return ShardIndex(identity, columns)
