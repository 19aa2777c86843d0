"""Which files a loader reads, and what of them is in memory."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Protocol

from drapps.analysis import page_cache
from drapps.analysis.page_cache import Reading
from drapps.errors import DataNotFoundError, PipelineError
from drapps.watching.making import name_of

_LOOKED_AT = 2000  # files of which a share is asked for
_FOLDERS = 50
_CODE = (".py", ".pyc", ".so", ".pth", ".pyi")


class Holding(Protocol):
    """The data of the samples that are measured: a share of them is in memory."""

    sample_bytes: float

    def hold(self, share: float) -> float:
        """Keeps that share of the bytes in memory, no more; gives the share that is, verified."""

    def held(self) -> float:
        """The share that is in memory now."""

    def read(self, depth: int, most_s: float, first: int | None = None) -> Reading:
        """Reads all of it, or the first bytes of each file, so many files at a time."""


class Files:
    """Files that the page cache may hold.

    Attributes:
        sample_bytes: mean of a sample.
    """

    def __init__(self, paths: Sequence[str], samples: int) -> None:
        """Stands for files, and knows how many samples they have.

        Raises:
            OSError: a file cannot be asked for its size.
        """
        self.paths = list(dict.fromkeys(paths))
        self.bytes = sum(Path(path).stat().st_size for path in self.paths)
        self.sample_bytes = self.bytes / max(1, samples)

    def hold(self, share: float) -> float:
        """Keeps the first of the files in memory, and takes the others out of it.

        Returns:
            The share of the bytes that is in memory then, as the system says.

        Raises:
            OSError: a file cannot be read.
        """
        count = round(share * len(self.paths))
        page_cache.empty(self.paths[count:])
        page_cache.fill(self.paths[:count])
        return self.held()

    def held(self) -> float:
        """The share that is in memory now, by a part of the files where there are many."""
        apart = max(1, len(self.paths) // _LOOKED_AT)
        return page_cache.resident(self.paths[::apart])

    def read(self, depth: int, most_s: float, first: int | None = None) -> Reading:
        """Reads the files, or the first bytes of each, so many at a time.

        Raises:
            OSError: a file cannot be read.
        """
        return page_cache.read(self.paths, depth, most_s, first)

    def held_around(self) -> float:
        """The share that is in memory of files beside these, which nobody has just read.

        Where there are no other files: the share of these.
        """
        own, folders = set(self.paths), {os.path.dirname(path) for path in self.paths}  # noqa: PTH120
        others = [
            path
            for folder in sorted(folders)[:_FOLDERS]
            for entry in os.scandir(folder or ".")  # of a path that is a name alone
            if entry.is_file() and (path := os.path.join(folder, entry.name)) not in own  # noqa: PTH118
        ]
        apart = max(1, len(others) // _LOOKED_AT)
        return page_cache.resident(others[::apart]) if others else self.held()


def named(dataset: Any, indices: Iterable[Any]) -> list[str]:
    """The files of samples, where a dataset lists them; none where it does not."""
    paths = []
    for index in indices:
        path = name_of(dataset, index)
        if not os.path.isfile(path):  # noqa: PTH113 - of each sample
            return []
        paths.append(path)
    return paths


def below(folder: str) -> list[str]:
    """All files of a folder.

    Raises:
        DataNotFoundError: it is none, or has none.
    """
    files = [str(path) for path in sorted(Path(folder).rglob("*")) if path.is_file()]
    if not files:
        raise DataNotFoundError(f"{folder} is no folder with files; --data names that of the data")
    return files


class OpenEvents:
    """The files that Python code of this process, and of those forked from it, opens to read.

    Python tells of each ``open``, whoever calls it; native code that opens files itself is not
    seen. Once made it lasts as long as the process, and costs nothing while it is not `listening`.
    """

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile("w+b")  # noqa: SIM115 - of the whole process
        self.listening = False
        sys.addaudithook(self._hear)

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self.listening or event != "open":
            return
        path, _, flags = arguments
        if isinstance(path, int) or not isinstance(flags, int):
            return
        if flags & os.O_ACCMODE == os.O_RDONLY:
            line = os.path.abspath(os.fsdecode(path)) + "\0"  # noqa: PTH100 - of each file
            os.write(self._file.fileno(), os.fsencode(line))

    def clear(self) -> None:
        """Forgets what was heard."""
        self._file.seek(0)
        self._file.truncate()

    def heard(self) -> list[str]:
        """Regular files that were opened, each once: no code, nothing of the system."""
        self._file.flush()
        size = os.fstat(self._file.fileno()).st_size
        names = os.pread(self._file.fileno(), size, 0).split(b"\0")
        return [path for path in dict.fromkeys(map(os.fsdecode, names)) if _is_data(path)]


_SYSTEM = ("/proc/", "/sys/", "/dev/", "/etc/", "/usr/lib", "/usr/share")


def _is_data(path: str) -> bool:
    own = (sys.prefix, sys.base_prefix)
    lib = tuple(f"{each}/lib" for each in own)
    if not path or path.endswith(_CODE) or path.startswith((*_SYSTEM, *lib)):
        return False
    try:
        return Path(path).is_file()
    except OSError:
        return False


def files_of(
    data: str | None, dataset: Any, indices: Sequence[Any], heard: Sequence[str], samples: int
) -> tuple[Files | None, str]:
    """The files of the samples that are measured, and where they are known from.

    Args:
        data: a folder that has all of the data, if somebody named it.
        dataset: whose samples are measured; None where that is not known.
        indices: of them.
        heard: files that were opened for them.
        samples: of the whole dataset; 0 where that is not known.

    Returns:
        None where they are not known; the text then says why.

    Raises:
        DataNotFoundError: `data` has no files.
        PipelineError: `data` is there, and how many samples it has is not known.
    """
    listed = named(dataset, indices)
    if listed:
        return Files(listed, len(listed)), "the dataset's own list"
    if data is not None:
        if not samples:
            raise PipelineError(
                "the loader does not say how many samples it has, so what one of them has of "
                f"{data} is not known"
            )
        return Files(below(data), samples), f"the files of {data}"
    if not heard:
        return None, "no file was seen to be opened; --data DIR names the folder of the data"
    each = len(heard) >= len(indices) / 2  # a file or more for each sample
    count = len(indices) if each and indices else samples
    if not count:
        return None, "how many samples the opened files have is not known"
    return Files(heard, count), "files that were opened"
