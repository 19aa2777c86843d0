"""What holds the samples: a folder, a list of files, or records in memory."""

from __future__ import annotations

import copy
import hashlib
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from drapps import arguments
from drapps.errors import DataNotFoundError, PipelineError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from drapps import _core
    from drapps.storage import EmulatedStorage

    Int64Array = npt.NDArray[np.int64]
    Boxes = tuple[Int64Array, npt.NDArray[np.float32], Int64Array]
    PathLike = str | bytes | os.PathLike[str] | os.PathLike[bytes]

EXTENSIONS = (".jpg", ".jpeg", ".png", ".webp", ".djc")


class Source:
    """Samples by index. Immutable; its native form is made at first use and shared.

    Attributes:
        classes: the class names of a folder, in the order of their labels; else empty.
    """

    _native: _core.Source | None = None
    _storage: EmulatedStorage | None = None

    def __init__(
        self,
        *,
        paths: list[bytes] | None = None,
        records: list[bytes] | None = None,
        labels: Int64Array | None = None,
        masks: list[bytes] | None = None,
        boxes: Boxes | None = None,
        classes: tuple[str, ...] = (),
    ) -> None:
        self.classes = classes
        self._paths = paths
        self._records = records
        self._labels = labels
        self._masks = masks
        self._boxes = boxes
        self._digest: str | None = None

    def on(self, storage: EmulatedStorage) -> Source:
        """The same samples, whose files lie on another storage."""
        other = copy.copy(self)
        other._native, other._storage = None, storage
        return other

    def located(self) -> _core.Source:
        """The source as the core takes it, on its storage."""
        if self._native is None and self._storage is not None:
            self._storage.holds(self.native())
        return self.native()

    def __len__(self) -> int:
        return len(self._items())

    @property
    def size(self) -> int:
        """Samples of an epoch."""
        return len(self)

    @property
    def extent(self) -> int:
        """What states name the set's size by."""
        return len(self)

    def _items(self) -> list[bytes]:
        items = self._paths if self._paths is not None else self._records
        assert items is not None
        return items

    def labelled_files(self) -> list[tuple[bytes, int]]:
        """Path and label of each sample, of a source of files with labels."""
        assert self._paths is not None and self._labels is not None
        return list(zip(self._paths, self._labels.tolist(), strict=True))

    def native(self) -> _core.Source:
        """The source as the core takes it."""
        from drapps import _core

        if self._native is None:
            make = _core.Source.files if self._paths is not None else _core.Source.memory
            labels = None if self._labels is None else {"label": self._labels}
            self._native = make(self._items(), labels, self._masks, self._boxes)
        return self._native

    def digest(self) -> str:
        """Sixteen hex digits over file names (or record sizes) and labels, in order.

        Folders are left out, so that a set may move to another place or machine.
        """
        if self._digest is None:
            digest = hashlib.blake2b(digest_size=8)
            if self._paths is not None:
                digest.update(b"\0".join(path.rpartition(b"/")[2] for path in self._paths))
            else:
                digest.update(" ".join(str(len(record)) for record in self._items()).encode())
            if self._labels is not None:
                digest.update(self._labels.tobytes())
            self._digest = digest.hexdigest()
        return self._digest


def folder_source(root: PathLike, extensions: Iterable[str] = EXTENSIONS) -> Source:
    """A folder of class folders, in the order that torchvision's ``ImageFolder`` gives.

    Raises:
        DataNotFoundError: no such folder, no class folders, or a class without pictures.
    """
    import numpy as np

    endings = _endings(extensions)
    top = Path(arguments.path("path", root, "folder")).expanduser()
    if not top.is_dir():
        raise DataNotFoundError(f"{str(top)!r} is not a folder: name one with a folder per class")
    with os.scandir(top) as entries:
        classes = sorted(entry.name for entry in entries if entry.is_dir())
    if not classes:
        raise DataNotFoundError(
            f"{str(top)!r} has no class folders: put each class's pictures into one of its own, "
            "or use drapps.images(paths, labels)"
        )
    paths: list[bytes] = []
    labels: list[int] = []
    for label, name in enumerate(classes):
        pictures = _pictures(top / name, endings)
        if not pictures:
            raise DataNotFoundError(
                f"class {name!r} in {str(top)!r} has no pictures ({', '.join(endings)}): "
                "remove its folder or name other extensions"
            )
        paths += pictures
        labels += [label] * len(pictures)
    return Source(paths=paths, labels=np.asarray(labels, np.int64), classes=tuple(classes))


