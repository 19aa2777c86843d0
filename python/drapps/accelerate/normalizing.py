"""torchvision's normalisation of a picture that is a tensor of floats, in one go."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

from drapps import _core
from drapps.accelerate.patches import Patches, is_own
from drapps.attributes import attribute_of

FIRST = "torchvision.transforms._functional_tensor"
SECOND = "torchvision.transforms.v2.functional._misc"
_MOST = 1e30
_Normalize = Callable[..., Any]


def patch_first(patches: Patches) -> None:
    """Replaces ``normalize`` of the first interface, unless a user has replaced it."""
    module = sys.modules[FIRST]
    plain: Any = vars(module).get("normalize")
    if is_own(module, plain):
        patches.put(module, "normalize", _normalizing(plain), plain)


def patch_second(patches: Patches) -> None:
    """Replaces ``normalize`` of the second interface, for plain tensors and its own images."""
    module: Any = sys.modules[SECOND]
    plain = vars(module).get("normalize_image")
    if is_own(module, plain):
        put_kernel(patches, vars(module).get("normalize"), plain, _normalizing(plain))


def put_kernel(patches: Patches, functional: Any, plain: Any, kernel: Any) -> None:
    """Has a function of the second interface call `kernel`, unless a user has put one there."""
    from torchvision import tv_tensors
    from torchvision.transforms.v2.functional import _utils as utils

    kernels = attribute_of(utils, "_KERNEL_REGISTRY", {}).get(functional, {})
    wrapped = attribute_of(utils, "_kernel_tv_tensor_wrapper")
    images = kernels.get(tv_tensors.Image)
    known = is_own(utils, wrapped) and kernels.get(_tensor()) is plain
    if known and attribute_of(images, "__wrapped__") is plain:
        patches.put(kernels, _tensor(), kernel, plain)
        patches.put(kernels, tv_tensors.Image, wrapped(kernel), images)


def _tensor() -> Any:
    import torch

    return torch.Tensor


def _normalizing(plain: _Normalize) -> _Normalize:
    import torch

    is_tracing = attribute_of(torch.jit, "is_tracing")

    @functools.wraps(plain)
    def normalize(image: Any, mean: Any, std: Any, inplace: Any = False) -> Any:
        if type(image) is torch.Tensor and image.dtype is torch.float32 and not inplace:
            interleaved = is_interleaved(image)
            known = interleaved is not None and are_numbers(mean, std, image.shape[0])
            if known and not image.requires_grad and not is_tracing():
                try:
                    tensor = torch.empty_like(image)
                    out, floats = (flat(each, bool(interleaved)) for each in (tensor, image))
                except (RuntimeError, TypeError):  # no memory of its own that others may read
                    return plain(image, mean, std, inplace)
                _core.normalize_floats(out, floats, mean, std, bool(interleaved))
                return tensor
        return plain(image, mean, std, inplace)

    return normalize


def is_interleaved(image: Any) -> bool | None:
    """Whether a picture's channels lie together, or one after the other; None for any other."""
    if image.device.type != "cpu" or image.ndim != 3 or min(image.shape) < 2:
        return None
    channels, _, width = image.shape
    if channels > 4:
        return None
    if image.is_contiguous():
        return False
    return True if image.stride() == (1, width * channels, channels) else None


def are_numbers(mean: Any, std: Any, channels: int) -> bool:
    """So many means and deviations, of which no rounding to float32 makes zero or infinite."""
    return all(
        type(values) in (list, tuple)
        and len(values) == channels
        and all(type(each) in (float, int) and abs(each) < _MOST for each in values)
        for values in (mean, std)
    ) and all(abs(each) > 1 / _MOST for each in std)


def flat(image: Any, interleaved: bool) -> Any:
    """The numbers of an image as they lie, as an array.

    Raises:
        RuntimeError, TypeError: it has no memory that others may read.
    """
    return (image.permute(1, 2, 0) if interleaved else image).view(-1).numpy()
