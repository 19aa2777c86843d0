"""torchvision.transforms: the first API, and what the second one shares with it.

Arguments keep their attribute names in both, so most recognisers serve both.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

from drapps import ops
from drapps.torch.chain import Chain, Form, Recogniser
from drapps.torch.recognise import NotLifted, name_of, number, numbers, require_pristine, short_name
from drapps.torch.tensor_resize import tensor_arithmetic

METHODS = ("__call__", "forward", "get_params", "make_params", "transform", "_call_kernel")
INTERPOLATIONS = ("bilinear", "bicubic")


def interpolation_of(transform: Any) -> str:
    """The name of torchvision's InterpolationMode."""
    name = str(getattr(transform.interpolation, "value", transform.interpolation))
    if name not in INTERPOLATIONS:
        raise NotLifted(f"{short_name(transform)} resizes by {name}, which has no native form")
    return name


def fill_of(transform: Any, chain: Chain) -> list[int]:
    """The levels of a constant border."""
    return levels_of(transform.fill, transform, chain)


def levels_of(fill: Any, transform: Any, chain: Chain) -> list[int]:
    """The levels that `fill`, an argument of `transform`, asks for."""
    if fill is None:
        return [0]
    if chain.form is not Form.PICTURE and not isinstance(fill, (int, float)):
        first_api = name_of(transform).startswith(_HOME)
        if first_api or (len(fill) > 1 and transform.padding_mode != "constant"):
            raise NotLifted(f"{short_name(transform)} cannot fill {chain.form.value} with {fill!r}")
    if not isinstance(fill, (int, float, list, tuple)):
        raise NotLifted(f"{short_name(transform)} fills with {fill!r}")
    levels = [fill] if isinstance(fill, (int, float)) else list(fill)
    if any(level != int(level) or not 0 <= level <= 255 for level in levels):
        raise NotLifted(f"{short_name(transform)} fills with {fill!r}, which are no byte values")
    return [int(level) for level in levels]


def plain_size(size: Any) -> Any:
    """A size as plain numbers."""
    return size if size is None or isinstance(size, int) else [int(side) for side in size]


def ratio_of(transform: Any) -> list[float]:
    """The ratios of a RandomResizedCrop.

    Raises:
        NotLifted: of a narrow picture they leave no pixel, and a native crop has one at least.
    """
    ratio = numbers(transform.ratio)
    if min(ratio) >= 2 or max(ratio) <= 0.5:
        raise NotLifted(f"{short_name(transform)} has the ratios {ratio}, far from a square")
    return ratio


def add_resize(make: Callable[..., ops.Op], transform: Any, chain: Chain) -> None:
    """Adds what `make` makes of how `transform` resizes, which for tensors is a way of torch's."""
    if chain.form is not Form.BYTES:
        chain.add(make(pass_order=chain.pass_order))
        return
    how = tensor_arithmetic(transform, interpolation_of(transform), chain.channels)
    chain.add_resize_of_bytes(make(arithmetic=how))


def random_resized_crop(transform: Any, chain: Chain) -> None:
    """RandomResizedCrop."""
    make = functools.partial(
        ops.random_resized_crop,
        plain_size(transform.size),
        numbers(transform.scale),
        ratio_of(transform),
        interpolation_of(transform),
    )
    add_resize(make, transform, chain)


def resize(transform: Any, chain: Chain) -> None:
    """Resize."""
    size = plain_size(transform.size)
    make = functools.partial(ops.resize, size, transform.max_size, interpolation_of(transform))
    add_resize(make, transform, chain)


def center_crop(transform: Any, chain: Chain) -> None:
    """CenterCrop."""
    chain.add_crop(ops.center_crop(plain_size(transform.size)), around=[0])


def random_crop(transform: Any, chain: Chain) -> None:
    """RandomCrop, which pads a second time where pad_if_needed finds a side too short."""
    padding = 0 if transform.padding is None else plain_size(transform.padding)
    if padding and transform.pad_if_needed and transform.padding_mode in ("reflect", "symmetric"):
        raise NotLifted("RandomCrop pads twice by mirroring, which has no native form")
    add_random_crop(transform, padding, chain, fill_of(transform, chain))


def add_random_crop(
    transform: Any, padding: Any, chain: Chain, fill: list[int], mask_fill: int = 0
) -> None:
    """RandomCrop with its padding as `drapps.ops.borders` takes it."""
    mode, more = str(transform.padding_mode), transform.pad_if_needed
    pads = more or any(ops.borders(padding))
    op = ops.random_crop(plain_size(transform.size), padding, more, fill, mode, mask_fill)
    chain.add_crop(op, around=fill if pads and mode == "constant" else [])


def pad(transform: Any, chain: Chain) -> None:
    """Pad."""
    add_pad(transform, chain, fill_of(transform, chain))


def add_pad(transform: Any, chain: Chain, fill: list[int], mask_fill: int = 0) -> None:
    """Pad with the levels of its border."""
    mode = str(transform.padding_mode)
    op = ops.pad(plain_size(transform.padding), fill, mode, mask_fill)
    chain.add_crop(op, around=fill if mode == "constant" else [])


