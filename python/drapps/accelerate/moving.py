"""torchvision's random crop and flips of a picture that is not made yet, without a picture of each.

They stand for the transforms right in front of those that make numbers: who is asked for pixels in
between, or draws, sees nothing of them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from drapps.accelerate.cropping import FIRST, SECOND, box_of_first, box_of_second
from drapps.accelerate.late import LatePixels, Maker
from drapps.accelerate.patches import Held
from drapps.accelerate.resized_crop import PILLOWS, known_resize, resized_view
from drapps.accelerate.torch_draws import Draws, draws
from drapps.accelerate.views import View

_CHECKED = 8  # flips
_LEFT_RIGHT, _TOP_BOTTOM = 0, 1  # of Pillow's transpose()
_Move = Callable[[Any, View, Maker], "View | None"]  # None: nothing was drawn, nor done
_Box = Callable[[Draws, tuple[int, int], Any], Any]


class Moved:
    """A picture that some transforms have moved, and that nobody has seen since."""

    __slots__ = ("_like", "_maker", "view")

    def __init__(self, view: View, like: Any, maker: Maker) -> None:
        self.view, self._like, self._maker = view, like, maker

    def image(self) -> Any:
        """The picture as the transforms would have made it."""
        return self._maker.image(self._like, self.view)


class Moves:
    """What stands for transforms of exactly these classes, while what they call is as it was."""

    def __init__(self, moves: Mapping[type, _Move], held: Held) -> None:
        self._moves, self._held = moves, held

    def begin(self, transforms: Sequence[Any], end: int) -> int:
        """Where the transforms begin that stand right in front of the place `end`."""
        while end > 0 and type(transforms[end - 1]) in self._moves:
            end -= 1
        return end

    def moved(self, image: Any, transforms: Sequence[Any]) -> tuple[Any, int]:
        """What so many of the transforms, of which none has methods of its own, make of an image.

        A `Moved` where so many are all of the transforms.
        """
        late: Any = getattr(image, "_im", None)
        view = late.view if type(late) is LatePixels else None
        if view is None or not transforms or not self._held.is_as_it_was():
            return image, 0
        for done, transform in enumerate(transforms):
            after = self._moves[type(transform)](transform, view, late.maker)
            if after is None:
                return (late.maker.image(image, view) if done else image), done
            view = after
        return Moved(view, image, late.maker), len(transforms)


def moves_of_first(methods: Callable[[list[Any]], list[tuple[Any, Any]]]) -> Moves:
    """Moves of the first interface; `methods` gives where the methods of classes are held."""
    module: Any = sys.modules[FIRST]
    crop, flips = module.RandomResizedCrop, (module.RandomHorizontalFlip, module.RandomVerticalFlip)
    names = ("resized_crop", "crop", "resize", "get_dimensions", "hflip", "vflip")
    places = [*methods([crop, *flips]), (vars(crop), "get_params")]
    places += [(vars(held), name) for held in (module.F, module.F.F_pil) for name in names]
    return _moves(crop, flips, box_of_first, places)


def moves_of_second(methods: Callable[[list[Any]], list[tuple[Any, Any]]]) -> Moves:
    """Moves of the second interface; `methods` gives where the methods of classes are held."""
    from torchvision.transforms.v2.functional import _utils as utils

    module: Any = sys.modules[SECOND]
    functional, image = module.functional, sys.modules["PIL.Image"].Image
    crop, flips = module.RandomResizedCrop, (module.RandomHorizontalFlip, module.RandomVerticalFlip)
    places = methods([crop, *flips, flips[0].__base__])
    for name in ("resized_crop", "horizontal_flip", "vertical_flip"):
        kernels = utils._KERNEL_REGISTRY[vars(functional)[name]]
        places += [(vars(functional), name), (kernels, image)]
    return _moves(crop, flips, box_of_second, places)


def _moves(crop: Any, flips: tuple[Any, Any], boxed: _Box, places: list[Any]) -> Moves:
    """No moves are known where torch or torchvision draw otherwise than all known versions do."""
    drawing = draws()
    if drawing is None:
        return Moves({}, Held(()))
    moves: dict[type, _Move] = {}
    if hasattr(vars(crop).get("get_params", vars(crop).get("make_params")), "__wrapped__"):  # ours
        moves[crop] = _cropping(drawing, boxed)
    for flip, method, axis in zip(flips, (_LEFT_RIGHT, _TOP_BOTTOM), (-1, -2), strict=True):
        if _is_alike(drawing, flip, axis):
            moves[flip] = _flipping(drawing, method)
    image = sys.modules["PIL.Image"].Image
    places += [(vars(image), name) for name in (*PILLOWS, "transpose")]
    return Moves(moves, Held(places))


def _is_alike(drawing: Draws, flip: Any, axis: int) -> bool:
    """Whether a transform of this class flips a tensor where it is drawn here."""
    import torch

    before, picture, transform = torch.get_rng_state(), torch.arange(12).view(3, 2, 2), flip(0.3)
    try:
        theirs = [transform(picture) for _ in range(_CHECKED)] + [torch.get_rng_state()]
        torch.set_rng_state(before)
        drawn = [drawing.happens(0.3) for _ in range(_CHECKED)]
        mine = [picture.flip(axis) if each else picture for each in drawn]
        mine.append(torch.get_rng_state())
    finally:
        torch.set_rng_state(before)
    return all(map(torch.equal, theirs, mine))


def _cropping(drawing: Draws, boxed: _Box) -> _Move:
    def crop(transform: Any, view: View, maker: Maker) -> View | None:
        how = known_resize(transform.size, transform.interpolation, transform.antialias)
        box = None if how is None else boxed(drawing, view.size, transform)
        return None if how is None or box is None else resized_view(maker, view, box, how)

    return crop


def _flipping(drawing: Draws, method: int) -> _Move:
    def flip(transform: Any, view: View, maker: Maker) -> View | None:  # noqa: ARG001
        happens = drawing.happens(transform.p)
        if happens is None:
            return None
        return view.transposed(method) if happens else view

    return flip
