"""Pictures in the coefficient form are the pictures of the JPEGs they were made of."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import drapps
from drapps import _core
from python.tests.decode_files import encode, jpeg, picture, with_orientation

SAMPLINGS = ["4:4:4", "4:2:2", "4:2:0", "4:4:0", "4:1:1", "gray"]


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_pixels_are_those_of_the_jpeg(sampling: str) -> None:
    for quality in (20, 90, 100):
        data = jpeg(sampling, 67, 93, quality=quality)
        form = drapps.transcode(data)
        assert _core.inspect(form) == {**_core.inspect(data), "format": "coefficients"}
        for region in (None, (0, 0, 1, 1), (13, 40, 31, 53), (66, 92, 1, 1)):
            for color in ("rgb", "gray"):
                expected = _core.decode(data, region, color)
                np.testing.assert_array_equal(_core.decode(form, region, color), expected)


@pytest.mark.parametrize("orientation", range(1, 9))
def test_orientation_is_kept(orientation: int) -> None:
    data = with_orientation("JPEG", orientation)
    form = drapps.transcode(data)
    for exif in ("apply", "ignore"):
        expected = _core.decode(data, (3, 5, 30, 33), exif=exif)
        np.testing.assert_array_equal(_core.decode(form, (3, 5, 30, 33), exif=exif), expected)


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    """JPEGs in two classes, and the same pictures in the coefficient form."""
    for number in range(24):
        sampling = SAMPLINGS[number % len(SAMPLINGS)]
        data = jpeg(sampling, 60 + 7 * number, 90 + 5 * (number % 9), quality=60 + number)
        for kind, content in (("jpg", data), ("djc", drapps.transcode(data))):
            folder = tmp_path / kind / f"class{number % 2}"
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{number:02}.{kind}").write_bytes(content)
    return tmp_path / "jpg", tmp_path / "djc"


def test_a_folder_of_the_form_gives_the_batches_of_the_jpegs(folders: tuple[Path, Path]) -> None:
    def batches(folder: Path) -> list[dict[str, np.ndarray]]:
        pipeline = drapps.image_folder(folder).random_resized_crop(48).flip().shuffle(seed=3)
        loader = pipeline.batch(8)
        return [
            {name: np.array(batch[name]) for name in ("image", "label")}
            for _ in range(2)
            for batch in loader
        ]

    expected, got = (batches(folder) for folder in folders)
    assert len(got) == len(expected) == 6
    for one, other in zip(expected, got, strict=True):
        for name in ("image", "label"):
            np.testing.assert_array_equal(one[name], other[name])


def test_a_damaged_file_raises_and_the_rest_goes_on(folders: tuple[Path, Path]) -> None:
    files = sorted(folders[1].rglob("*.djc"))
    content = bytearray(files[5].read_bytes())
    content[len(content) // 2] ^= 16
    files[5].write_bytes(content)
    files[7].write_bytes(files[7].read_bytes()[:-100])
    loader = drapps.image_folder(folders[1]).random_resized_crop(32).on_error("skip").batch(8)
    rows = sum(batch["label"].shape[0] for batch in loader)
    assert rows == len(files) - 2
    codes = {(entry["path"], entry["code"]) for entry in loader.bad_samples()}
    assert codes == {(str(files[5]), "corrupt"), (str(files[7]), "truncated")}


def test_what_has_no_such_form_says_so() -> None:
    for data in (
        encode(picture("RGB", 20, 20), "JPEG", progressive=True),
        encode(picture("CMYK", 20, 20), "JPEG"),
        encode(picture("RGB", 20, 20), "PNG"),
        drapps.transcode(jpeg("4:4:4", 20, 20)),
    ):
        with pytest.raises(drapps.SampleError, match="keep the file") as caught:
            drapps.transcode(data)
        assert caught.value.code == "unsupported"
    with pytest.raises(drapps.SampleError) as caught:
        drapps.transcode(b"")
    assert caught.value.code == "truncated"
