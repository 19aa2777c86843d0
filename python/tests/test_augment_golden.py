"""Every op gives the bytes of Pillow and torchvision for the parameters it drew."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
import numpy.typing as npt
import PIL
import pytest
from PIL import Image, ImageOps

from drapps import _core, ops

Pixels = npt.NDArray[np.uint8]

ORDER = "pillow13" if int(PIL.__version__.split(".")[0]) >= 13 else "horizontal_first"
RESAMPLING = {
    "nearest": Image.Resampling.NEAREST,
    "bilinear": Image.Resampling.BILINEAR,
    "bicubic": Image.Resampling.BICUBIC,
}
SIZES = [(61, 83), (375, 500), (83, 61), (7, 5), (1, 1), (2, 97), (224, 224)]
augment: Any = _core.augment


def noise(height: int, width: int, channels: int = 3, seed: int = 0) -> Pixels:
    """Random uint8 pixels (height, width, channels), with flat patches in them."""
    generator = np.random.default_rng(seed)
    pixels = generator.integers(0, 256, (height, width, channels), np.uint8)
    pixels[: height // 3, : width // 2] = 255
    return pixels


def to_pil(pixels: Pixels) -> Image.Image:
    return Image.fromarray(pixels[:, :, 0] if pixels.shape[2] == 1 else pixels)


def from_pil(image: Image.Image) -> Pixels:
    array = np.asarray(image)
    return array[:, :, None] if array.ndim == 2 else array


def run(record: dict[str, Any], pixels: Pixels, position: int) -> dict[str, Any]:
    result: dict[str, Any] = augment.run(record, pixels, seed=5, epoch=1, position=position)
    return result


def cut(pixels: Pixels, region: tuple[int, int, int, int]) -> Image.Image:
    top, left, height, width = region
    return to_pil(pixels).crop((left, top, left + width, top + height))


@pytest.mark.parametrize("interpolation", sorted(RESAMPLING))
@pytest.mark.parametrize("channels", [1, 3])
def test_random_resized_crop_is_pillows_crop_and_resize(interpolation: str, channels: int) -> None:
    for position in range(60):
        pixels = noise(*SIZES[position % len(SIZES)], channels, position)
        for height, width in [(224, 224), (31, 56)]:
            op = ops.random_resized_crop(
                (height, width), interpolation=interpolation, pass_order=ORDER
            )
            result = run(op, pixels, position)
            expected = cut(pixels, result["region"]).resize(
                (width, height), RESAMPLING[interpolation]
            )
            np.testing.assert_array_equal(result["pixels"], from_pil(expected))


def test_random_interpolation_is_either_filter() -> None:
    pixels = noise(61, 83)
    used: Counter[str] = Counter()
    for position in range(200):
        op = ops.random_resized_crop(40, interpolation="random", pass_order=ORDER)
        result = run(op, pixels, position)
        region = cut(pixels, result["region"])
        used.update(
            name
            for name in ("bilinear", "bicubic")
            if np.array_equal(result["pixels"], from_pil(region.resize((40, 40), RESAMPLING[name])))
        )
    assert sum(used.values()) == 200
    assert 70 < used["bilinear"] < 130


@pytest.mark.parametrize("interpolation", sorted(RESAMPLING))
def test_resize_is_torchvisions(torchvision: Any, interpolation: str) -> None:
    functional = torchvision.transforms.functional
    mode = functional.InterpolationMode(interpolation)
    targets: list[tuple[Any, int | None]] = [
        ((31, 56), None),
        (40, None),
        (40, 50),
        ((200, 9), None),
    ]
    for seed, size in enumerate(SIZES):
        pixels = noise(*size, seed=seed)
        for target, longest in targets:
            op = ops.resize(target, longest, interpolation, ORDER)
            try:
                expected = functional.resize(to_pil(pixels), target, mode, longest)
            except ValueError:  # no pixel would be left along one side
                with pytest.raises(ValueError, match="would become"):
                    run(op, pixels, 0)
                continue
            np.testing.assert_array_equal(run(op, pixels, 0)["pixels"], from_pil(expected))


def test_center_crop_is_torchvisions(torchvision: Any) -> None:
    functional = torchvision.transforms.functional
    for seed, size in enumerate(SIZES):
        pixels = noise(*size, seed=seed)
        for target in [(224, 224), (5, 6), (90, 31), (4, 300)]:
            expected = functional.center_crop(to_pil(pixels), target)
            result = run(ops.center_crop(target), pixels, 0)
            np.testing.assert_array_equal(result["pixels"], from_pil(expected))


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "symmetric"])
def test_pad_is_torchvisions(torchvision: Any, mode: str) -> None:
    functional = torchvision.transforms.functional
    for seed, size in enumerate(SIZES):
        pixels = noise(*size, seed=seed)
        for border in [[3, 4, 5, 6], [0, 0, 9, 0], [100, 2, 0, 150]]:
            expected = functional.pad(to_pil(pixels), border, (9, 8, 7), mode)
            result = run(ops.pad(border, (9, 8, 7), mode), pixels, 0)
            np.testing.assert_array_equal(result["pixels"], from_pil(expected))


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "symmetric"])
def test_random_crop_is_a_part_of_the_padded_picture(mode: str) -> None:
    pixels = noise(20, 30)
    kind = {"constant_values": 7} if mode == "constant" else {}
    padded = np.pad(pixels, ((4, 4), (4, 4), (0, 0)), mode=mode, **kind)  # type: ignore[call-overload]
    op = ops.random_crop(26, 4, fill=7, mode=mode)
    places: Counter[tuple[int, int]] = Counter()
    windows = np.lib.stride_tricks.sliding_window_view(padded, (26, 26), (0, 1))
    for position in range(300):
        crop = run(op, pixels, position)["pixels"].transpose(2, 0, 1)
        matches = np.argwhere((windows == crop).all(axis=(2, 3, 4)))
        assert len(matches) >= 1
        places[(int(matches[0][0]), int(matches[0][1]))] += 1
    assert len(places) == 3 * 13  # every place came up


@pytest.mark.parametrize(
    ("op", "mirror"),
    [(ops.horizontal_flip(0.5), ImageOps.mirror), (ops.vertical_flip(0.5), ImageOps.flip)],
    ids=["horizontal", "vertical"],
)
def test_flips_are_pillows(op: dict[str, Any], mirror: Any) -> None:
    pixels = noise(19, 131)
    mirrored = from_pil(mirror(to_pil(pixels)))
    flips = 0
    for position in range(200):
        image = run(op, pixels, position)["pixels"]
        flipped = np.array_equal(image, mirrored)
        assert flipped or np.array_equal(image, pixels)
        flips += flipped
    assert 70 < flips < 130


@pytest.mark.parametrize("channels", [1, 3])
def test_color_jitter_is_torchvisions_on_pillow_images(torchvision: Any, channels: int) -> None:
    functional = torchvision.transforms.functional
    op = ops.color_jitter(0.4, 0.4, (0.0, 3.0), 0.5)
    for position in range(60):
        pixels = noise(33, 47, channels, position)
        result = run(op, pixels, position)
        expected = to_pil(pixels)
        for name, factor in result["factors"]:
            expected = getattr(functional, f"adjust_{name}")(expected, factor)
        np.testing.assert_array_equal(result["pixels"], from_pil(expected))


def test_grayscale_is_pillows() -> None:
    pixels = noise(33, 47)
    luma = np.asarray(to_pil(pixels).convert("L"))[:, :, None]
    np.testing.assert_array_equal(run(ops.grayscale(1), pixels, 0)["pixels"], luma)
    thrice = np.repeat(luma, 3, axis=2)
    np.testing.assert_array_equal(run(ops.grayscale(3), pixels, 0)["pixels"], thrice)
    images = [run(ops.random_grayscale(0.5), pixels, position)["pixels"] for position in range(100)]
    grays = sum(np.array_equal(one, thrice) for one in images)
    assert grays + sum(np.array_equal(one, pixels) for one in images) == 100
    assert 25 < grays < 75


def test_random_resized_crop_draws_torchvisions_distribution(torchvision: Any) -> None:
    torch = pytest.importorskip("torch")
    transforms = torchvision.transforms
    pixels = noise(60, 90)
    count = 3000
    ours = np.array(
        [run(ops.random_resized_crop(1), pixels, position)["region"] for position in range(count)]
    )
    torch.manual_seed(0)
    image = torch.zeros(3, 60, 90)
    theirs = np.array(
        [
            transforms.RandomResizedCrop.get_params(image, [0.08, 1.0], [3 / 4, 4 / 3])
            for _ in range(count)
        ]
    )
    for column in range(4):
        both = np.sort(np.unique(np.concatenate([ours[:, column], theirs[:, column]])))
        steps = [
            np.searchsorted(np.sort(drawn[:, column]), both, side="right") / count
            for drawn in (ours, theirs)
        ]
        # Two-sample Kolmogorov-Smirnov at 0.1 %.
        assert np.abs(steps[0] - steps[1]).max() < 1.95 * math.sqrt(2 / count)


def test_random_erasing_draws_rectangles_within_the_picture() -> None:
    pixels = noise(50, 40)
    results = [
        run(ops.random_erasing(0.5, count=(1, 3)), pixels, position) for position in range(400)
    ]
    counts = Counter(len(result["erasures"]) for result in results)
    assert 150 < counts[0] < 250
    assert all(counts[number] > 30 for number in (1, 2, 3))
    for result in results:
        np.testing.assert_array_equal(result["pixels"], pixels)
        for top, left, height, width in result["erasures"]:
            assert 0 <= top < top + height <= 50
            assert 0 <= left < left + width <= 40


def test_a_bad_record_is_refused_by_name() -> None:
    pixels = noise(5, 5)
    cases: list[tuple[dict[str, Any], str]] = [
        ({"op": "swirl"}, "no op is called 'swirl'"),
        ({"op": "pad", "middle": 3}, "pad does not have all"),
        ({"op": "pad", "mode": "mirror"}, "mode cannot be 'mirror'"),
        ({"op": "horizontal_flip", "p": 2.0}, "p is 2"),
    ]
    for record, message in cases:
        with pytest.raises(ValueError, match=message):
            run(record, pixels, 0)
