"""Recognising torchvision's image folders, and subsets of them."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch.utils.data

from drapps.source import EXTENSIONS, Source
from drapps.torch.recognise import NotLifted, name_of, require_pristine, short_name

FOLDERS = ("torchvision.datasets.folder.ImageFolder", "torchvision.datasets.folder.DatasetFolder")
LOADERS = ("torchvision.datasets.folder.default_loader", "torchvision.datasets.folder.pil_loader")
METHODS = ("__getitem__", "__getitems__", "__len__")


@dataclass(frozen=True, eq=False)
class Folder:
    """A folder dataset, seen through any number of subsets.

    Attributes:
        dataset: the folder itself.
        indices: of its samples, in the order of the outermost subset; None for all of them.
        description: how the report calls it.
    """

    dataset: Any
    indices: Sequence[int] | None
    description: str

    @property
    def transform(self) -> Any:
        """Of the pictures."""
        return self.dataset.transform

    @property
    def channels(self) -> int:
        """Of the pictures."""
        return 3

    def __len__(self) -> int:
        return len(self.dataset.samples if self.indices is None else self.indices)

    def unchanged_since(self, earlier: Any) -> bool:
        """Whether a source made of `earlier` stands for this one: same lists, same lengths."""
        return (
            isinstance(earlier, Folder)
            and self.dataset.samples is earlier.dataset.samples
            and self.indices == earlier.indices
            and len(self) == len(earlier)
        )

    def source(self) -> Source:
        """The files and labels.

        Raises:
            NotLifted: a file or a label that the native path cannot deliver as the dataset would.
        """
        import numpy as np

        samples = self.dataset.samples
        if self.indices is not None:
            samples = [samples[index] for index in self.indices]
        if not samples:
            raise NotLifted("the dataset is empty")
        labels = [label for _, label in samples]
        if not all(type(label) is int for label in labels):
            raise NotLifted("its labels are not all of type int")
        for path, _ in samples:
            if not os.fspath(path).lower().endswith(EXTENSIONS):
                ending = Path(path).suffix
                raise NotLifted(f"it holds {ending or 'nameless'} files, such as {path}")
        return Source(
            paths=[os.fsencode(path) for path, _ in samples],
            labels=np.asarray(labels, np.int64),
            classes=tuple(getattr(self.dataset, "classes", ())),
        )


def without_subsets(dataset: Any) -> tuple[Any, Sequence[int] | None]:
    """The dataset behind any number of subsets, and which of its samples those leave.

    Raises:
        NotLifted: a subset does more than that.
    """
    indices: Sequence[int] | None = None
    while type(dataset) is torch.utils.data.Subset:
        require_pristine(dataset, METHODS)
        inner = [int(index) for index in dataset.indices]
        indices = inner if indices is None else [inner[index] for index in indices]
        dataset = dataset.dataset
    return dataset, indices


def recognise_folder(dataset: Any) -> Folder:
    """The folder behind a dataset.

    Raises:
        NotLifted: the dataset is something else, or a folder that does more than reading pictures.
    """
    dataset, indices = without_subsets(dataset)
    name = name_of(dataset)
    if isinstance(dataset, type) or name not in FOLDERS:
        raise NotLifted(f"the dataset is {name}, not an image folder of torchvision itself")
    require_pristine(dataset, METHODS)
    if dataset.target_transform is not None:
        raise NotLifted(f"{short_name(dataset)} has a target_transform")
    if dataset.transform is None:
        raise NotLifted(f"{short_name(dataset)} has no transform, so its pictures make no tensors")
    if name_of(dataset.loader) not in LOADERS:
        raise NotLifted(f"{short_name(dataset)} reads files by {name_of(dataset.loader)}")
    backend = getattr(sys.modules.get("torchvision"), "get_image_backend", lambda: "PIL")()
    if backend != "PIL":
        raise NotLifted(f"torchvision's image backend is {backend}, not PIL")
    size = len(dataset.samples) if indices is None else len(indices)
    subset = "" if indices is None else " (a subset)"
    description = f"{short_name(dataset)} of {size} files{subset}"
    return Folder(dataset, indices, description)
