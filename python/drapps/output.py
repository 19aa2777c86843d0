"""Writing files: each is there whole or not at all, and none among those that are read."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
from pathlib import Path

from drapps.errors import PipelineError

_NO_LINKS = {errno.EPERM, errno.ENOSYS, errno.EOPNOTSUPP}
_unfinished: set[Path] = set()  # temporary files that may be there


class NewFile:
    """A file that is at `path` once it is complete and stored, never before, and replaces none.

    Raises:
        OSError: here and in every method: writing failed. It names `path`.
    """

    def __init__(self, path: Path) -> None:
        self.size = 0
        self._path = path
        self._temporary = path.parent / f".drapps-{secrets.token_hex(8)}"
        _unfinished.add(self._temporary)
        try:
            self._file = self._temporary.open("xb")
        except OSError as error:
            raise self._named(error) from None

    def write(self, data: bytes) -> None:
        """Add to the end."""
        try:
            self._file.write(data)
        except OSError as error:
            raise self._named(error) from None
        self.size += len(data)

    def appear(self) -> None:
        """Store what was written, and give it its name.

        Raises:
            FileExistsError: the name is taken.
        """
        try:
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()
            self._take_name()
        except OSError as error:
            raise self._named(error) from None
        finally:
            self.discard()

    def discard(self) -> None:
        """Leave nothing behind of a file that has not appeared."""
        with contextlib.suppress(OSError):
            self._file.close()
        self._temporary.unlink(missing_ok=True)
        _unfinished.discard(self._temporary)

    def _take_name(self) -> None:
        try:
            os.link(self._temporary, self._path)
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            if os.path.lexists(self._path):
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST)) from None
            self._temporary.rename(self._path)

    def _named(self, error: OSError) -> OSError:
        return OSError(error.errno, error.strerror, str(self._path))


def discard_unfinished() -> None:
    """Leave nothing behind of files that an interruption kept from being discarded."""
    for path in tuple(_unfinished):
        path.unlink(missing_ok=True)
        _unfinished.discard(path)


def refuse_inside(out: Path, source: Path) -> None:
    """Refuses an output folder within the folder that is read.

    Raises:
        PipelineError: `out` is `source`, or lies in it.
    """
    if Path(os.path.realpath(out)).is_relative_to(os.path.realpath(source)):
        raise PipelineError(f"{str(out)!r} lies in {str(source)!r}: name a folder outside of it")
