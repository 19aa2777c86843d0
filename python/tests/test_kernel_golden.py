"""The kernels give the bytes of the installed Pillow, torch and numpy, at every SIMD level."""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import PIL
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from PIL import Image, ImageEnhance

from drapps import _core
from python.tests.cells import some_full

kernel: Any = vars(_core)["kernel"]
LEVELS: list[str] = kernel.levels()
ORDER = "pillow13" if int(PIL.__version__.split(".")[0]) >= 13 else "horizontal"
FILTERS = {
    "bilinear": Image.Resampling.BILINEAR,
    "bicubic": Image.Resampling.BICUBIC,
    "nearest": Image.Resampling.NEAREST,
}

TORCH = ("torch_uint8", "torch_uint8_no_antialias")
GOLDEN = Path(__file__).parents[2] / "tests" / "golden" / "resize.json"

Pixels = npt.NDArray[np.uint8]


def noise(height: int, width: int, channels: int = 3, seed: int = 0) -> Pixels:
    """Random uint8 pixels (height, width, channels), with flat patches of 0 and 255 in them."""
    generator = np.random.default_rng(seed)
    pixels = generator.integers(0, 256, (height, width, channels), np.uint8)
    pixels[: height // 3, : width // 2] = 255
    pixels[height // 2 :, width // 3 : width // 2] = 0
    return pixels


def to_pil(pixels: Pixels) -> Image.Image:
    return Image.fromarray(pixels[:, :, 0] if pixels.shape[2] == 1 else pixels)


def from_pil(image: Image.Image) -> Pixels:
    array = np.asarray(image)
    return array[:, :, None] if array.ndim == 2 else array


sizes = st.one_of(st.integers(1, 24), st.integers(1, 700))


@settings(max_examples=150, deadline=None)
@given(sizes, sizes, sizes, sizes, st.sampled_from(sorted(FILTERS)), st.integers(0, 2**32 - 1))
def test_resize_gives_pillows_bytes(
    h: int, w: int, out_h: int, out_w: int, name: str, seed: int
) -> None:
    pixels = noise(h, w, 3, seed)
    expected = from_pil(to_pil(pixels).resize((out_w, out_h), FILTERS[name]))
    for level in LEVELS:
        np.testing.assert_array_equal(
            kernel.resize(pixels, out_h, out_w, name, ORDER, level), expected, err_msg=level
        )


@pytest.mark.parametrize("name", sorted(FILTERS))
def test_resize_gives_pillows_bytes_for_crops_of_photographs(name: str) -> None:
    generator = np.random.default_rng(3)
    for _ in range(40):
        h, w = (int(n) for n in generator.integers(60, 500, 2))
        pixels = noise(h, w, 3, h * w)
        expected = from_pil(to_pil(pixels).resize((224, 224), FILTERS[name]))
        for level in LEVELS:
            output = kernel.resize(pixels, 224, 224, name, ORDER, level)
            np.testing.assert_array_equal(output, expected, err_msg=f"{h} x {w}, {level}")


def torch_resize(
    pixels: Pixels, out_h: int, out_w: int, name: str, antialias: bool, planar: bool
) -> Pixels:
    """What torch makes of a tensor of bytes: interleaved, as torchvision's pictures are, or not."""
    torch = pytest.importorskip("torch")
    if torch.backends.cpu.get_cpu_capability() == "DEFAULT":
        pytest.skip("torch's path without AVX2 goes wrong where a picture is one pixel wide")
    tensor = torch.from_numpy(pixels).permute(2, 0, 1)[None]
    if planar and min(*pixels.shape[:2], out_h, out_w) > 1:  # below, torch goes wrong or asserts
        tensor = tensor.contiguous()
    resized = torch.nn.functional.interpolate(
        tensor, (out_h, out_w), mode=name, align_corners=False, antialias=antialias
    )
    output: Pixels = resized[0].permute(1, 2, 0).numpy()
    return output


@settings(max_examples=150, deadline=None)
@given(
    sizes,
    sizes,
    sizes,
    sizes,
    st.sampled_from([1, 3, 4]),
    st.sampled_from(["bilinear", "bicubic"]),
    st.booleans(),
    st.integers(0, 2**32 - 1),
)
def test_resize_gives_torchs_bytes(
    h: int, w: int, out_h: int, out_w: int, channels: int, name: str, planar: bool, seed: int
) -> None:
    pixels = noise(h, w, channels, seed)
    for arithmetic in TORCH:
        antialias = arithmetic == "torch_uint8"
        expected = torch_resize(pixels, out_h, out_w, name, antialias, planar)
        for level in LEVELS:
            output = kernel.resize(pixels, out_h, out_w, name, "horizontal", level, arithmetic)
            np.testing.assert_array_equal(output, expected, err_msg=f"{arithmetic} {level}")


@pytest.mark.parametrize("name", some_full(["bilinear", "bicubic"], "bilinear"))
def test_resize_gives_torchs_bytes_for_crops_of_photographs(name: str) -> None:
    generator = np.random.default_rng(4)
    for _ in range(300):
        h, w = (int(n) for n in generator.integers(20, 700, 2))
        pixels = noise(h, w, 3, h * w)
        expected = torch_resize(pixels, 224, 224, name, True, False)
        output = kernel.resize(pixels, 224, 224, name, "horizontal", LEVELS[-1], "torch_uint8")
        np.testing.assert_array_equal(output, expected, err_msg=f"{h} x {w}")


@settings(max_examples=150, deadline=None)
@given(
    sizes, sizes, sizes, sizes, st.sampled_from([1, 3]), st.booleans(), st.integers(0, 2**32 - 1)
)
@example(1200, 90, 37, 200, 3, False, 1)  # long taps down
@example(90, 1200, 200, 37, 3, True, 2)
def test_resize_of_floats_gives_torchs_bytes(
    h: int, w: int, out_h: int, out_w: int, channels: int, planar: bool, seed: int
) -> None:
    torch = pytest.importorskip("torch")
    if torch.backends.cpu.get_cpu_capability() == "DEFAULT":
        pytest.skip("torch fuses no products without AVX2")
    out_w = max(out_w, 2)  # of results one pixel wide, torch mixes no rows
    pixels = noise(h, w, channels, seed)
    tensor = torch.from_numpy(pixels).permute(2, 0, 1)[None]
    floats = (tensor.contiguous() if planar else tensor).float()
    resized = torch.nn.functional.interpolate(
        floats, (out_h, out_w), mode="bilinear", align_corners=False, antialias=True
    )
    expected = resized.round().to(torch.uint8)[0].permute(1, 2, 0).numpy()
    for level in LEVELS:
        output = kernel.resize(pixels, out_h, out_w, "bilinear", "horizontal", level, "torch_float")
        np.testing.assert_array_equal(output, expected, err_msg=level)


def golden_picture(height: int, width: int) -> Pixels:
    """The input of tests/golden/make_resize.py: uint8 (height, width, 3)."""
    i = np.arange(height * width * 3, dtype=np.uint64)
    mixed = (i * np.uint64(2654435761) + (i >> np.uint64(7)) * np.uint64(40503)) % np.uint64(2**32)
    pixels: Pixels = (mixed >> np.uint64(24)).astype(np.uint8)
    return pixels.reshape(height, width, 3)


@pytest.mark.parametrize("level", some_full(LEVELS, LEVELS[0], LEVELS[-1]))
@pytest.mark.parametrize("way", ["horizontal", "pillow13", *TORCH])
def test_all_arithmetics_give_the_stored_bytes(way: str, level: str) -> None:
    """Whichever Pillow and torch are installed: the hashes were stored under all."""
    golden = json.loads(GOLDEN.read_text())
    order, arithmetic = ("horizontal", way) if way in TORCH else (way, "pillow")
    for h, w, out_h, out_w, name, crc in golden[way]["cases"]:
        resized = kernel.resize(golden_picture(h, w), out_h, out_w, name, order, level, arithmetic)
        assert zlib.crc32(resized.tobytes()) == crc, (h, w, out_h, out_w, name)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("channels", [1, 4])
def test_resize_keeps_channels_apart(channels: int, level: str) -> None:
    pixels = noise(57, 91, channels)
    # Pillow premultiplies alpha, so the channels are resized there one by one.
    expected = np.concatenate(
        [
            from_pil(to_pil(pixels[:, :, c : c + 1]).resize((33, 40), Image.Resampling.BICUBIC))
            for c in range(channels)
        ],
        axis=2,
    )
    np.testing.assert_array_equal(kernel.resize(pixels, 40, 33, "bicubic", ORDER, level), expected)


factors = st.one_of(st.sampled_from([0.0, 1.0, 0.5, 1.5]), st.floats(0, 3))


@settings(max_examples=100, deadline=None)
@given(
    st.integers(1, 40), st.integers(1, 300), st.sampled_from([1, 3]), factors, st.integers(0, 99)
)
def test_enhancements_give_pillows_bytes(
    h: int, w: int, channels: int, factor: float, seed: int
) -> None:
    pixels = noise(h, w, channels, seed)
    image = to_pil(pixels)
    enhancers = {
        "brightness": ImageEnhance.Brightness,
        "contrast": ImageEnhance.Contrast,
        "saturation": ImageEnhance.Color,
    }
    for what, enhancer in enhancers.items():
        expected = from_pil(enhancer(image).enhance(factor))
        for level in LEVELS:
            np.testing.assert_array_equal(
                kernel.adjust(pixels, what, factor, level), expected, err_msg=f"{what} {level}"
            )


def pillow_hue(pixels: Pixels, shift: float) -> Pixels:
    """What torchvision's adjust_hue does to a PIL image."""
    h, s, v = to_pil(pixels).convert("HSV").split()
    turned = np.array(h, np.uint8)
    turned += np.int32(shift * 255).astype(np.uint8)
    return from_pil(Image.merge("HSV", (Image.fromarray(turned), s, v)).convert("RGB"))


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 40), st.integers(1, 300), st.floats(-0.5, 0.5), st.integers(0, 99))
def test_hue_gives_pillows_bytes(h: int, w: int, shift: float, seed: int) -> None:
    pixels = noise(h, w, 3, seed)
    for level in LEVELS:
        np.testing.assert_array_equal(
            kernel.adjust(pixels, "hue", shift, level), pillow_hue(pixels, shift), err_msg=level
        )


