"""Where sockets lie: a folder that is the user's alone."""

from __future__ import annotations

import contextlib
import os
import re
import socket
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

_NAME = re.compile(r"([1-9][0-9]*)\.sock")


def folder() -> Path:
    """Where this process puts its socket: below ``$XDG_RUNTIME_DIR``, or the temporary folder."""
    runtime = Path(os.environ.get("XDG_RUNTIME_DIR", ""))
    if runtime.is_absolute() and _is_private(runtime):
        return runtime / "drapps"
    return _temporary()


def folders() -> list[Path]:
    """Where this user's processes may have put sockets, with ``$XDG_RUNTIME_DIR`` and without."""
    return [place for place in dict.fromkeys((folder(), _temporary())) if _is_private(place)]


def _temporary() -> Path:
    return Path(tempfile.gettempdir(), f"drapps-{os.geteuid()}")


def made_folder() -> Path:
    """The folder, made where it is not there.

    Raises:
        OSError: it cannot be made, or is somebody else's or open to others.
    """
    place = folder()
    with contextlib.suppress(FileExistsError):
        place.mkdir(0o700)
    if not _is_private(place):
        raise PermissionError(f"{place} is not a folder of this user alone (mode 0700)")
    return place


def _is_private(place: Path) -> bool:
    """Whether it is a folder, and no link to one, that nobody else can enter."""
    try:
        status = place.lstat()
    except OSError:
        return False
    mode = status.st_mode
    return stat.S_ISDIR(mode) and status.st_uid == os.geteuid() and not mode & 0o077


def sockets(place: Path) -> Iterator[tuple[int, Path]]:
    """Process and path of each socket in a folder, by process."""
    try:
        names = [path.name for path in place.iterdir()]
    except OSError:
        return
    paths = {int(match[1]): place / name for name in names if (match := _NAME.fullmatch(name))}
    yield from sorted(paths.items())


def remove_stale(place: Path) -> None:
    """Removes the sockets of processes that have ended: ours, which nobody listens at."""
    for pid, path in sockets(place):
        with contextlib.suppress(OSError):
            status = path.lstat()
            owned = stat.S_ISSOCK(status.st_mode) and status.st_uid == os.geteuid()
            if owned and not _lives(pid) and _refuses(path):
                path.unlink()


def _lives(pid: int) -> bool:
    if pid == os.getpid():
        return False  # its socket is yet to be made
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True


def _refuses(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        probe.setblocking(False)
        try:
            probe.connect(os.fspath(path))
        except ConnectionRefusedError:
            return True
        except OSError:
            return False
    return False
