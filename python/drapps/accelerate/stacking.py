"""torch's collation of pictures whose pixels lie one after another, in worker processes.

torchvision's second interface makes such pictures, and torch takes long to part their channels.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from typing import Any

from drapps import _core
from drapps.accelerate.normalizing import flat
from drapps.accelerate.patches import Patches, is_own
from drapps.accelerate.watched import is_watched
from drapps.attributes import attribute_of

MODULE = "torch.utils.data._utils.collate"
_CHANNELS = 3


def patch(patches: Patches) -> None:
    """Has ``default_collate`` take such pictures, unless a user has replaced how it collates."""
    import torch

    module = sys.modules[MODULE]
    plain: Any = vars(module).get("collate_tensor_fn")
    functions = vars(module).get("default_collate_fn_map", {})
    if is_own(module, plain) and functions.get(torch.Tensor) is plain:
        patches.put(functions, torch.Tensor, _collating(plain), plain)


def _collating(plain: Any) -> Callable[..., Any]:
    from torch.utils.data import get_worker_info

    @functools.wraps(plain)
    def collate_tensor_fn(batch: Any, *, collate_fn_map: Any = None) -> Any:
        stack = None
        # Outside of workers the pixels of the batch lie together as well.
        if type(batch) in (list, tuple) and _is_known(batch[0]) and get_worker_info() is not None:
            stack = _stacked(batch)
        return plain(batch, collate_fn_map=collate_fn_map) if stack is None else stack

    return collate_tensor_fn


def _is_known(picture: Any) -> bool:
    """Whether it is a picture of three channels, of floats."""
    import torch

    images = attribute_of(sys.modules.get("torchvision.tv_tensors"), "Image")
    if type(picture) is not torch.Tensor and type(picture) is not images:
        return False
    if picture.dtype is not torch.float32 or picture.ndim != 3 or picture.device.type != "cpu":
        return False
    channels, height, width = picture.shape
    together = (1, _CHANNELS * width, _CHANNELS)
    return bool(channels == _CHANNELS and min(height, width) > 1 and picture.stride() == together)


def _stacked(batch: Sequence[Any]) -> Any:
    """A batch in shared memory; None for what is left to torch."""
    import torch

    first = batch[0]
    kind, size, stride = type(first), first.shape, first.stride()
    alike = all(
        type(each) is kind
        and each.dtype is torch.float32
        and each.shape == size
        and each.stride() == stride
        and not each.requires_grad
        for each in batch
    )
    if not alike or is_watched():
        return None
    try:
        pixels = [flat(each.as_subclass(torch.Tensor), True) for each in batch]
    except (RuntimeError, TypeError):  # no memory of its own that others may read
        return None
    plain = batch[0].as_subclass(torch.Tensor)
    storage = plain._typed_storage()._new_shared(plain.numel() * len(batch), device=plain.device)
    stack = plain.new(storage).resize_(len(batch), *size)
    _core.separate_floats(stack.view(-1).numpy(), pixels)
    return stack
