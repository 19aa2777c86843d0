"""Pixels that a device decodes against the installed Pillow: no byte may differ."""

from __future__ import annotations

import numpy as np
import pytest

from drapps import _core
from python.tests.cells import some_full
from python.tests.decode_files import CODINGS, SAMPLINGS, SIZES, jpeg, pillow, png

if not hasattr(_core, "_allow_host_device"):
    pytest.skip("a wheel has no device for tests", allow_module_level=True)

# What Pillow writes at 4:4:1 has other factors than those that a decoder of ours knows.
HERE = [sampling for sampling in SAMPLINGS if sampling != "4:4:1"]


@pytest.fixture(autouse=True)
def host_device() -> None:
    _core._allow_host_device(256 << 20, 100_000)


def assert_same(files: list[bytes], color: str, mode: str) -> None:
    for data, pixels in zip(files, _core.decode_on_device("host", files, color=color), strict=True):
        assert pixels is not None
        np.testing.assert_array_equal(pixels, pillow(data, mode))


@pytest.mark.parametrize(
    ("color", "mode"), some_full([("rgb", "RGB"), ("gray", "L")], ("rgb", "RGB"))
)
@pytest.mark.parametrize("coding", [coding for coding in CODINGS if coding != "progressive"])
def test_jpegs_equal_pillow(coding: str, color: str, mode: str) -> None:
    files = [jpeg(sampling, *size, **CODINGS[coding]) for sampling in HERE for size in SIZES]
    assert_same(files, color, mode)


@pytest.mark.parametrize(("color", "mode"), [("rgb", "RGB"), ("gray", "L")])
def test_coefficients_equal_pillow(color: str, mode: str) -> None:
    files = [jpeg(sampling, *size) for sampling in HERE for size in SIZES]
    forms = [_core.transcode(data) for data in files]
    for data, pixels in zip(files, _core.decode_on_device("host", forms, color=color), strict=True):
        np.testing.assert_array_equal(pixels, pillow(data, mode))


def test_more_files_than_go_together() -> None:
    files = [jpeg("4:2:0", 301, 499, quality=95)] * 90
    assert sum(map(len, files)) > 8 << 20
    wanted = pillow(files[0], "RGB")
    decoded = _core.decode_on_device("host", files, color="rgb")
    assert len(decoded) == len(files)
    for pixels in decoded:
        np.testing.assert_array_equal(pixels, wanted)


def test_other_files_are_left_to_the_cpu() -> None:
    files = [
        jpeg("4:2:0", 30, 40, progressive=True),
        jpeg("4:4:1", 30, 40),
        png(np.zeros((9, 9, 3), np.uint8), 2, 8),
    ]
    assert _core.decode_on_device("host", files) == [None] * len(files)


def test_a_bad_file_is_an_error() -> None:
    with pytest.raises(_core.SampleError, match="ends before its picture is complete"):
        _core.decode_on_device("host", [jpeg("4:4:4", 30, 40)[:-60]])


def test_a_device_that_is_not_there_is_an_error() -> None:
    with pytest.raises(_core.SampleError, match='device "tpu:0" is none; write "cuda:0"'):
        _core.decode_on_device("tpu:0", [])
