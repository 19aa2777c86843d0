"""The three transforms of torchvision's v2 that make numbers of a picture, where they follow."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from types import FunctionType
from typing import Any

from drapps.accelerate.normalizing import are_numbers
from drapps.accelerate.patches import Patches, is_own
from drapps.accelerate.tensors import view_behind
from drapps.attributes import attribute_of

MODULE = "torchvision.transforms.v2"
_NAMES = ("ToImage", "ToDtype", "Normalize")
_CALLED = (
    *("forward", "transform", "check_inputs", "make_params", "_call_kernel"),
    *("_needs_transform_list", "_call_impl", "_wrapped_call_impl", "_compiled_call_impl"),
)
_HOOKS = ("_backward_hooks", "_backward_pre_hooks", "_forward_hooks", "_forward_pre_hooks")
_Places = tuple[tuple[Any, Any], ...]


def patch(patches: Patches) -> None:
    """Has ``Compose`` make them in one go, unless a user has put one of his own in its place."""
    module: Any = sys.modules[MODULE]
    compose = module.Compose
    plain = vars(compose).get("forward")
    kinds = [vars(module)[name] for name in _NAMES]
    places = _places(module, kinds)
    own = all(map(_is_librarys, _held(places)))
    if own and is_own(sys.modules[compose.__module__], plain):
        patches.put(compose, "forward", _forward(plain, kinds, places), plain)


def _is_librarys(function: Any) -> bool:
    """Whether it is one of torch's, of torchvision's or ours, if there is one."""
    if not isinstance(function, FunctionType):
        return function is None
    whose, _, _ = str(function.__globals__.get("__name__")).partition(".")
    return whose in ("torch", "torchvision", "drapps")


def _forward(plain: Any, kinds: list[Any], places: _Places) -> Callable[..., Any]:
    wanted = _held(places)

    @functools.wraps(plain)
    def forward(self: Any, *inputs: Any) -> Any:
        transforms = self.transforms
        place = _place(transforms, kinds) if len(inputs) == 1 else None
        if place is None or _held(places) != wanted:
            return plain(self, *inputs)
        output, three = inputs[0], transforms[place : place + 3]
        for transform in transforms[:place]:
            output = transform(output)
        made = _made(output, *three[1:]) if all(map(_is_as_it_was, three)) else None
        if made is not None:
            output, place = made, place + 3
        for transform in transforms[place:]:
            output = transform(output)
        return output

    return forward


def _place(transforms: Any, kinds: list[Any]) -> int | None:
    """Where the three follow each other; None where they do not."""
    if type(transforms) is not list:
        return None
    found = [type(each) for each in transforms]
    for place in range(len(found) - 2):
        if found[place] is kinds[0] and found[place : place + 3] == kinds:
            return place
    return None


def _places(module: Any, kinds: list[Any]) -> _Places:
    """Where all that the three call is held: dictionaries, and their keys."""
    import torch
    from torchvision.transforms.v2.functional import _utils as utils

    functional = module.functional
    classes = [*kinds, module.Transform, torch.nn.Module]
    held = [(vars(kind), name) for kind in classes for name in (*_CALLED, "__call__")]
    held += [(vars(functional), name) for name in ("to_image", "to_dtype", "normalize")]
    kernels = utils._KERNEL_REGISTRY
    image = module.ToImage.transform.__globals__["tv_tensors"].Image
    held += [(kernels[functional.to_dtype], image), (kernels[functional.normalize], image)]
    held.append((functional.to_image.__globals__, "pil_to_tensor"))
    return tuple(held)


def _held(places: _Places) -> list[Any]:
    return [held.get(name) for held, name in places]


def _is_as_it_was(module: Any) -> bool:
    """Whether an object has no hooks and no methods of its own."""
    own = vars(module)
    return own.keys().isdisjoint(_CALLED) and not any(own.get(name) for name in _HOOKS)


def _made(image: Any, to_dtype: Any, normalize: Any) -> Any:
    """What the three make of an image; None for what is left to them."""
    import torch
    from torchvision import tv_tensors

    view = view_behind(image)
    if view is None or view.mode != "RGB" or min(view.size) < 2:
        return None
    mean, std = normalize.mean, normalize.std
    known = to_dtype.dtype is torch.float32 and to_dtype.scale is True
    if not known or not are_numbers(mean, std, 3) or is_watched():
        return None
    width, height = view.size
    shape, strides = (3, height, width), (1, 3 * width, 3)
    made = torch.empty_strided(shape, strides, dtype=torch.float32, device="cpu")
    view.to_normalized(mean, std, made.permute(1, 2, 0).view(-1).numpy())
    return made.as_subclass(tv_tensors.Image)


def is_watched() -> bool:
    """Whether something looks at what torch does, or changes that."""
    import torch

    hooks = torch.nn.modules.module
    names = [f"_global_{each}_hooks" for each in ("forward", "backward")]
    names += [f"_global_{each}_pre_hooks" for each in ("forward", "backward")]
    modes = ("_len_torch_function_stack", "_len_torch_dispatch_stack", "_get_tracing_state")
    return any(attribute_of(hooks, name, True) for name in names) or any(
        attribute_of(torch._C, name, lambda: True)() for name in modes
    )
