"""Which bytes of files the page cache holds: asked for, put there and taken out, and verified."""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import os
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

_READ = 1 << 20
_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [
    ctypes.c_void_p,
    ctypes.c_size_t,
    ctypes.c_int,
    ctypes.c_int,
    ctypes.c_int,
    ctypes.c_long,
]
_libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
_libc.mincore.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p]


@dataclass(frozen=True)
class Reading:
    """How fast files were read.

    Attributes:
        seconds: of all of it.
        latency_s: mean seconds of a file, opened and closed.
        files: that were read.
        bytes: of them.
    """

    seconds: float
    latency_s: float
    files: int
    bytes: int

    @property
    def rate(self) -> float:
        """Bytes/s of all readers together."""
        return self.bytes / max(1e-9, self.seconds)


def resident(paths: Sequence[str]) -> float:
    """The share of the bytes of some files that the page cache holds, 0 to 1; 1 of none.

    Raises:
        OSError: a file cannot be opened, or not be looked at.
    """
    held = pages = 0
    for path in paths:
        with _opened(path) as (fd, size):
            if size:
                own, of = _resident_pages(path, fd, size)
                held, pages = held + own, pages + of
    return held / pages if pages else 1.0


def _resident_pages(path: str, fd: int, size: int) -> tuple[int, int]:
    """Pages of a file that are held, and all of them. Nothing of it is read by asking."""
    address = _libc.mmap(None, size, mmap.PROT_READ, mmap.MAP_SHARED, fd, 0)
    if address in (None, ctypes.c_void_p(-1).value):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), path)
    try:
        count = -(-size // mmap.PAGESIZE)
        held = ctypes.create_string_buffer(count)
        if _libc.mincore(address, size, held):
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), path)
        return sum(each & 1 for each in held.raw[:count]), count
    finally:
        _libc.munmap(address, size)


def fill(paths: Sequence[str]) -> None:
    """Reads files, so that the page cache holds them as far as there is memory.

    Raises:
        OSError: a file cannot be read.
    """
    for path in paths:
        _read(path)


def empty(paths: Sequence[str]) -> None:
    """Takes files out of the page cache, as far as the system does that.

    What was written to them is stored first, since only then it can be dropped. Nobody loses
    anything but time; memory that a process maps, and file systems in memory, stay.

    Raises:
        OSError: a file cannot be opened.
    """
    for path in paths:
        with _opened(path) as (fd, _):
            with contextlib.suppress(OSError):
                os.fdatasync(fd)
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)


def read(paths: Sequence[str], depth: int, most_s: float, first: int | None = None) -> Reading:
    """Reads files, so many at a time, until all are read or the time is over.

    Args:
        paths: of the files.
        depth: how many at a time.
        most_s: seconds behind which no other is begun.
        first: how many bytes of each; by default all.

    Raises:
        OSError: a file cannot be read.
    """
    begun = time.perf_counter()
    latencies: list[float] = []
    sizes: list[int] = []

    def one(path: str) -> None:
        if latencies and time.perf_counter() - begun > most_s:
            return
        asked = time.perf_counter()
        size = _read(path, first)
        latencies.append(time.perf_counter() - asked)
        sizes.append(size)

    with ThreadPoolExecutor(max(1, depth)) as pool:
        list(pool.map(one, paths))
    spent = time.perf_counter() - begun
    mean = sum(latencies) / max(1, len(latencies))
    return Reading(spent, mean, len(sizes), sum(sizes))


def _read(path: str, first: int | None = None) -> int:
    with _opened(path) as (fd, expected):
        if first is not None:
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)  # no more than what is asked for
            return len(os.pread(fd, first, 0))
        buffer = bytearray(min(_READ, max(1, expected)))
        size = 0
        while count := os.readv(fd, [buffer]):
            size += count
        return size


@contextlib.contextmanager
def _opened(path: str) -> Iterator[tuple[int, int]]:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        yield fd, os.fstat(fd).st_size
    finally:
        os.close(fd)
