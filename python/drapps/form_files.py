"""JPEG files, and folders of them, in the coefficient form."""

from __future__ import annotations

import contextlib
import filecmp
import functools
import os
import stat
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from drapps.errors import PipelineError, SampleError
from drapps.forms import transcode
from drapps.output import NewFile, refuse_inside

SIGNATURE = b"\xff\xd8\xff"
NAMES = (".jpg", ".jpeg")
CHUNK = 1 << 20
AHEAD = 4  # files under way for each job

Result = Literal["transcoded", "copied", "unchanged", "left out", "failed"]


@dataclass(frozen=True)
class Outcome:
    """What became of one file.

    Attributes:
        path: the file.
        result: ``unchanged`` is what was there already with the same content.
        why: of what was left out or failed.
        read: size of a JPEG that has the form, in bytes.
        written: size of its form, in bytes.
    """

    path: Path
    result: Result
    why: str = ""
    read: int = 0
    written: int = 0


class BadFileError(Exception):
    """A file that cannot be read or be given its place; the message says why."""


@dataclass
class Listing:
    """What there is to do.

    Attributes:
        folders: those to make.
        files: what is read and where it goes, with the name that it has.
        failed: what could not be listed.
    """

    folders: list[Path] = field(default_factory=list)
    files: list[tuple[Path, Path]] = field(default_factory=list)
    failed: list[Outcome] = field(default_factory=list)


def list_files(sources: Sequence[Path], out: Path) -> Listing:
    """List one folder and all below it, or files.

    Args:
        sources: a folder alone, whose shape `out` gets; or files, which go straight into `out`.
        out: a folder, there already or not.

    Raises:
        PipelineError: folders among several sources, a folder that has no file or holds `out`.
    """
    listing = Listing(folders=[out])
    if len(sources) == 1 and sources[0].is_dir():
        refuse_inside(out, sources[0])
        _list_folder(sources[0], out, listing)
        if not listing.files and not listing.failed:
            raise PipelineError(f"{str(sources[0])!r} has no files")
        return listing
    for source in sources:
        if source.is_dir():
            raise PipelineError(f"{str(source)!r} is a folder: name one folder alone, or files")
    listing.files = [(source, out / source.name) for source in sources]
    return listing


def _list_folder(top: Path, out: Path, listing: Listing) -> None:
    def unreadable(error: OSError) -> None:
        listing.failed.append(Outcome(Path(error.filename), "failed", _reason(error)))

    for place, folders, names in os.walk(top, onerror=unreadable, followlinks=True):
        folders.sort()
        for name in list(folders):
            path = Path(place, name)
            if leads_back(path):
                why = "a link to a folder that holds it: remove the link"
                listing.failed.append(Outcome(path, "failed", why))
                folders.remove(name)
        target = out / Path(place).relative_to(top)
        listing.folders += [target / name for name in folders]
        listing.files += [(Path(place, name), target / name) for name in sorted(names)]


def leads_back(path: Path) -> bool:
    """Whether it is a link to a folder that it lies in itself."""
    return path.is_symlink() and path.parent.resolve().is_relative_to(path.resolve())


def transcode_files(listing: Listing, *, copy_others: bool, jobs: int) -> Generator[Outcome]:
    """Write the coefficient form of all baseline JPEGs that were listed.

    A file appears when it is complete, with the extension ``.djc``; none is replaced. Closing
    the iterator finishes the files under way and begins no other.

    Args:
        listing: as `list_files` gives it.
        copy_others: copy what has no such form, under its name.
        jobs: threads.

    Yields:
        What became of each file, in the order of the listing.

    Raises:
        OSError: writing failed, and would for the files behind too; it names the file.
    """
    for folder in listing.folders:
        folder.mkdir(parents=True, exist_ok=True)
    yield from listing.failed
    pool = ThreadPoolExecutor(jobs)
    pending: deque[Future[Outcome]] = deque()
    taken: dict[Path, Path] = {}
    try:
        for source, target in listing.files:
            named = _form_of(target) if _named_jpeg(source) else target
            first = taken.setdefault(named, source)
            if first is not source:
                why = f"{str(first)!r} has the same name in the form: rename one of them"
                pending.append(Future())
                pending[-1].set_result(Outcome(source, "failed", why))
            else:
                pending.append(pool.submit(_write_file, source, target, copy_others))
            if len(pending) > AHEAD * jobs:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)


def _write_file(source: Path, target: Path, copy_others: bool) -> Outcome:
    try:
        with _reading():
            if not stat.S_ISREG(source.stat().st_mode):
                return Outcome(source, "left out", "neither a file nor a folder")
            jpeg = _read_jpeg(source)
        why = "no JPEG"
        if jpeg is not None:
            form, why = _form_or_why(jpeg)
            if form is not None:
                done = _put(_form_of(target), [form], lambda path: path.read_bytes() == form)
                result: Result = "transcoded" if done else "unchanged"
                return Outcome(source, result, "", len(jpeg), len(form))
        if not copy_others:
            return Outcome(source, "left out", why)
        done = _put(target, _chunks(source), functools.partial(filecmp.cmp, source, shallow=False))
        return Outcome(source, "copied" if done else "unchanged")
    except BadFileError as error:
        return Outcome(source, "failed", str(error))
    except MemoryError:
        return Outcome(source, "failed", "does not fit into memory")


def _named_jpeg(path: Path) -> bool:
    return path.suffix.lower() in NAMES


def _form_of(target: Path) -> Path:
    """Where the form goes of what would be copied to `target`."""
    if _named_jpeg(target):
        return target.with_suffix(".djc")
    return target.with_name(f"{target.name}.djc")


def _read_jpeg(source: Path) -> bytes | None:
    """All of a file that is a JPEG by its name or its first bytes."""
    with source.open("rb") as file:
        head = file.read(len(SIGNATURE))
        return head + file.read() if head == SIGNATURE or _named_jpeg(source) else None


def _form_or_why(jpeg: bytes) -> tuple[bytes | None, str]:
    """The form, or why there is none of a file that can be decoded.

    Raises:
        BadFileError: it cannot.
    """
    from drapps import _core

    try:
        return transcode(jpeg), ""
    except SampleError as error:
        bad, why = error, error.message.removesuffix("; keep the file")
    if bad.code == "unsupported":
        try:
            _core.decode(jpeg)
        except _core.SampleError as error:
            bad = SampleError(*error.args)
        else:
            return None, why
    place = f" at byte {bad.offset}" if bad.offset >= 0 else ""
    raise BadFileError(f"{bad.code}{place}: {bad.message}")


def _chunks(source: Path) -> Iterator[bytes]:
    with _reading(), source.open("rb") as file:
        while chunk := file.read(CHUNK):
            yield chunk


def _put(target: Path, chunks: Iterable[bytes], is_same: Callable[[Path], bool]) -> bool:
    """Write a file; false where it is there already.

    Raises:
        BadFileError: something else is there.
    """
    if target.is_file() and is_same(target):
        return False
    file = NewFile(target)
    try:
        for chunk in chunks:
            file.write(chunk)
        file.appear()
    except FileExistsError:
        raise BadFileError(
            f"{str(target)!r} is there already, with other content: remove it, or name another "
            "folder"
        ) from None
    finally:
        file.discard()
    return True


@contextlib.contextmanager
def _reading() -> Iterator[None]:
    """Makes errors of the system those of the file that is read."""
    try:
        yield
    except OSError as error:
        raise BadFileError(_reason(error)) from None


def _reason(error: OSError) -> str:
    return error.strerror or str(error)