def horizontal_flip(transform: Any, chain: Chain) -> None:
    """RandomHorizontalFlip."""
    chain.add_move(ops.horizontal_flip(number(transform.p)))


def vertical_flip(transform: Any, chain: Chain) -> None:
    """RandomVerticalFlip."""
    chain.add_move(ops.vertical_flip(number(transform.p)))


def color_jitter(transform: Any, chain: Chain) -> None:
    """ColorJitter."""

    def span(value: Any, neutral: float) -> list[float]:
        return [neutral, neutral] if value is None else numbers(value)

    chain.add(
        ops.color_jitter(
            span(transform.brightness, 1.0),
            span(transform.contrast, 1.0),
            span(transform.saturation, 1.0),
            span(transform.hue, 0.0),
        )
    )


def grayscale(transform: Any, chain: Chain) -> None:
    """Grayscale."""
    chain.add(ops.grayscale(transform.num_output_channels))
    chain.channels = int(transform.num_output_channels)


def random_grayscale(transform: Any, chain: Chain) -> None:
    """RandomGrayscale."""
    chain.add(ops.random_grayscale(number(transform.p)))


def to_tensor(transform: Any, chain: Chain) -> None:
    """ToTensor."""
    if chain.form is Form.PICTURE:
        chain.to_tensor(Form.FLOATS, "divide", transform)
    else:
        raise NotLifted(f"{short_name(transform)} runs on {chain.form.value} here")


def pil_to_tensor(transform: Any, chain: Chain) -> None:
    """PILToTensor."""
    if chain.form is not Form.PICTURE:
        raise NotLifted(f"{short_name(transform)} runs on {chain.form.value} here")
    chain.to_tensor(Form.BYTES, "none", transform)


def convert_image_dtype(transform: Any, chain: Chain) -> None:
    """ConvertImageDtype."""
    to_floats(transform, chain, "divide", transform.dtype)


def to_floats(transform: Any, chain: Chain, scale: str, to: Any) -> None:
    """A conversion of tensors to a dtype; one to what they are already does nothing."""
    dtype = str(to)
    if chain.form is Form.PICTURE:
        raise NotLifted(f"{short_name(transform)} runs on a Pillow picture here")
    if dtype == {Form.BYTES: "torch.uint8", Form.FLOATS: "torch.float32"}[chain.form]:
        return
    if dtype != "torch.float32":
        raise NotLifted(f"{short_name(transform)} converts {chain.form.value} to {dtype}")
    chain.to_tensor(Form.FLOATS, scale, transform)


def normalize(transform: Any, chain: Chain) -> None:
    """Normalize."""
    chain.normalize(numbers(transform.mean), numbers(transform.std), transform)


def random_erasing(transform: Any, chain: Chain) -> None:
    """RandomErasing; random values are one normal deviate per channel and pixel."""
    value = transform.value
    if value is None or value == "random":
        mode, values = "normal_per_pixel", [0.0]
    elif isinstance(value, str):
        raise NotLifted(f"RandomErasing has the value {value!r}")
    else:
        mode, values = "constant", numbers(value)
    scale, ratio = numbers(transform.scale), numbers(transform.ratio)
    chain.add_erasing(ops.random_erasing(number(transform.p), scale, ratio, mode, values))


def checked(recogniser: Recogniser) -> Recogniser:
    """The recogniser, for objects whose behaviour was not replaced."""

    def run(transform: Any, chain: Chain) -> None:
        require_pristine(transform, METHODS)
        recogniser(transform, chain)

    return run


_HOME = "torchvision.transforms.transforms."

TABLE: dict[str, Recogniser] = {
    _HOME + name: checked(recogniser)
    for name, recogniser in {
        "RandomResizedCrop": random_resized_crop,
        "Resize": resize,
        "CenterCrop": center_crop,
        "RandomCrop": random_crop,
        "Pad": pad,
        "RandomHorizontalFlip": horizontal_flip,
        "RandomVerticalFlip": vertical_flip,
        "ColorJitter": color_jitter,
        "Grayscale": grayscale,
        "RandomGrayscale": random_grayscale,
        "ToTensor": to_tensor,
        "PILToTensor": pil_to_tensor,
        "ConvertImageDtype": convert_image_dtype,
        "Normalize": normalize,
        "RandomErasing": random_erasing,
    }.items()
}


def members(container: Any, _chain: Chain) -> list[object]:
    """The transforms of a Compose or a Sequential, in order."""
    require_pristine(container, METHODS)
    return list(getattr(container, "transforms", container))


def random_apply(container: Any, chain: Chain) -> Iterator[object]:
    """The transforms of a RandomApply, in order."""
    require_pristine(container, METHODS)
    with chain.sometimes(container, number(container.p)):
        yield from container.transforms


CONTAINERS = {
    _HOME + "Compose": members,
    _HOME + "RandomApply": random_apply,
    "torch.nn.modules.container.Sequential": members,
}
