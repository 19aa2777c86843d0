"""torchvision's conversion of a picture of bytes to floats, in one go."""

from __future__ import annotations

import functools
import sys
from typing import Any

from drapps import _core
from drapps.accelerate.normalizing import SECOND, flat, is_interleaved, put_kernel
from drapps.accelerate.patches import Patches, is_own
from drapps.attributes import attribute_of


def patch(patches: Patches) -> None:
    """Replaces ``to_dtype`` for plain tensors and images, unless a user has replaced it."""
    module: Any = sys.modules[SECOND]
    plain = vars(module).get("to_dtype_image")
    if is_own(module, plain):
        put_kernel(patches, vars(module).get("to_dtype"), plain, _to_dtype(plain))


def _to_dtype(plain: Any) -> Any:
    import torch

    is_tracing = attribute_of(torch.jit, "is_tracing")

    @functools.wraps(plain)
    def to_dtype(image: Any, dtype: Any = torch.float, scale: Any = False) -> Any:
        if scale is True and dtype is torch.float32 and type(image) is torch.Tensor:
            interleaved = is_interleaved(image) if image.dtype is torch.uint8 else None
            if interleaved is not None and not is_tracing():
                try:
                    floats = torch.empty_like(image, dtype=dtype)
                    out, values = (flat(each, interleaved) for each in (floats, image))
                except (RuntimeError, TypeError):  # no memory of its own that others may read
                    return plain(image, dtype, scale)
                _core.scale_bytes(out, values)
                return floats
        return plain(image, dtype, scale)

    return to_dtype
