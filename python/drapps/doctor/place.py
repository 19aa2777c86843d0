"""The storage of a folder: what it is, and how fast its files are read."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Iterator
from pathlib import Path

from drapps.doctor.finding import NOTE, PROBLEM, Finding
from drapps.report.base import mib
from drapps.report.stats import seconds

_REMOTE = ("nfs", "nfs4", "cifs", "smb3", "fuse", "9p", "lustre", "ceph", "beegfs", "glusterfs")
_LOOKED_AT, _MOST_BYTES, _MOST_S = 64, 256 << 20, 5.0
_SMALL = 64 << 10
_SLOW_OPEN_S = 5e-3


def findings(folder: Path) -> Iterator[Finding]:
    """All findings about a folder's storage.

    Raises:
        OSError: the folder cannot be listed.
    """
    yield mount(folder)
    yield from reading(folder)


def mount(folder: Path, mounts: Path = Path("/proc/self/mountinfo")) -> Finding:
    """The file system that a folder lies on."""
    path, best = str(folder.resolve()), ("", "unknown", "")
    for line in mounts.read_text().splitlines():
        here, _, there = line.partition(" - ")
        point, (kind, device) = here.split()[4], there.split()[:2]
        inside = path == point or path.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= len(best[0]):
            best = (point, kind, device)
    point, kind, device = best
    filesystem = f"{kind} ({device}) at {point}"
    if kind.startswith(_REMOTE):
        mend = "copy the data to a local disk, or write it into tar shards: drapps pack"
        return Finding("storage", f"{filesystem}, over a network or a daemon", NOTE, mend)
    return Finding("storage", filesystem)


def reading(folder: Path) -> Iterator[Finding]:
    """How fast some of its files are read, as they are: from memory, where they are there."""
    paths = list(itertools.islice(_files(folder), _LOOKED_AT))
    if not paths:
        yield Finding("files", f"none in {folder}", PROBLEM, "name the folder of the data")
        return
    begun, total, opening = time.perf_counter(), 0, 0.0
    done = 0
    for path in paths:
        asked = time.perf_counter()
        with path.open("rb", buffering=0) as file:
            opening += time.perf_counter() - asked
            total += len(file.read(_MOST_BYTES))
        done += 1
        if total > _MOST_BYTES or time.perf_counter() - begun > _MOST_S:
            break
    spent = time.perf_counter() - begun
    size = total / done
    each = f"{seconds(spent / done)} each, {seconds(opening / done)} of it to open"
    speed = f"{done} files of {size:,.0f} bytes read, {each}; {mib(total / max(1e-9, spent))}/s"
    if opening / done > _SLOW_OPEN_S:
        yield Finding("files", speed, NOTE, "write them into few large files: drapps pack")
    elif size < _SMALL and len(paths) == _LOOKED_AT and spent / done > 1e-3:
        yield Finding("files", speed, NOTE, "many small files: drapps pack makes few large ones")
    else:
        yield Finding("files", speed)


def _files(folder: Path) -> Iterator[Path]:
    for base, folders, names in os.walk(folder, onerror=_refuse):
        folders.sort()
        yield from (Path(base, name) for name in sorted(names))


def _refuse(error: OSError) -> None:
    raise error