@pytest.mark.full
def test_hue_and_grey_give_pillows_bytes_for_every_colour() -> None:
    byte = np.arange(256, dtype=np.uint8)
    for red in byte:
        pixels = np.stack(np.broadcast_arrays(red, byte[:, None], byte[None, :]), axis=2)
        pixels = np.ascontiguousarray(pixels)
        shift = (int(red) - 128) / 256
        turned = pillow_hue(pixels, shift)
        grey = np.repeat(from_pil(to_pil(pixels).convert("L")), 3, axis=2)
        for level in LEVELS:
            image = kernel.adjust(pixels, "hue", shift, level)
            np.testing.assert_array_equal(image, turned, err_msg=level)
            image = kernel.adjust(pixels, "grayscale", 0, level)
            np.testing.assert_array_equal(image, grey, err_msg=level)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("shape", [(1, 1, 3), (5, 63, 3), (7, 64, 1), (3, 65, 4), (31, 517, 3)])
def test_turns_move_pixels(shape: tuple[int, int, int], level: str) -> None:
    pixels = noise(*shape)
    np.testing.assert_array_equal(kernel.turn(pixels, "horizontal", level), pixels[:, ::-1])
    np.testing.assert_array_equal(kernel.turn(pixels, "vertical", level), pixels[::-1])
    np.testing.assert_array_equal(
        kernel.turn(pixels, "transpose", level), pixels.transpose(1, 0, 2)
    )


