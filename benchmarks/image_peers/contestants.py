"""Who takes part, in the order of the table."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any


def _around(cores: int) -> Sequence[int]:
    return sorted({max(1, cores // 2), cores, cores + (cores + 1) // 2, 2 * cores})


def _within(cores: int) -> Sequence[int]:
    return sorted({max(1, cores // 2), cores})  # FFCV takes no more threads than cores


def _none(_cores: int) -> Sequence[int]:
    return ()


def _from_none(cores: int) -> Sequence[int]:
    return [0, *_around(cores)]


@dataclass(frozen=True)
class Entry:
    """A contestant.

    Attributes:
        name: of the contestant in all that is reported.
        module: its file in this folder, and the name of its environment.
        packages: what of its pins the report names.
        settings: of its variant, which its `spec` holds.
        counts: numbers of cores → the numbers of workers that are tried; none: it finds its own.
        differs: what in its output, or in what it reads, is not as it is asked of all.
        prepares: whether it keeps anything beside the files, which its module makes first.
    """

    name: str
    module: str
    packages: tuple[str, ...] = ()
    settings: dict[str, Any] = field(default_factory=dict)
    counts: Callable[[int], Sequence[int]] = _around
    differs: str = ""
    prepares: bool = False

    @property
    def environment(self) -> str | None:
        """The name of its environment; None is the one that measures."""
        return None if self.module == "drapps" else self.module

    def workers(self) -> Sequence[int]:
        """The numbers of workers to try on this machine."""
        return self.counts(len(os.sched_getaffinity(0)))


def _drapps(variant: str, differs: str) -> Entry:
    settings = {"variant": variant}
    prepares = variant == "coefficients"
    return Entry(f"drapps_{variant}", "drapps", (), settings, _none, differs, prepares)


def _torch(transforms: str, differs: str) -> Entry:
    packages = ("torch", "torchvision", "pillow")
    return Entry(
        f"torch_{transforms}", "torch", packages, {"transforms": transforms}, _around, differs
    )


def _tfdata(name: str, antialias: bool, differs: str) -> Entry:
    return Entry(name, "tfdata", ("tensorflow_cpu",), {"antialias": antialias}, _none, differs)


ENTRIES = (
    _drapps("first", ""),
    _drapps("warm", "has met each file in earlier epochs"),
    _drapps(
        "coefficients",
        "reads the lossless coefficient form, made beforehand: twice the bytes of the files",
    ),
    _torch("v1", ""),
    _torch("v2", "resizes tensors, in another rounding"),
    Entry("dali", "dali", ("nvidia-dali-cuda130",), differs="shuffles within a window of 1,024"),
    Entry("mlx", "mlx", ("mlx-data",), differs="u8 NHWC, not normalised; unordered batches"),
    Entry(
        "ffcv_jpeg",
        "ffcv",
        ("ffcv",),
        {"raw": False},
        _within,
        differs="reads one file that holds all JPEG data, each photograph once; fast DCT; "
        "OpenCV's area resize",
        prepares=True,
    ),
    Entry(
        "ffcv_raw",
        "ffcv",
        ("ffcv",),
        {"raw": True},
        _within,
        differs="not the same pictures: raw pixels reduced to 256 on the longer side, in one file "
        "that holds each photograph once; OpenCV's area resize",
        prepares=True,
    ),
    _tfdata("tfdata", True, "NHWC; fast DCT; unordered rows"),
    _tfdata("tfdata_aliased", False, "NHWC; fast DCT; no antialiasing; unordered rows"),
    Entry("spdl", "spdl", ("spdl",), differs="u8 NHWC, not normalised; FFmpeg; unordered batches"),
    Entry("grain", "grain", ("grain", "pillow"), counts=_from_none),
)

# The rivals of the ratios: each is the fastest of the contestants named.
RIVALS = {
    "torch": ("torch_v1", "torch_v2"),
    "dali": ("dali",),
    "mlx": ("mlx",),
    "ffcv_jpeg": ("ffcv_jpeg",),
    "tfdata": ("tfdata", "tfdata_aliased"),
    "spdl": ("spdl",),
    "grain": ("grain",),
}
