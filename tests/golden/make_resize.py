"""Writes resize.json: hashes of what Pillow's Image.resize and torch's interpolate() give.

Run once under Pillow 12 and once under Pillow 13: each run replaces its own order's part, and those
of torch where it is installed. The input is the same everywhere: byte i of the interleaved RGB
picture is bits 24 to 31 of (i * 2654435761 + (i >> 7) * 40503) mod 2**32. The hash is CRC-32 of the
interleaved output.
"""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import PIL
from PIL import Image

GOLDEN = Path(__file__).with_name("resize.json")
FILTERS = {"bilinear": Image.Resampling.BILINEAR, "bicubic": Image.Resampling.BICUBIC}
SIZES = [
    (1, 1, 1, 1), (1, 1, 7, 5), (1, 97, 1, 31), (97, 1, 31, 1), (5, 3, 224, 224), (2, 2, 3, 3),
    (250, 300, 224, 224), (251, 307, 224, 224), (375, 500, 224, 224), (500, 375, 224, 224),
    (224, 300, 224, 224), (300, 224, 224, 224), (113, 127, 224, 224), (331, 91, 64, 97),
    (91, 331, 97, 64), (400, 410, 100, 399), (600, 64, 13, 63), (64, 600, 63, 13),
    (37, 1201, 11, 17), (1201, 37, 17, 11), (257, 255, 256, 256), (333, 500, 256, 384),
]  # fmt: skip


def picture(height: int, width: int) -> npt.NDArray[np.uint8]:
    """The input: uint8 (height, width, 3)."""
    i = np.arange(height * width * 3, dtype=np.uint64)
    mixed = (i * np.uint64(2654435761) + (i >> np.uint64(7)) * np.uint64(40503)) % np.uint64(2**32)
    pixels: npt.NDArray[np.uint8] = (mixed >> np.uint64(24)).astype(np.uint8)
    return pixels.reshape(height, width, 3)


def add_torch(golden: dict[str, Any], antialias: bool) -> None:
    """Replaces the part of torch's arithmetic on tensors of bytes, where torch is installed."""
    try:
        import torch
    except ImportError:
        return
    part = "torch_uint8" if antialias else "torch_uint8_no_antialias"
    golden[part] = {"made_by": f"torch {torch.__version__}", "cases": []}
    for h, w, out_h, out_w in SIZES:
        tensor = torch.from_numpy(picture(h, w)).permute(2, 0, 1)[None]
        for name in FILTERS:
            resized = torch.nn.functional.interpolate(
                tensor, (out_h, out_w), mode=name, align_corners=False, antialias=antialias
            )
            crc = zlib.crc32(np.ascontiguousarray(resized[0].permute(1, 2, 0)).tobytes())
            golden[part]["cases"].append([h, w, out_h, out_w, name, crc])


def main() -> None:
    """Replaces the parts of what is installed."""
    order = "pillow13" if int(PIL.__version__.split(".")[0]) >= 13 else "horizontal"
    golden = json.loads(GOLDEN.read_text()) if GOLDEN.exists() else {}
    golden[order] = {"made_by": f"Pillow {PIL.__version__}", "cases": []}
    for h, w, out_h, out_w in SIZES:
        image = Image.fromarray(picture(h, w))
        for name, resample in FILTERS.items():
            crc = zlib.crc32(np.asarray(image.resize((out_w, out_h), resample)).tobytes())
            golden[order]["cases"].append([h, w, out_h, out_w, name, crc])
    for antialias in (True, False):
        add_torch(golden, antialias)
    lines = [
        f'  "{name}": {{"made_by": "{part["made_by"]}", "cases": [\n    '
        + ",\n    ".join(json.dumps(case) for case in part["cases"])
        + "\n  ]}"
        for name, part in sorted(golden.items())
    ]
    GOLDEN.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
