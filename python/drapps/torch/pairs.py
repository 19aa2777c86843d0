"""Recognising torchvision's segmentation datasets: a picture and its mask, as v2 wraps them.

``wrap_dataset_for_transforms_v2`` makes a class of its own for each dataset, which reads the
dataset's sample, makes a ``tv_tensors.Mask`` of the second picture and calls the joint transforms.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from drapps.source import EXTENSIONS, Source
from drapps.torch.kept import LISTS, METHODS, copy_of, is_unchanged, rows_of, without_subsets
from drapps.torch.own import is_own
from drapps.torch.pictures import require_plain_pictures
from drapps.torch.recognise import NotLifted, name_of, require_own, require_pristine, short_name

_HOME = "torchvision.tv_tensors._dataset_wrapper."
_WRAPPER = _HOME + "VisionDatasetTVTensorWrapper"
_PROBES = 64


@dataclass(frozen=True)
class Family:
    """How one class of datasets keeps its files.

    Attributes:
        images: the attribute that lists the pictures.
        masks: the attribute that lists the masks, or a list for each picture that begins with it.
        wrapper: the function that wraps a sample, without its module.
        target: the attribute that says what targets are, and what it must be; None where there is
            nothing to choose.
    """

    images: str
    masks: str
    wrapper: str
    target: tuple[str, str] | None = None


FAMILIES = {
    "torchvision.datasets.voc.VOCSegmentation": Family(
        "images", "masks", "segmentation_wrapper_factory.<locals>.wrapper"
    ),
    "torchvision.datasets.oxford_iiit_pet.OxfordIIITPet": Family(
        "_images",
        "_segs",
        "oxford_iiit_pet_wrapper_factor.<locals>.wrapper",
        ("_target_types", "segmentation"),
    ),
    "torchvision.datasets.cityscapes.Cityscapes": Family(
        "images",
        "targets",
        "cityscapes_wrapper_factory.<locals>.wrapper",
        ("target_type", "semantic"),
    ),
}


class Pairs:
    """A segmentation dataset, seen through any number of subsets.

    Attributes:
        transform: the joint transforms.
        description: how the report calls it.
    """

    def __init__(
        self,
        images: Sequence[Any],
        masks: Sequence[Any],
        transform: Callable[..., Any],
        subsets: list[Any],
        description: str,
    ) -> None:
        """See `recognise_pairs`.

        Args:
            images: the picture files, as the dataset lists them.
            masks: the mask files, as the dataset lists them, one for each picture.
            transform: the joint transforms.
            subsets: the indices of each ``Subset``, outermost first.
            description: how the report calls the dataset.
        """
        # A list for each picture may be changed in place as well: what counts is its first.
        firsts = [mask[0] if isinstance(mask, (list, tuple)) else mask for mask in masks]
        self._lists = [images, firsts, *subsets]
        self._copied: list[Any] | None = None  # the lists as the source has them
        self.transform = transform
        self.description = description

    def __len__(self) -> int:
        return len(self._lists[2] if len(self._lists) > 2 else self._lists[0])

    def unchanged_since(self, earlier: Any) -> bool:
        """Whether a source made of `earlier` stands for this one: its lists hold the same."""
        if not isinstance(earlier, Pairs) or earlier._copied is None:
            return False
        mine, copied = self._lists, earlier._copied
        return len(mine) == len(copied) and all(map(is_unchanged, mine, copied))

    def source(self) -> Source:
        """The files.

        Raises:
            NotLifted: a file that the native path cannot deliver as the dataset would.
        """
        copied = [copy_of(values) for values in self._lists]
        if len(copied[0]) > len(copied[1]):
            raise NotLifted(f"it has {len(copied[1])} masks for {len(copied[0])} pictures")
        rows = rows_of(copied[2:], len(copied[0]))
        chosen = range(len(copied[0])) if rows is None else rows.tolist()
        images = [os.fspath(copied[0][index]) for index in chosen]
        masks = [os.fspath(copied[1][index]) for index in chosen]
        if not images:
            raise NotLifted("the dataset is empty")
        for paths, endings in ((images, EXTENSIONS), (masks, (".png",))):
            for path in paths:
                if not path.lower().endswith(endings):
                    raise NotLifted(f"it holds files such as {path}")
        for path in masks[:: max(1, len(masks) // _PROBES)]:
            _require_numbers(path)
        self._copied = copied
        return Source(
            paths=[os.fsencode(path) for path in images],
            masks=[os.fsencode(path) for path in masks],
        )


def _require_numbers(path: str) -> None:
    """Makes sure that a mask is read as bytes, which are its class ids."""
    from PIL import Image

    try:
        with Image.open(path) as mask:
            mode = mask.mode
    except OSError:
        return  # a bad sample, which on_error is about
    if mode not in ("L", "P"):
        raise NotLifted(f"its masks are no class ids of a byte: {path} is of mode {mode}")


def is_wrapped(dataset: Any) -> bool:
    """Whether a dataset came out of ``wrap_dataset_for_transforms_v2``."""
    return any(name_of(base) == _WRAPPER for base in type(dataset).__mro__)


def recognise_pairs(dataset: Any) -> Pairs:
    """The pictures and masks behind a dataset that `is_wrapped`, or a subset of one.

    Raises:
        NotLifted: the dataset is something else, or does more than reading pairs.
    """
    dataset, subsets = without_subsets(dataset)
    kind, inner = type(dataset), vars(dataset).get("_dataset")
    name = name_of(inner)
    made_up = kind.__name__ == f"Wrapped{short_name(inner)}" and kind.__bases__[1:] == (
        type(inner),
    )
    if not made_up or name_of(kind.__bases__[0]) != _WRAPPER:
        raise NotLifted(f"the dataset is {name_of(dataset)}, which torchvision has not made")
    require_pristine(dataset, METHODS)
    if name not in FAMILIES:
        raise NotLifted(f"the dataset is {name}, wrapped for v2, which has no native form")
    require_pristine(inner, METHODS)
    family = FAMILIES[name]
    if name_of(dataset._wrapper) != _HOME + family.wrapper:
        raise NotLifted(f"{name} is wrapped by {name_of(dataset._wrapper)}")
    if not is_own(dataset._wrapper):
        raise NotLifted(f"{name_of(dataset._wrapper)} was replaced")
    require_own(dataset._wrapper)
    require_plain_pictures()
    if family.target is not None:
        attribute, only = family.target
        targets = list(getattr(inner, attribute))
        if targets != [only]:
            raise NotLifted(
                f"{short_name(inner)} gives {' and '.join(targets) or 'nothing'}: only "
                f"{only} alone has a native form"
            )
    if dataset.transform is not None or dataset.target_transform is not None:
        raise NotLifted(f"{short_name(inner)} transforms pictures and masks apart")
    if inner.transform or inner.target_transform or inner.transforms:
        raise NotLifted(f"{short_name(inner)} got transforms after it was wrapped")
    if dataset.transforms is None:
        raise NotLifted(f"{short_name(inner)} has no transforms, so its pictures make no tensors")
    images, masks = getattr(inner, family.images), getattr(inner, family.masks)
    for listed in (images, masks):
        if type(listed) not in LISTS:
            raise NotLifted(f"its files are listed by a {name_of(listed)}")
    size = len(subsets[0] if subsets else images)
    subset = " (a subset)" if subsets else ""
    description = f"{short_name(inner)} of {size} pictures with masks{subset}"
    return Pairs(images, masks, dataset.transforms, subsets, description)
