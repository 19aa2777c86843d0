"""The child's side of a rival: what all of them share. Needs NumPy and nothing of the project's.

A rival's module runs in the rival's own environment, as one of three things that its only
argument, a JSON object, asks for by `do`:

    absent      the contestant that `benchmarks.feed` describes
    prepare     makes what the loader keeps beside the files, then ends
    pictures    loads the check's photographs by the timed pipeline, whole and unflipped, then ends
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np

from benchmarks import feed

_MOST_BATCHES = 200  # in which every photograph of the check must have come


class Peer:
    """A loader that was started. A `feed.Feed`; a rival overrides what differs.

    What `spec` says: `root` (a folder per class), `listing` (its files and classes) and `copies`
    (of each photograph, the first of all before the second of any); `batch`, `crop`, `scale`,
    `ratio`, `flip`, `mean`, `std`, `seed`, `workers`; `store` (a path of the loader's own); `whole`
    where pictures are compared; and the settings of a variant.
    """

    group = 1

    def __init__(self, spec: dict[str, Any]) -> None:
        self.spec = spec

    @classmethod
    def prepare(cls, spec: dict[str, Any]) -> None:
        """Makes what the loader keeps beside the files, unless it is there."""

    def arrays(self) -> Iterator[tuple[Any, Any]]:
        """Yields (images, labels), batch after batch, epoch after epoch."""
        raise NotImplementedError

    def batches(self) -> Iterator[int]:
        """Takes batches and yields their rows."""
        for images, _labels in self.arrays():
            yield len(images)

    def counters(self) -> dict[str, float]:
        """Rivals count nothing."""
        return {}

    def close(self) -> None:
        """Ends the workers."""


def listing(spec: dict[str, Any]) -> tuple[list[str], list[int]]:
    """The files of the data, and the number of each one's class."""
    with open(spec["listing"]) as file:  # noqa: PTH123
        rows = [line.rstrip("\n").rsplit(" ", 1) for line in file]
    return [path for path, _ in rows], [int(label) for _, label in rows]


def run(peer: type[Peer]) -> None:
    """What a rival's module does as a program."""
    spec: dict[str, Any] = json.loads(sys.argv[1])
    todo = spec.get("do")
    if todo == "prepare":
        peer.prepare(spec)
    elif todo == "pictures":
        peer.prepare(spec)
        _pictures(peer(spec), spec)
    else:
        feed.serve(peer)


def _pictures(loader: Peer, spec: dict[str, Any]) -> None:
    """Saves pictures[i], float32 (H, W, 3) in 0…255, of the photograph of class i."""
    pictures: dict[int, np.ndarray] = {}
    output = ""
    for images, labels in islice(loader.arrays(), _MOST_BATCHES):
        array = np.asarray(images)
        output = f"{array.dtype} {'NCHW' if array.shape[1] == 3 else 'NHWC'}"
        for picture, label in zip(array, np.asarray(labels).reshape(-1), strict=True):
            pictures[int(label)] = _plain(picture, spec)
        if len(pictures) == spec["classes"]:
            break
    if len(pictures) != spec["classes"]:
        sys.exit(f"{len(pictures)} of {spec['classes']} photographs came")
    np.savez(
        spec["out"], pictures=np.stack([pictures[i] for i in range(spec["classes"])]), output=output
    )
    loader.close()


def _plain(picture: np.ndarray, spec: dict[str, Any]) -> np.ndarray:
    """Undoes layout and normalisation."""
    plain = picture.astype(np.float32)
    if plain.shape[0] == 3:
        plain = plain.transpose(1, 2, 0)
    if picture.dtype != np.uint8:
        plain = (plain * np.float32(spec["std"]) + np.float32(spec["mean"])) * np.float32(255)
    return plain
