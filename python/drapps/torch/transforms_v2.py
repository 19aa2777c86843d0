"""torchvision.transforms.v2, on Pillow pictures and tensors: what differs from the first API."""

from __future__ import annotations

from typing import Any

from drapps.torch import transforms_v1 as v1
from drapps.torch.chain import Chain, Form, Recogniser
from drapps.torch.recognise import NotLifted
from drapps.torch.tensor_resize import tensor_arithmetic


def random_resized_crop(transform: Any, chain: Chain) -> None:
    """RandomResizedCrop, which has integer arithmetic of torch's own on tensors of bytes."""
    if chain.form is not Form.BYTES:
        return v1.random_resized_crop(transform, chain)
    how = tensor_arithmetic(transform, v1.interpolation_of(transform), chain.channels)
    return chain.add_resize_of_bytes(v1.random_resized_crop_op(transform, arithmetic=how))


def resize(transform: Any, chain: Chain) -> None:
    """Resize, likewise."""
    if chain.form is not Form.BYTES:
        return v1.resize(transform, chain)
    how = tensor_arithmetic(transform, v1.interpolation_of(transform), chain.channels)
    return chain.add_resize_of_bytes(v1.resize_op(transform, arithmetic=how))


def random_crop(transform: Any, chain: Chain) -> None:
    """RandomCrop, which pads once and keeps its padding as left, right, top, bottom."""
    left, right, top, bottom = transform.padding or (0, 0, 0, 0)
    v1.add_random_crop(transform, [left, top, right, bottom], chain)


def to_image(transform: Any, chain: Chain) -> None:
    """ToImage."""
    if chain.form is Form.FLOATS:
        raise NotLifted("ToImage runs on a tensor of floats here")
    if chain.form is Form.PICTURE:
        chain.to_tensor(Form.BYTES, "none", transform)


def to_dtype(transform: Any, chain: Chain) -> None:
    """ToDtype, which multiplies where the first API divides."""
    if not str(transform.dtype).startswith("torch."):
        raise NotLifted(f"ToDtype has the dtype {transform.dtype!r}")
    v1.to_floats(transform, chain, "multiply" if transform.scale else "none")


def convert_image_dtype(transform: Any, chain: Chain) -> None:
    """ConvertImageDtype, likewise."""
    v1.to_floats(transform, chain, "multiply")


def nothing(_transform: Any, _chain: Chain) -> None:
    """Changes neither values nor form."""


def to_pure_tensor(_transform: Any, chain: Chain) -> None:
    """ToPureTensor."""
    if chain.form is Form.PICTURE:
        raise NotLifted("ToPureTensor runs on a Pillow picture here")


def rgb(_transform: Any, chain: Chain) -> None:
    """RGB."""
    if chain.channels != 3:
        raise NotLifted("RGB runs on a gray picture here")


_HOME = "torchvision.transforms.v2."

TABLE: dict[str, Recogniser] = {
    _HOME + name: v1.checked(recogniser)
    for name, recogniser in {
        "_geometry.RandomResizedCrop": random_resized_crop,
        "_geometry.Resize": resize,
        "_geometry.CenterCrop": v1.center_crop,
        "_geometry.RandomCrop": random_crop,
        "_geometry.Pad": v1.pad,
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

CONTAINERS = {_HOME + "_container.Compose": v1.members}
