"""torchvision.transforms.v2, on Pillow pictures and tensors: what differs from the first API."""

from __future__ import annotations

import functools
from typing import Any

from drapps import ops
from drapps.torch import transforms_v1 as v1
from drapps.torch.chain import Chain, Form, Recogniser
from drapps.torch.recognise import NotLifted, short_name
from drapps.torch.typed import MASK, of_kind


def random_resize(transform: Any, chain: Chain) -> None:
    """RandomResize."""
    sizes, interpolation = (transform.min_size, transform.max_size), v1.interpolation_of(transform)
    make = functools.partial(ops.random_resize, *sizes, interpolation)
    v1.add_resize(make, transform, chain)


def fills_of(transform: Any, chain: Chain) -> tuple[list[int], int]:
    """The levels around a picture and the number around its mask, which `fill` may tell apart."""
    given = transform._fill
    picture = v1.levels_of(of_kind(given, chain.kind, None), transform, chain)
    number = of_kind(given, MASK, None) if chain.mask is not None else 0
    if transform.padding_mode != "constant" or number is None:
        number = 0
    if not isinstance(number, (int, float)) or number != int(number) or not 0 <= number <= 255:
        raise NotLifted(f"{short_name(transform)} fills masks with {number!r}, which is no byte")
    return picture, int(number)


def random_crop(transform: Any, chain: Chain) -> None:
    """RandomCrop, which pads once and keeps its padding as left, right, top, bottom."""
    left, right, top, bottom = transform.padding or (0, 0, 0, 0)
    v1.add_random_crop(transform, [left, top, right, bottom], chain, *fills_of(transform, chain))


def pad(transform: Any, chain: Chain) -> None:
    """Pad."""
    v1.add_pad(transform, chain, *fills_of(transform, chain))


def to_image(transform: Any, chain: Chain) -> None:
    """ToImage."""
    if chain.form is Form.FLOATS:
        raise NotLifted("ToImage runs on a tensor of floats here")
    if chain.form is Form.PICTURE:
        chain.to_tensor(Form.BYTES, "none", transform)


def to_dtype(transform: Any, chain: Chain) -> None:
    """ToDtype, which multiplies where the first API divides."""
    scale, dtype = "multiply" if transform.scale else "none", transform.dtype
    if not isinstance(dtype, dict):
        if not str(dtype).startswith("torch."):
            raise NotLifted(f"ToDtype has the dtype {dtype!r}")
        return v1.to_floats(transform, chain, scale, dtype)
    mask_dtype = None
    if chain.mask is not None and chain.mask.moves:
        mask_dtype = of_kind(dtype, MASK, _MISSING)
    picture_dtype = of_kind(dtype, chain.kind, _MISSING)
    if _MISSING in (mask_dtype, picture_dtype):
        raise NotLifted(f"ToDtype has no dtype for a mask or for {chain.form.value}")
    if chain.mask is not None and mask_dtype is not None:
        name = str(mask_dtype).removeprefix("torch.")
        if name not in ("uint8", "int32", "int64"):
            raise NotLifted(f"ToDtype converts masks to {mask_dtype}")
        chain.mask.dtype = name
    if picture_dtype is not None:
        v1.to_floats(transform, chain, scale, picture_dtype)
    return None


def convert_image_dtype(transform: Any, chain: Chain) -> None:
    """ConvertImageDtype, which multiplies where the first API divides."""
    v1.to_floats(transform, chain, "multiply", transform.dtype)


def nothing(_transform: Any, _chain: Chain) -> None:
    """Changes neither values nor form."""


def to_pure_tensor(transform: Any, chain: Chain) -> None:
    """ToPureTensor."""
    if chain.form is Form.PICTURE:
        raise NotLifted("ToPureTensor runs on a Pillow picture here")
    chain.kind = "torch.Tensor"
    chain.numeric.append(transform)
    if chain.mask is not None:
        chain.mask.moves = False


def rgb(_transform: Any, chain: Chain) -> None:
    """RGB."""
    if chain.channels != 3:
        raise NotLifted("RGB runs on a gray picture here")


_HOME = "torchvision.transforms.v2."
_MISSING = "missing"

TABLE: dict[str, Recogniser] = {
    _HOME + name: v1.checked(recogniser)
    for name, recogniser in {
        "_geometry.RandomResizedCrop": v1.random_resized_crop,
        "_geometry.Resize": v1.resize,
        "_geometry.CenterCrop": v1.center_crop,
        "_geometry.RandomCrop": random_crop,
        "_geometry.RandomResize": random_resize,
        "_geometry.Pad": pad,
        "_geometry.RandomHorizontalFlip": v1.horizontal_flip,
        "_geometry.RandomVerticalFlip": v1.vertical_flip,
        "_color.ColorJitter": v1.color_jitter,
        "_color.Grayscale": v1.grayscale,
        "_color.RandomGrayscale": v1.random_grayscale,
        "_color.RGB": rgb,
        "_deprecated.ToTensor": v1.to_tensor,
        "_type_conversion.PILToTensor": v1.pil_to_tensor,
        "_type_conversion.ToImage": to_image,
        "_type_conversion.ToPureTensor": to_pure_tensor,
        "_misc.ToDtype": to_dtype,
        "_misc.ConvertImageDtype": convert_image_dtype,
        "_misc.Normalize": v1.normalize,
        "_misc.Identity": nothing,
        "_augment.RandomErasing": v1.random_erasing,
    }.items()
}

CONTAINERS = {
    _HOME + "_container.Compose": v1.members,
    _HOME + "_container.RandomApply": v1.random_apply,
}
