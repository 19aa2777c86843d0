"""Calls on pictures for random sequences: those of torchvision's two interfaces."""

from __future__ import annotations

import random
from typing import Any

import torch

from python.tests.picture_steps import Step


def torchvision_steps(
    functional: Any, transforms: Any, extra: list[Step]
) -> list[tuple[int, Step]]:
    """The calls of one of torchvision's two interfaces."""
    bilinear = transforms.InterpolationMode.BILINEAR
    bicubic = transforms.InterpolationMode.BICUBIC

    def resized_crop(rng: random.Random, image: Any) -> Any:
        height, width = rng.randint(1, image.height), rng.randint(1, image.width)
        top, left = rng.randint(0, image.height - height), rng.randint(0, image.width - width)
        size = [rng.randint(1, 90), rng.randint(1, 90)]
        how = rng.choice([bilinear, bicubic])
        return functional.resized_crop(image, top, left, height, width, size, how)

    def crop_and_flip(rng: random.Random, image: Any) -> Any:
        torch.manual_seed(rng.getrandbits(32))
        crop = transforms.RandomResizedCrop(rng.randint(1, 70))(image)
        return transforms.RandomHorizontalFlip()(crop)

    return [
        (5, resized_crop),
        (5, crop_and_flip),
        (2, lambda rng, image: functional.resize(image, rng.randint(1, 90))),
        (2, lambda rng, image: functional.center_crop(image, [rng.randint(1, 80)] * 2)),
        (2, lambda rng, image: functional.crop(image, rng.randint(-2, 9), 2, 20, 30)),
        (3, lambda _, image: functional.hflip(image)),
        (1, lambda _, image: functional.vflip(image)),
        (2, lambda _, image: functional.pil_to_tensor(image)),
        (1, lambda rng, image: functional.pad(image, rng.randint(0, 4))),
        (1, lambda rng, image: functional.adjust_brightness(image, rng.random())),
        (1, lambda rng, image: functional.rotate(image, rng.choice([0.0, 90.0, 31.0]))),
        *[(3, step) for step in extra],
    ]


def normalized(transforms: Any, to_floats: Step) -> Step:
    """A picture as floats, normalised by numbers of all kinds."""

    def step(rng: random.Random, image: Any) -> Any:
        floats = to_floats(rng, image)
        count = rng.choice([1, 3, 3, floats.shape[0], floats.shape[0]])
        mean, std = ([rng.uniform(-1, 1) for _ in range(count)] for _ in "ab")
        if rng.random() < 0.2:
            std[0] = rng.choice([0.0, 1e-50, float("nan"), 2, -1.0])
        options = {"inplace": True} if rng.random() < 0.2 else {}
        kind = rng.choice([list, list, tuple, torch.tensor])
        normalize = transforms.Normalize(mean, std, **options)
        if kind is not list:
            normalize.mean, normalize.std = kind(mean), kind(std)
        tensor = normalize(floats)
        return tensor, floats, type(tensor).__name__

    return step


def of_bytes(v2: Any) -> Step:
    """The second interface on a picture that is a tensor of bytes, however that lies."""
    modes = v2.InterpolationMode
    kinds = [*[modes.BILINEAR] * 5, *[modes.BICUBIC] * 3, modes.NEAREST, "bilinear"]

    def step(rng: random.Random, image: Any) -> Any:
        torch.manual_seed(rng.getrandbits(32))
        pixels = v2.functional.to_image(image)
        pixels = pixels.contiguous() if rng.random() < 0.4 else pixels
        pixels = v2.functional.crop(pixels, *(rng.randint(0, 4) for _ in "ab"), 30, 40)
        lies = rng.choice([0, 0, 0, 0, 1, 2, 3, 4])
        if lies == 1:
            pixels = torch.stack([pixels, pixels])
        elif lies == 2:
            pixels = pixels.expand(3, 3, -1, -1)[1]
        elif lies == 3:
            pixels = pixels[:, ::2, 1::2]
        elif lies == 4:
            pixels = v2.functional.to_dtype(pixels, torch.float32)
        options = {
            "interpolation": rng.choice(kinds),
            "antialias": rng.choice([*[True] * 5, False]),
        }
        size = rng.choice([[rng.randint(1, 60), rng.randint(1, 60)], rng.randint(1, 50), [7]])
        if rng.random() < 0.5:
            picture = v2.functional.resize(pixels, size, **options)
        else:
            picture = v2.RandomResizedCrop(size, **options)(pixels)
        return picture, type(picture).__name__, pixels

    return step


def composed(v2: Any) -> Step:
    """The transforms that make numbers of a picture, together, with others before and behind."""

    def step(rng: random.Random, image: Any) -> Any:
        torch.manual_seed(rng.getrandbits(32))
        scale = rng.choice([True, True, True, False, 1])
        dtype = rng.choice([torch.float32, torch.float32, torch.float32, torch.float64])
        count = rng.choice([3, 3, 3, 1])
        mean, std = ([rng.uniform(0.1, 1) for _ in range(count)] for _ in "ab")
        normalize = v2.Normalize(mean, std, inplace=rng.random() < 0.2)
        three = [v2.ToImage(), v2.ToDtype(dtype, scale=scale), normalize]
        before = [v2.RandomResizedCrop(rng.randint(1, 40)), v2.RandomHorizontalFlip()]
        behind = [v2.RandomErasing(), v2.ToPureTensor()]
        parts = [*before[: rng.randint(0, 2)], *three, *behind[: rng.randint(0, 2)]]
        if rng.random() < 0.1:
            rng.shuffle(parts)
        given = (image, 3) if rng.random() < 0.1 else (image,)
        output = v2.Compose(parts)(*given)
        return type(output).__name__, output, getattr(output, "requires_grad", None)

    return step


def composed_first(v1: Any) -> Step:
    """The same of the first interface."""

    def step(rng: random.Random, image: Any) -> Any:
        torch.manual_seed(rng.getrandbits(32))
        count = rng.choice([3, 3, 3, 1])
        mean, std = ([rng.uniform(0.1, 1) for _ in range(count)] for _ in "ab")
        both = [v1.ToTensor(), v1.Normalize(mean, std, inplace=rng.random() < 0.2)]
        before = [v1.RandomResizedCrop(rng.randint(1, 40)), v1.RandomHorizontalFlip()]
        parts = [*before[: rng.randint(0, 2)], *both, *[v1.RandomErasing()][: rng.randint(0, 1)]]
        if rng.random() < 0.1:
            rng.shuffle(parts)
        compose = v1.Compose(parts if rng.random() < 0.9 else tuple(parts))
        output = compose(img=image) if rng.random() < 0.1 else compose(image)
        return type(output).__name__, output

    return step
