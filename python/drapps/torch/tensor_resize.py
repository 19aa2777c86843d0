"""Resizing tensors of bytes: which arithmetic a transform of v2 takes here, and proof that it does.

torchvision hands tensors of bytes to torch's own integer kernels where these are quick, and resizes
floats elsewhere: for bilinear that depends on the processor, and its first API always does. So its
own function is run on small pictures, and its bytes are compared.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from drapps import _core, ops
from drapps.torch.recognise import NotLifted, short_name

PROBES = (((61, 83), (23, 31)), ((31, 40), (57, 64)), ((40, 90), (37, 90)), ((300, 500), (19, 224)))


def tensor_arithmetic(transform: Any, interpolation: str, channels: int) -> str:
    """The arithmetic field of the op that resizes as `transform` does.

    Raises:
        NotLifted: torch does not resize by it on this machine, or `antialias` is unknown.
    """
    antialias = getattr(transform, "antialias", "missing")
    if antialias not in (True, False, None):
        raise NotLifted(f"{short_name(transform)} has antialias={antialias!r}")
    api = type(transform).__module__.rpartition(".")[0]
    resize = sys.modules[f"{api}.functional"].resize
    ways = ["torch_uint8" if antialias else "torch_uint8_no_antialias"]
    size = getattr(transform, "size", None) or ()
    if antialias and interpolation == "bilinear" and 1 not in np.atleast_1d(size):
        ways.append("torch_float")  # not for results one pixel wide, whose rows torch does not mix
    for arithmetic in ways:
        if agrees(resize, transform.interpolation, bool(antialias), arithmetic, channels):
            return arithmetic
    raise NotLifted(
        f"{short_name(transform)} runs on a tensor of bytes here, which torch resizes by "
        f"{interpolation} in an arithmetic that has no native form on this machine"
    )


@functools.lru_cache(maxsize=64)
def agrees(
    resize: Callable[..., torch.Tensor],
    mode: Any,
    antialias: bool,
    arithmetic: str,
    channels: int,
) -> bool:
    """Whether torchvision's `resize` gives the bytes of the native op."""
    generator = np.random.default_rng(0)
    for (height, width), size in PROBES:
        pixels = generator.integers(0, 256, (height, width, channels), np.uint8)
        op = ops.resize(size, None, getattr(mode, "value", mode), arithmetic=arithmetic)
        expected = _core.augment.run(op, pixels, seed=0, epoch=0, position=0)["pixels"]
        picture = torch.from_numpy(pixels).permute(2, 0, 1)  # strided as one made from a picture
        output = resize(picture, list(size), interpolation=mode, antialias=antialias)
        if output.dtype != torch.uint8 or not np.array_equal(output.permute(1, 2, 0), expected):
            return False
    return True
