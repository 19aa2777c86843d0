"""Files of lines become zstd files of small frames, which can be read from many places."""

from __future__ import annotations

import json
import math
import os
import struct
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from drapps import _core
from drapps.corpus.source import text_source
from drapps.errors import DataNotFoundError, PipelineError
from drapps.output import NewFile

LEVEL = 3  # the default of the command zstd
_COMPRESSED = (".zst", ".zstd", ".gz")
_MARK = struct.Struct("<II")
_SKIPPABLE = 0x184D2A50  # a frame that readers pass over
_LONGEST_MARK = 4096


@dataclass(frozen=True)
class Reframed:
    """What was written.

    Attributes:
        paths: of the files, in the order of those they were made of.
        there: how many of them were there already, made of the same files.
        size: of those written, in bytes.
    """

    paths: tuple[Path, ...]
    there: int
    size: int


def reframe(
    out: str | os.PathLike[str],
    files: Any,
    *,
    level: int = LEVEL,
    jobs: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Reframed:
    """Write each file of lines into the folder `out`, as zstd frames of whole lines.

    A frame has 1 MiB of lines, or as much more as its last line needs. A file appears when it is
    complete; one that is there already, made of the same file as it is now, counts as done.

    Args:
        out: a folder, made where it is not there.
        files: as `drapps.text` takes them, of lines or JSON lines, plain or compressed.
        level: of zstd.
        jobs: threads; by default as many as this process may use cores.
        progress: called with the number of files that are done, and of all.

    Raises:
        DataNotFoundError: no such files.
        PipelineError: a file is damaged, two would have one name, or another one has it already.
        OSError: reading or writing failed; the file is named.
    """
    read = text_source(files)
    if read.documents not in ("lines", "jsonl"):
        raise PipelineError(f"documents that are {read.documents} have no lines to be cut behind")
    sources = [Path(os.fsdecode(name)) for name in read.files]
    folder = Path(out).expanduser()
    targets = [folder / _name_of(source) for source in sources]
    for target in targets:
        if targets.count(target) > 1:
            raise PipelineError(f"several files would become {str(target)!r}: write them apart")
    folder.mkdir(parents=True, exist_ok=True)
    there = size = 0
    threads = jobs or math.ceil(_core.cpu_budget())
    with ThreadPoolExecutor(threads) as pool:
        compressed = _Compressed(pool, threads, level)
        for done, (source, target) in enumerate(zip(sources, targets, strict=True), 1):
            mark = _mark_of(source)
            if os.path.lexists(target):
                if not _ends_with(target, mark):
                    raise PipelineError(f"{str(target)!r} is there already: nothing is overwritten")
                there += 1
            else:
                size += _write(source, target, mark, compressed)
            if progress is not None:
                progress(done, len(sources))
    return Reframed(tuple(targets), there, size)


def _name_of(source: Path) -> str:
    plain = source.stem if source.suffix.lower() in _COMPRESSED else source.name
    return f"{plain}.zst"


def _mark_of(source: Path) -> bytes:
    """A frame without content that says what a file was made of."""
    try:
        status = source.stat()
    except FileNotFoundError:
        raise DataNotFoundError(f"{str(source)!r} is not there") from None
    made_of = {"drapps": "reframe", "size": status.st_size, "mtime_ns": status.st_mtime_ns}
    text = json.dumps(made_of).encode()
    return _MARK.pack(_SKIPPABLE, len(text)) + text


def _ends_with(target: Path, mark: bytes) -> bool:
    if not target.is_file():
        return False
    with target.open("rb") as file:
        file.seek(max(0, target.stat().st_size - _LONGEST_MARK))
        return file.read().endswith(mark)


def _write(source: Path, target: Path, mark: bytes, compressed: _Compressed) -> int:
    new = NewFile(target)
    try:
        for frame in compressed.frames(source):
            new.write(frame)
        new.write(mark)
        if _mark_of(source) != mark:
            raise PipelineError(f"{str(source)!r} was written to while it was read")
        new.appear()
    finally:
        new.discard()
    return new.size


@dataclass(frozen=True)
class _Compressed:
    """Frames, made by some threads ahead of who takes them."""

    pool: ThreadPoolExecutor
    threads: int
    level: int

    def frames(self, source: Path) -> Iterator[bytes]:
        """The frames of all lines of a file, in their order."""
        ahead: deque[Future[bytes]] = deque()
        for content in _contents(source):
            ahead.append(self.pool.submit(_core.zstd_frame, content, self.level))
            if len(ahead) > 2 * self.threads:
                yield ahead.popleft().result()
        while ahead:
            yield ahead.popleft().result()


def _contents(source: Path) -> Iterator[bytes]:
    """Whole lines, as many as a frame has."""
    if source.stat().st_size == 0:
        return
    lines = text_source([source], "lines").corpus.line_frames()
    try:
        while (content := lines.next()) is not None:
            yield cast(bytes, content)
    except ValueError as error:
        raise PipelineError(str(error)) from None
