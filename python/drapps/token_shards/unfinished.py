"""Files of tokens that are being written: what a later run needs to go on after a kill."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from drapps.errors import PipelineError
from drapps.output import NewFile
from drapps.token_shards.megatron import index_bytes

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_STATE, _IDS, _LENGTHS = "state.json", "ids", "lengths"
_COMPARED = 1 << 20


@dataclass(frozen=True)
class Place:
    """What is written down for good.

    Attributes:
        block: of the corpus, that comes next.
        piece: of the block, that comes next.
        ids: how many were written.
        documents: how many were written.
        bad: documents that were left out.
    """

    block: int = 0
    piece: int = 0
    ids: int = 0
    documents: int = 0
    bad: int = 0


class Unfinished:
    """A folder ``OUT.partial`` with the ids and the lengths of documents so far.

    What stands in it was written by the same job, or it is refused; of what was written behind the
    last `keep` nothing counts.
    """

    def __init__(self, out: Path, job: dict[str, Any], dtype: str) -> None:
        """Begins, or goes on.

        Raises:
            PipelineError: the files are there already, another process writes them, or the folder
                is of another job.
            OSError: they cannot be written.
        """
        import numpy as np

        self._bin, self._index = (out.with_name(out.name + end) for end in (".bin", ".idx"))
        self._folder = out.with_name(out.name + ".partial")
        self._job, self._dtype = {**job, "dtype": dtype}, np.dtype(dtype)
        if not self._folder.exists():
            for path in (self._bin, self._index):
                if os.path.lexists(path):
                    raise PipelineError(f"{str(path)!r} is there already: nothing is overwritten")
        out.parent.mkdir(parents=True, exist_ok=True)
        self._folder.mkdir(exist_ok=True)
        self._lock = os.open(self._folder, os.O_RDONLY)
        try:
            self.place = self._begin()
        except BaseException:
            os.close(self._lock)
            raise

    def _begin(self) -> Place:
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise PipelineError(f"another process writes into {str(self._folder)!r}") from None
        state = self._folder / _STATE
        names = {each.name for each in self._folder.iterdir() if not each.name.startswith(".")}
        if not names:
            self._write_state(Place())
        try:
            held = json.loads(state.read_text())
            job, place = held["job"], Place(**held["place"])
        except (OSError, ValueError, KeyError, TypeError):
            raise self._refusal("is not what this command writes") from None
        if job != self._job:
            other = [name for name in self._job if job.get(name) != self._job[name]]
            raise self._refusal(f"is of a run with another {', '.join(other) or 'job'}")
        self._ids = self._opened(_IDS, place.ids * self._dtype.itemsize)
        self._lengths = self._opened(_LENGTHS, place.documents * 4)
        return place

    def _refusal(self, why: str) -> PipelineError:
        return PipelineError(f"{str(self._folder)!r} {why}: remove it, or name another OUT")

    def _opened(self, name: str, size: int) -> IO[bytes]:
        file = (self._folder / name).open("ab")
        if file.tell() < size:
            file.close()
            raise self._refusal(f"has lost some of its {name}")
        file.truncate(size)
        return file

    def add(self, ids: npt.NDArray[np.uint32], lengths: npt.NDArray[np.int32]) -> None:
        """Write the ids of some documents behind the others."""
        self._ids.write(ids.astype(self._dtype).data)
        self._lengths.write(lengths.astype("<i4").data)

    def keep(self, place: Place) -> None:
        """All that was added is there for good, and is not made again."""
        for file in (self._ids, self._lengths):
            file.flush()
            os.fsync(file.fileno())
        self._write_state(place)
        self.place = place

    def _write_state(self, place: Place) -> None:
        temporary = self._folder / f".{_STATE}"
        with temporary.open("w") as file:
            json.dump({"job": self._job, "place": asdict(place)}, file)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(self._folder / _STATE)

    def finish(self) -> Path:
        """Give the files their names; the index comes first, as it is nothing by itself.

        Raises:
            PipelineError: a file of the name has come up that is not this one.
        """
        self.close()
        if self._index.exists():
            self._compare_index()
        else:
            index = NewFile(self._index)
            try:
                for piece in index_bytes(self._folder / _LENGTHS, self._dtype.name):
                    index.write(piece)
                index.appear()
            finally:
                index.discard()
        self._name_ids()
        shutil.rmtree(self._folder)
        return self._bin

    def _compare_index(self) -> None:
        with self._index.open("rb") as file:
            same = all(
                file.read(len(piece)) == piece
                for piece in index_bytes(self._folder / _LENGTHS, self._dtype.name)
            )
            if not same or file.read(1):
                raise PipelineError(
                    f"{str(self._index)!r} is there and another one: nothing is overwritten"
                )

    def _name_ids(self) -> None:
        ids = self._folder / _IDS
        try:
            os.link(ids, self._bin)
        except FileExistsError:
            if not self._bin.samefile(ids):
                raise PipelineError(
                    f"{str(self._bin)!r} is there and another one: nothing is overwritten"
                ) from None
        except OSError as error:
            if error.errno not in {errno.EPERM, errno.ENOSYS, errno.EOPNOTSUPP}:
                raise
            ids.rename(self._bin)

    def close(self) -> None:
        """No more is added."""
        self._ids.close()
        self._lengths.close()

    def release(self) -> None:
        """Another process may go on."""
        self.close()
        os.close(self._lock)


@contextmanager
def unfinished(out: Path, job: dict[str, Any], dtype: str) -> Iterator[Unfinished]:
    """An `Unfinished` that nobody else writes into meanwhile."""
    files = Unfinished(out, job, dtype)
    try:
        yield files
    finally:
        files.release()
