"""Recognising torchvision's image folders, and subsets of them."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from drapps.source import EXTENSIONS, Source
from drapps.storage import EmulatedStorage, storage_of
from drapps.torch.kept import LISTS, METHODS, copy_of, is_unchanged, rows_of, without_subsets
from drapps.torch.own import is_own
from drapps.torch.pictures import require_plain_pictures
from drapps.torch.recognise import NotLifted, name_of, require_own, require_pristine, short_name

_HOME = "torchvision.datasets.folder"
FOLDERS = (f"{_HOME}.ImageFolder", f"{_HOME}.DatasetFolder")
LOADERS = (f"{_HOME}.default_loader", f"{_HOME}.pil_loader")


class Folder:
    """A folder dataset, seen through any number of subsets.

    Attributes:
        dataset: the folder itself.
        description: how the report calls it.
        storage: where its files lie; None for this machine's.
    """

    def __init__(
        self,
        dataset: Any,
        subsets: list[Any],
        description: str,
        storage: EmulatedStorage | None = None,
    ) -> None:
        """See `recognise_folder`; `subsets` are the indices of each ``Subset``, outermost first."""
        self.dataset = dataset
        self.description = description
        self.storage = storage
        self._subsets = subsets
        self._copied: list[Any] | None = None  # samples and subsets as the source has them

    @property
    def transform(self) -> Any:
        """The transform of the pictures."""
        return self.dataset.transform

    @property
    def channels(self) -> int:
        """The channels of the pictures."""
        return 3

    def __len__(self) -> int:
        return len(self._subsets[0] if self._subsets else self.dataset.samples)

    def unchanged_since(self, earlier: Any) -> bool:
        """Whether a source made of `earlier` stands for this one: its lists hold the same."""
        if not isinstance(earlier, Folder) or earlier._copied is None:
            return False
        if self.storage is not earlier.storage:
            return False
        mine = [self.dataset.samples, *self._subsets]
        return len(mine) == len(earlier._copied) and all(map(is_unchanged, mine, earlier._copied))

    def source(self) -> Source:
        """The files and labels.

        Raises:
            NotLifted: a file or a label that the native path cannot deliver as the dataset would.
        """
        import numpy as np

        if len(self) == 0:
            raise NotLifted("the dataset is empty")
        copied = [copy_of(values) for values in (self.dataset.samples, *self._subsets)]
        samples = copied[0]
        rows = rows_of(copied[1:], len(samples))
        if rows is not None:
            samples = [samples[row] for row in rows.tolist()]
        if not all(type(sample) is tuple and len(sample) == 2 for sample in samples):
            raise NotLifted("its samples are not all tuples of a path and a label")
        labels = [label for _, label in samples]
        if not all(type(label) is int for label in labels):
            raise NotLifted("its labels are not all of type int")
        for path, _ in samples:
            if not os.fspath(path).lower().endswith(EXTENSIONS):
                ending = Path(path).suffix
                raise NotLifted(f"it holds {ending or 'nameless'} files, such as {path}")
        try:
            numbers = np.asarray(labels, np.int64)
        except OverflowError:
            raise NotLifted("its labels do not fit 64 bits") from None
        source = Source(
            paths=[os.fsencode(path) for path, _ in samples],
            labels=numbers,
            classes=tuple(getattr(self.dataset, "classes", ())),
        )
        self._copied = copied
        return source if self.storage is None else source.on(self.storage)


def recognise_folder(dataset: Any) -> Folder:
    """The folder behind a dataset.

    Raises:
        NotLifted: the dataset is something else, or a folder that does more than reading pictures.
    """
    dataset, subsets = without_subsets(dataset)
    name = name_of(dataset)
    if isinstance(dataset, type) or name not in FOLDERS:
        raise NotLifted(f"the dataset is {name}, not an image folder of torchvision itself")
    require_pristine(dataset, METHODS)
    if dataset.target_transform is not None:
        raise NotLifted(f"{short_name(dataset)} has a target_transform")
    if dataset.transform is None:
        raise NotLifted(f"{short_name(dataset)} has no transform, so its pictures make no tensors")
    storage = storage_of(dataset.loader)
    reads = dataset.loader if storage is None else sys.modules[_HOME].pil_loader
    if name_of(reads) not in LOADERS:
        raise NotLifted(f"{short_name(dataset)} reads files by {name_of(reads)}")
    if not is_own(reads):
        raise NotLifted(f"{name_of(reads)} was replaced")
    require_own(reads)
    require_plain_pictures()
    backend = getattr(sys.modules.get("torchvision"), "get_image_backend", lambda: "PIL")()
    if backend != "PIL":
        raise NotLifted(f"torchvision's image backend is {backend}, not PIL")
    if type(dataset.samples) not in LISTS:
        raise NotLifted(f"its samples are a {name_of(dataset.samples)}")
    size = len(subsets[0] if subsets else dataset.samples)
    subset = " (a subset)" if subsets else ""
    place = " on an emulated storage" if storage is not None else ""
    description = f"{short_name(dataset)} of {size} files{place}{subset}"
    return Folder(dataset, subsets, description, storage)
