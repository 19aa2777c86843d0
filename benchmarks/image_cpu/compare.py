"""Before any clock starts: do all contestants make the same batches?

Run as a process; its argument is the scenario's description in JSON. It ends with an error where
a batch of DRAPPS differs from what Pillow, torchvision and torch make of the same crops, and
prints the CRC-32 of the pictures of each batch compared, which the yardstick must have too.
"""

from __future__ import annotations

import json
import sys
import zlib
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from torchvision import transforms

from benchmarks.image_cpu.drapps import loader
from drapps import _core

BATCHES = 2


def main() -> None:
    """Compares the first batches."""
    spec: dict[str, Any] = json.loads(sys.argv[1])
    files = Path(spec["files"]).read_text().splitlines()
    sums = []
    for number, batch in enumerate(islice(loader(spec), BATCHES)):
        arrays = batch.numpy()
        for row, picture in enumerate(batch.torch()["image"]):
            file = files[arrays["index"][row] % len(files)]
            expected = reference(spec, file, int(arrays["position"][row]))
            if not torch.equal(picture, expected):
                sys.exit(f"DRAPPS and Pillow differ in row {row} of batch {number}: {file}")
        sums.append(zlib.crc32(arrays["image"].data))
    print(json.dumps(sums))


def reference(spec: dict[str, Any], file: str, position: int) -> torch.Tensor:
    """The row of the sample at `position`, whose file is given, by the stock transforms."""
    functional = transforms.functional
    at = {"seed": spec["seed"], "epoch": 0, "position": position}
    with Image.open(file) as opened:
        picture = opened.convert("RGB")
    crop = {"op": "random_resized_crop", "height": spec["crop"], "width": spec["crop"]}
    blank = np.zeros((picture.height, picture.width, 3), np.uint8)
    region = _core.augment.run(crop, blank, ordinal=1, **at)["region"]
    picture = functional.resized_crop(picture, *region, [spec["crop"], spec["crop"]])
    sides = np.array([[[0], [1]]], np.uint8)
    flip = {"op": "horizontal_flip", "p": 0.5}
    if _core.augment.run(flip, sides, ordinal=2, **at)["pixels"][0, 0, 0] == 1:
        picture = functional.hflip(picture)
    normalised: torch.Tensor = functional.normalize(
        functional.to_tensor(picture), spec["mean"], spec["std"]
    )
    return normalised


if __name__ == "__main__":
    main()
