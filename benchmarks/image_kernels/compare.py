"""Before any clock starts: do all contestants make the same pictures, and are they Pillow's?"""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from benchmarks.contestant import Answer, ContestantError
from drapps import _core

BY_PILLOW = 64


def compare(spec: dict[str, Any], checked: Answer) -> None:
    """Compares the checksums that the program gave for its first crops.

    Raises:
        ContestantError: two of them differ.
    """
    sums: dict[str, list[int]] = checked["crc32"]
    files = Path(spec["files"]).read_text().splitlines()
    for name, theirs in sums.items():
        for number, (one, other) in enumerate(zip(sums["yardstick"], theirs, strict=True)):
            if one != other:
                file = files[checked["pictures"][number]["file"]]
                raise ContestantError(f"the outputs differ: {name} and yardstick, of {file}")
    first = checked["pictures"][:BY_PILLOW]
    for picture, ours in zip(first, sums["yardstick"], strict=False):
        file = files[picture["file"]]
        if zlib.crc32(reference(spec, file, picture["epoch"], picture["position"])) != ours:
            raise ContestantError(f"the outputs differ: Pillow's is another, of {file}")
    print(
        f"  {len(checked['pictures'])} crops compared: {', '.join(sums)} agree,"
        f" and Pillow on {len(first)} of them",
        flush=True,
    )


def reference(spec: dict[str, Any], file: str, epoch: int, position: int) -> bytes:
    """The crop of a file as Pillow makes it: uint8, planar."""
    with Image.open(file) as opened:
        picture = opened.convert("RGB")
    side = spec["crop"]
    region = _core.augment.run(
        {"op": "random_resized_crop", "height": side, "width": side},
        np.zeros((picture.height, picture.width, 3), np.uint8),
        ordinal=1,
        seed=spec["seed"],
        epoch=epoch,
        position=position,
    )["region"]
    top, left, height, width = region
    cut = picture.crop((left, top, left + width, top + height))
    resized = np.asarray(cut.resize((side, side), Image.Resampling.BILINEAR))
    return np.ascontiguousarray(resized.transpose(2, 0, 1)).tobytes()