borders = st.integers(0, 70)


@settings(max_examples=100, deadline=None)
@given(
    st.integers(1, 20),
    st.integers(1, 20),
    borders,
    borders,
    borders,
    borders,
    st.sampled_from(["constant", "edge", "reflect", "symmetric"]),
)
def test_padding_gives_numpys_pixels(
    h: int, w: int, left: int, top: int, right: int, bottom: int, mode: Any
) -> None:
    pixels = noise(h, w)
    around = ((top, bottom), (left, right), (0, 0))
    if mode == "constant":
        expected = np.empty((h + top + bottom, w + left + right, 3), np.uint8)
        expected[:] = (7, 8, 9)
        expected[top : top + h, left : left + w] = pixels
    else:
        expected = np.pad(pixels, around, mode)
    padded = kernel.pad(pixels, left, top, right, bottom, mode, [7, 8, 9])
    np.testing.assert_array_equal(padded, expected)


IMAGENET = ([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    ("mean", "std"),
    [
        IMAGENET,
        ([0.5, 0.5, 0.5], [0.5, 0.5, 0.5]),
        ([0.4914, 0.4822, 0.4465], [0.2023, 0.1994, 0.2010]),
        ([0.1307], [0.3081]),
        ([0.1, 0.0, -3.0, 1e-3], [1e-4, -2.0, 3e5, 0.7]),
        ([], []),
    ],
)
@pytest.mark.parametrize("layout", ["nchw", "nhwc"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_normalising_gives_torchs_bits(
    dtype: str, layout: str, mean: list[float], std: list[float], level: str
) -> None:
    torch = pytest.importorskip("torch")
    channels = len(mean) or 3
    every_value = np.arange(256, dtype=np.uint8).reshape(2, 128, 1).repeat(channels, axis=2)
    for pixels in (every_value, noise(3, 77, channels), noise(1, 1, channels)):
        values = torch.from_numpy(pixels.transpose(2, 0, 1).copy()).to(torch.float32).div(255)
        if mean:
            values = values.sub_(torch.tensor(mean, dtype=torch.float32)[:, None, None])
            values = values.div_(torch.tensor(std, dtype=torch.float32)[:, None, None])
        for mirror in (False, True):
            expected = values.flip(-1) if mirror else values
            expected = expected if layout == "nchw" else expected.permute(1, 2, 0)
            bits = expected.to(getattr(torch, dtype)).reshape(-1).clone().view(torch.uint8)
            row = kernel.store(pixels, mean, std, False, dtype, layout, mirror, level)
            np.testing.assert_array_equal(row, bits.numpy())


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("dtype", ["uint8", "int32", "int64", "float32"])
@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_raw_rows_hold_the_bytes_themselves(channels: int, dtype: str, level: str) -> None:
    pixels = noise(9, 530, channels)
    for mirror in (False, True):
        seen = pixels[:, ::-1] if mirror else pixels
        for layout, order in (("nchw", (2, 0, 1)), ("nhwc", (0, 1, 2))):
            row = kernel.store(pixels, [], [], True, dtype, layout, mirror, level)
            expected = np.ascontiguousarray(seen.transpose(order)).astype(dtype)
            np.testing.assert_array_equal(row.view(dtype), expected.ravel())


def test_normalised_integers_are_refused() -> None:
    with pytest.raises(ValueError, match="ask for float32"):
        kernel.store(noise(2, 2), *IMAGENET, False, "uint8", "nchw", False, "portable")
    with pytest.raises(ValueError, match="one mean and std per channel"):
        kernel.store(noise(2, 2, 1), *IMAGENET, False, "float32", "nchw", False, "portable")
