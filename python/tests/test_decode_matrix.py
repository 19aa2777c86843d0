"""Every small size against Pillow: where blocks, MCUs and contexts end is where decoders differ."""

from __future__ import annotations

import numpy as np
import pytest

from drapps import _core
from python.tests.decode_files import CODINGS, SAMPLINGS, encode, jpeg, picture, pillow

EDGES = [*range(1, 36), 47, 48, 49, 63, 64, 65]


@pytest.mark.full
@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.parametrize("coding", CODINGS)
def test_jpeg_of_every_small_size_equals_pillow(sampling: str, coding: str) -> None:
    rng = np.random.default_rng(len(sampling) + len(coding))
    for height in EDGES:
        for width in EDGES:
            data = jpeg(sampling, height, width, **CODINGS[coding])
            whole = pillow(data)
            assert np.array_equal(_core.decode(data), whole), (height, width)
            top, left = int(rng.integers(0, height)), int(rng.integers(0, width))
            rows = int(rng.integers(1, height - top + 1))
            columns = int(rng.integers(1, width - left + 1))
            region = (top, left, rows, columns)
            part = _core.decode(data, region=region)
            expected = whole[top : top + rows, left : left + columns]
            assert np.array_equal(part, expected), (height, width, region)


@pytest.mark.full
@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_jpeg_of_every_size_quality_interval_and_table_equals_pillow(sampling: str) -> None:
    intervals = [{}, {"restart_marker_blocks": 1}, {"restart_marker_blocks": 3}]
    intervals.append({"restart_marker_rows": 1})
    rng = np.random.default_rng(len(sampling))
    for height in range(1, 71):
        for width in range(1, 71):
            way = 70 * height + width  # the 800 ways come round about six times
            data = jpeg(
                sampling,
                height,
                width,
                quality=1 + way * 37 % 100,
                optimize=way // 400 % 2 == 1,
                **intervals[way // 100 % 4],
            )
            whole = pillow(data)
            assert np.array_equal(_core.decode(data), whole), (height, width)
            gray = _core.decode(data, color="gray")
            assert np.array_equal(gray, pillow(data, "L")), (height, width)
            top, left = int(rng.integers(0, height)), int(rng.integers(0, width))
            part = _core.decode(data, region=(top, left, height - top, width - left))
            assert np.array_equal(part, whole[top:, left:]), (height, width, top, left)


@pytest.mark.full
@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA"])
def test_png_of_every_small_size_equals_pillow(mode: str) -> None:
    for height in EDGES:
        for width in EDGES:
            data = encode(picture(mode, height, width, seed=height), "PNG")
            assert np.array_equal(_core.decode(data), pillow(data)), (height, width)
