"""The transforms of torchvision that make numbers of a picture, in one go where they follow.

So are those that move its pixels right in front of them, see `moving`.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from drapps.accelerate.cropping import FIRST, SECOND
from drapps.accelerate.moving import Moved, Moves, moves_of_first, moves_of_second
from drapps.accelerate.normalizing import are_numbers
from drapps.accelerate.patches import Held, Patches, is_own
from drapps.accelerate.tensors import view_behind
from drapps.accelerate.views import View
from drapps.accelerate.watched import is_watched

_CALLED = (
    *("forward", "transform", "check_inputs", "make_params", "_call_kernel"),
    *("_needs_transform_list", "_call_impl", "_wrapped_call_impl", "_compiled_call_impl"),
)
_HOOKS = ("_backward_hooks", "_backward_pre_hooks", "_forward_hooks", "_forward_pre_hooks")
_Make = Callable[..., Any]  # of an image, and of the transforms behind the first


def patch_first(patches: Patches) -> None:
    """Has ``Compose`` of the first interface make numbers of a picture in one go."""
    import torch

    module: Any = sys.modules[FIRST]
    functional: Any = module.F
    kinds = [module.ToTensor, module.Normalize]
    held = _methods([*kinds, torch.nn.Module])
    held += [(vars(functional), name) for name in ("to_tensor", "normalize")]
    held.append((vars(functional.F_t), "normalize"))
    chain = _Chain(kinds, Held(held), _planes, moves_of_first(_methods))
    _patch(patches, module.Compose, "__call__", chain)


def patch_second(patches: Patches) -> None:
    """Has ``Compose`` of the second interface make numbers of a picture in one go."""
    import torch
    from torchvision.transforms.v2.functional import _utils as utils

    module: Any = sys.modules[SECOND]
    kinds = [module.ToImage, module.ToDtype, module.Normalize]
    functional = module.functional
    held = _methods([*kinds, module.Transform, torch.nn.Module])
    held += [(vars(functional), name) for name in ("to_image", "to_dtype", "normalize")]
    kernels = utils._KERNEL_REGISTRY
    image = module.ToImage.transform.__globals__["tv_tensors"].Image
    held += [(kernels[functional.to_dtype], image), (kernels[functional.normalize], image)]
    held.append((functional.to_image.__globals__, "pil_to_tensor"))
    chain = _Chain(kinds, Held(held), _interleaved, moves_of_second(_methods))
    _patch(patches, module.Compose, "forward", chain)


def _methods(classes: list[Any]) -> list[tuple[Any, Any]]:
    return [(vars(kind), name) for kind in classes for name in (*_CALLED, "__call__")]


@dataclass
class _Chain:
    """Transforms that are made together.

    Attributes:
        kinds: those that make numbers, which follow each other.
        held: the functions that they call.
        make: what is called in their place.
        moves: what may stand in front of them.
    """

    kinds: list[Any]
    held: Held
    make: _Make
    moves: Moves


def _patch(patches: Patches, compose: Any, name: str, chain: _Chain) -> None:
    """Replaces a method of `compose`, unless a user has replaced one that the transforms call."""
    plain = vars(compose).get(name)
    if chain.held.is_as_it_was() and is_own(sys.modules[compose.__module__], plain):
        patches.put(compose, name, _composing(plain, chain), plain)


def _composing(plain: Any, chain: _Chain) -> Callable[..., Any]:
    kinds, make, moves = chain.kinds, chain.make, chain.moves

    @functools.wraps(plain)
    def compose(self: Any, *inputs: Any, **options: Any) -> Any:
        transforms = self.transforms
        place = None if options or len(inputs) != 1 else _place(transforms, kinds)
        if place is None or not chain.held.is_as_it_was():
            return plain(self, *inputs, **options)
        output, start, end = inputs[0], moves.begin(transforms, place), place + len(kinds)
        for transform in transforms[:start]:
            output = transform(output)
        if all(map(_is_as_it_was, transforms[start:place])):
            output, moved = moves.moved(output, transforms[start:place])
            start += moved
        for transform in transforms[start:place]:
            output = transform(output)
        together = transforms[place:end]
        tensor = make(output, *together[1:]) if all(map(_is_as_it_was, together)) else None
        if tensor is not None:
            output, place = tensor, end
        elif type(output) is Moved:
            output = output.image()
        for transform in transforms[place:]:
            output = transform(output)
        return output

    return compose


def _place(transforms: Any, kinds: list[Any]) -> int | None:
    """Where the kinds follow each other; None where they do not."""
    if type(transforms) is not list:
        return None
    classes = [type(each) for each in transforms]
    for place in range(len(classes) - len(kinds) + 1):
        if classes[place] is kinds[0] and classes[place : place + len(kinds)] == kinds:
            return place
    return None


def _is_as_it_was(module: Any) -> bool:
    """Whether an object has no hooks and no methods of its own."""
    own = vars(module)
    return own.keys().isdisjoint(_CALLED) and not any(own.get(name) for name in _HOOKS)


def _planes(image: Any, normalize: Any) -> Any:
    """What the first interface makes of an image; None for what is left to it."""
    import torch

    view = _colours_behind(image, normalize)
    if view is None or torch.get_default_dtype() is not torch.float32:
        return None
    width, height = view.size
    planes = torch.empty((3, height, width), dtype=torch.float32, device="cpu")
    view.to_normalized(normalize.mean, normalize.std, planes.view(-1).numpy(), True)
    return planes


def _interleaved(image: Any, to_dtype: Any, normalize: Any) -> Any:
    """The numbers that the second interface makes of an image; None for what is left to it."""
    import torch
    from torchvision import tv_tensors

    known = to_dtype.dtype is torch.float32 and to_dtype.scale is True
    view = _colours_behind(image, normalize) if known else None
    if view is None:
        return None
    width, height = view.size
    shape, strides = (3, height, width), (1, 3 * width, 3)
    tensor = torch.empty_strided(shape, strides, dtype=torch.float32, device="cpu")
    flat = tensor.permute(1, 2, 0).view(-1).numpy()
    view.to_normalized(normalize.mean, normalize.std, flat, False)
    return tensor.as_subclass(tv_tensors.Image)


def _colours_behind(image: Any, normalize: Any) -> View | None:
    """What is not made yet of an image; None for any other, or where somebody would see more."""
    view = image.view if type(image) is Moved else view_behind(image)
    if view is None or view.mode != "RGB" or min(view.size) < 2:
        return None
    known = are_numbers(normalize.mean, normalize.std, 3) and not is_watched()
    return view if known else None