def _endings(extensions: Iterable[str]) -> tuple[str, ...]:
    endings = arguments.texts("extensions", extensions, "endings like '.jpg'")
    if not all(each.startswith(".") for each in endings):
        raise PipelineError(f"extensions={extensions!r} must be endings like '.jpg', at least one")
    return tuple(each.lower() for each in endings)


def _pictures(folder: Path, endings: tuple[str, ...]) -> list[bytes]:
    return [
        os.fsencode(f"{place}/{name}")
        for place, _, names in sorted(os.walk(folder, followlinks=True))
        for name in sorted(names)
        if name.lower().endswith(endings)
    ]


def file_source(
    paths: Iterable[PathLike],
    labels: Any = None,
    masks: Iterable[PathLike] | None = None,
    boxes: tuple[Any, Any, Any] | None = None,
) -> Source:
    """Files in the given order; see `drapps.images`."""
    if isinstance(paths, (str, bytes)):
        raise PipelineError("paths must be a list of files; for a folder use drapps.image_folder")
    files = arguments.paths("paths", paths)
    count = _count(files, "paths")
    return Source(
        paths=files,
        labels=_labels(labels, count),
        masks=None if masks is None else _masks(arguments.paths("masks", masks), count),
        boxes=None if boxes is None else _boxes(boxes, count),
    )


def memory_source(
    records: Iterable[bytes],
    labels: Any = None,
    masks: Iterable[bytes] | None = None,
    boxes: tuple[Any, Any, Any] | None = None,
) -> Source:
    """Encoded pictures in memory, in the given order; see `drapps.image_bytes`."""
    held = _records("record", records)
    count = _count(held, "records")
    return Source(
        records=held,
        labels=_labels(labels, count),
        masks=None if masks is None else _masks(_records("mask", masks), count),
        boxes=None if boxes is None else _boxes(boxes, count),
    )


def _records(what: str, given: Any) -> list[bytes]:
    held = arguments.elements(given)
    if held is None:
        raise PipelineError(f"{what}s={given!r} must be a list of the bytes of files")
    for index, record in enumerate(held):
        if not isinstance(record, bytes):
            raise PipelineError(f"{what} {index} is {type(record).__name__}, not bytes")
    return held


def _count(items: Sequence[bytes], what: str) -> int:
    if not items:
        raise PipelineError(f"{what} is empty: a source needs at least one sample")
    return len(items)


def _labels(labels: Any, count: int) -> Int64Array | None:
    import numpy as np

    if labels is None:
        return None
    array = np.asarray(labels)
    if array.shape != (count,) or array.dtype.kind not in "iu":
        raise PipelineError(
            f"labels must be {count} integers, one per sample, not {array.dtype} "
            f"of shape {array.shape}"
        )
    return np.ascontiguousarray(array, np.int64)


def _masks(masks: list[bytes], count: int) -> list[bytes]:
    if len(masks) != count:
        raise PipelineError(f"{len(masks)} masks for {count} samples: give one mask per sample")
    return masks


def _boxes(boxes: tuple[Any, Any, Any], count: int) -> Boxes:
    import numpy as np

    if not isinstance(boxes, tuple) or len(boxes) != 3:
        raise PipelineError("boxes must be (offsets, corners, labels)")
    offsets = np.ascontiguousarray(boxes[0], np.int64)
    corners = np.ascontiguousarray(boxes[1], np.float32)
    labels = np.ascontiguousarray(boxes[2], np.int64)
    total = len(labels)
    if offsets.shape != (count + 1,) or offsets[0] != 0 or np.any(np.diff(offsets) < 0):
        raise PipelineError(f"the offsets of boxes must be {count + 1} rising integers from 0")
    if corners.shape != (total, 4) or offsets[-1] != total:
        raise PipelineError(
            f"boxes: {corners.shape} corners and {total} labels do not match the last offset "
            f"{int(offsets[-1])}: give (M, 4) corners and M labels"
        )
    return offsets, corners, labels
