"""What timm's ``create_transform`` adds to torchvision's transforms."""

from __future__ import annotations

import math
from typing import Any

from drapps import ops
from drapps.torch import transforms_v1 as v1
from drapps.torch.chain import Chain, Form, Recogniser
from drapps.torch.recognise import NotLifted, number, numbers, short_name


def interpolation_of(transform: Any) -> str:
    """One interpolation, or both at random."""
    if not isinstance(transform.interpolation, (list, tuple)):
        return v1.interpolation_of(transform)
    names = sorted(str(getattr(mode, "value", mode)) for mode in transform.interpolation)
    if names != ["bicubic", "bilinear"]:
        raise NotLifted(f"{short_name(transform)} chooses among {names}")
    return "random"


def random_resized_crop(transform: Any, chain: Chain) -> None:
    """RandomResizedCropAndInterpolation."""
    chain.add(
        ops.random_resized_crop(
            v1.plain_size(transform.size),
            numbers(transform.scale),
            v1.ratio_of(transform),
            interpolation_of(transform),
            chain.pass_order,
        )
    )


def resize_keep_ratio(transform: Any, chain: Chain) -> None:
    """ResizeKeepRatio."""
    chain.add(
        ops.resize_keep_ratio(
            v1.plain_size(transform.size),
            number(transform.longest),
            interpolation_of(transform),
            chain.pass_order,
            number(transform.random_scale_prob),
            numbers(transform.random_scale_range),
            transform.random_scale_area,
            number(transform.random_aspect_prob),
            numbers(transform.random_aspect_range),
        )
    )


def center_crop_or_pad(transform: Any, chain: Chain) -> None:
    """CenterCropOrPad, of pictures."""
    if chain.form is not Form.PICTURE:
        raise NotLifted(f"CenterCropOrPad runs on {chain.form.value} here")
    size, fill = v1.plain_size(transform.size), v1.fill_of(transform, chain)
    chain.add(ops.center_crop(size, fill, str(transform.padding_mode)))


def maybe_to_tensor(transform: Any, chain: Chain) -> None:
    """MaybeToTensor."""
    if chain.form is Form.PICTURE:
        v1.to_tensor(transform, chain)


def maybe_pil_to_tensor(transform: Any, chain: Chain) -> None:
    """MaybePILToTensor."""
    if chain.form is Form.PICTURE:
        v1.pil_to_tensor(transform, chain)


def random_erasing(transform: Any, chain: Chain) -> None:
    """RandomErasing, whose rectangles share the drawn area."""
    modes = {"const": "constant", "": "constant", "rand": "normal_per_channel"}
    mode = modes.get(transform.mode, "normal_per_pixel")
    chain.add_erasing(
        ops.random_erasing(
            number(transform.probability),
            [number(transform.min_area), number(transform.max_area)],
            [math.exp(bound) for bound in numbers(transform.log_aspect_ratio)],
            mode,
            0.0,
            [int(transform.min_count), int(transform.max_count)],
        )
    )


TABLE: dict[str, Recogniser] = {
    "timm.data." + name: v1.checked(recogniser)
    for name, recogniser in {
        "transforms.RandomResizedCropAndInterpolation": random_resized_crop,
        "transforms.ResizeKeepRatio": resize_keep_ratio,
        "transforms.CenterCropOrPad": center_crop_or_pad,
        "transforms.MaybeToTensor": maybe_to_tensor,
        "transforms.MaybePILToTensor": maybe_pil_to_tensor,
        "random_erasing.RandomErasing": random_erasing,
    }.items()
}
