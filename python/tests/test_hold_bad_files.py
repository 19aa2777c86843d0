"""Bad files under every ``on_error``: named, counted, never a crash, never a hang."""

import json
import os
import struct

import numpy as np
import pytest
from PIL import Image

import drapps
from drapps.batch import REPLACED
from python.tests.decode_files import chunk, encode, frame_at, jpeg, picture
from python.tests.hold_streams import core, pieces, write_files

GOOD = jpeg("4:2:0", 120, 160)
PNG = encode(picture("RGB", 70, 60), "PNG")
WEBP = encode(picture("RGB", 70, 60), "WEBP")


def resized(height, width):
    """The good JPEG under a header that says another size."""
    patched = bytearray(GOOD)
    struct.pack_into(">HH", patched, frame_at(GOOD) + 5, height, width)
    return bytes(patched)


def huge_png(height, width):
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + PNG[33:]


# name: (bytes, code, whether the error names a byte)
BAD = {
    "empty": (b"", "truncated", True),
    "html": (b"<!DOCTYPE html><html><body>404 Not Found</body></html>", "unsupported", True),
    "gif": (encode(picture("P", 20, 20), "GIF"), "unsupported", True),
    "text": (b"hello", "unsupported", True),
    "zeros": (bytes(5000), "unsupported", True),
    "jpeg cut in its header": (GOOD[:100], "truncated", True),
    "jpeg cut in its data": (GOOD[: len(GOOD) // 2], "truncated", True),
    "jpeg without its end": (GOOD[:-2], "truncated", True),
    "jpeg 0 high": (resized(0, 160), "corrupt", True),
    "jpeg 0 wide": (resized(120, 0), "corrupt", True),
    "jpeg huge": (resized(65500, 65500), "too large", True),
    "png cut": (PNG[: len(PNG) // 2], "truncated", True),
    "png 0 x 0": (huge_png(0, 0), "corrupt", True),
    "png huge": (huge_png(2**31 - 1, 2**31 - 1), "too large", True),
    "webp cut": (WEBP[: len(WEBP) // 2], "truncated", True),
}
WRONG_ENDING = {"png": PNG, "webp": WEBP}


@pytest.fixture(scope="module")
def mixed(tmp_path_factory):
    """A good file before each bad one, and good ones under wrong extensions."""
    contents = [record for bad, *_ in BAD.values() for record in (GOOD, bad)]
    return write_files(tmp_path_factory.mktemp("bad"), [*contents, *WRONG_ENDING.values()])


def cropped(paths):
    return drapps.images(paths).random_resized_crop(32, scale=(0.1, 0.5)).shuffle(2)


def bad_indices():
    return list(range(1, 2 * len(BAD), 2))


@pytest.mark.parametrize("name", BAD)
def test_the_error_names_file_byte_and_kind(tmp_path, name):
    content, code, has_offset = BAD[name]
    [path] = write_files(tmp_path, [content])
    with pytest.raises(drapps.SampleError) as caught:
        next(iter(drapps.images([path]).center_crop(16).batch(1)))
    error = caught.value
    assert (error.path, error.index, error.code) == (str(path), 0, code)
    assert error.stage == ("fetch" if name == "empty" else "decode")
    assert (0 <= error.offset <= len(content)) == has_offset
    assert str(path) in str(error) and f"at byte {error.offset}" in str(error)
    assert len(error.message) > 15


def test_raise_goes_on_behind_each_bad_batch(mixed):
    loader = cropped(mixed).batch(1)
    iterator = iter(loader)
    good, failed = [], []
    for _ in range(len(mixed)):
        try:
            good.append(int(np.asarray(next(iterator)["index"])[0]))
        except drapps.SampleError as error:  # noqa: PERF203
            failed.append(error.index)
    with pytest.raises(StopIteration):
        next(iterator)
    assert sorted(failed) == bad_indices()
    assert sorted(good + failed) == list(range(len(mixed)))


def test_skip_drops_the_rows_and_positions_never_shift(mixed):
    loader = cropped(mixed).on_error("skip").batch(4)
    batches = [batch.numpy() for batch in loader]
    assert len(batches) == len(loader)
    whole = cropped([mixed[0]] * len(mixed)).batch(4)
    order = [np.asarray(batch["index"]).tolist() for batch in whole]
    for step, batch in enumerate(batches):
        kept = [place for place, index in enumerate(order[step]) if index not in bad_indices()]
        assert batch["index"].tolist() == [order[step][place] for place in kept]
        assert batch["position"].tolist() == [4 * step + place for place in kept]
    assert sorted(line["index"] for line in loader.bad_samples()) == bad_indices()


def test_a_batch_of_nothing_but_bad_rows_is_yielded_empty(mixed):
    paths = [mixed[index] for index in bad_indices()[:4]]
    [batch] = drapps.images(paths).center_crop(16).on_error("skip").batch(4)
    assert batch.rows == 0
    assert np.asarray(batch["image"]).shape == (0, 3, 16, 16)


def test_replace_puts_good_samples_in_and_flags_them(mixed):
    loader = cropped(mixed).on_error("replace").batch(4)
    batches = [batch.numpy() for batch in loader]
    index = np.concatenate([batch["index"] for batch in batches])
    flags = np.concatenate([batch["flags"] for batch in batches])
    position = np.concatenate([batch["position"] for batch in batches])
    assert position.tolist() == list(range(len(mixed)))
    assert not set(index.tolist()) & set(bad_indices())
    assert np.count_nonzero(flags & REPLACED) == len(BAD)
    assert sorted(line["index"] for line in loader.bad_samples()) == bad_indices()


@pytest.mark.parametrize("action", ["skip", "replace"])
def test_the_stream_is_one_with_bad_files_in_it_too(mixed, action):
    source = cropped(mixed).on_error(action)
    expected = pieces(core(source, cpu_budget=1))
    for policy in ("random_raw", "initial"):
        assert pieces(core(source, policy=policy, cpu_budget=3)) == expected


def test_no_good_sample_at_all_is_an_error_under_replace(tmp_path):
    paths = write_files(tmp_path, [b"nothing"] * 5)
    loader = drapps.images(paths).center_crop(16).on_error("replace").batch(5)
    [batch] = loader
    assert batch.rows == 0
    assert all("drawn in its place" in line["message"] for line in loader.bad_samples())


def test_the_verdict_and_the_bad_samples_do_not_depend_on_the_crop(mixed):
    for seed in range(25):
        small = cropped(mixed).seed(seed).on_error("skip").batch(8)
        rows = sum(batch.rows for batch in small)
        assert rows == len(mixed) - len(BAD)
        entries = {(line["index"], line["code"], line["offset"]) for line in small.bad_samples()}
        if seed == 0:
            first = entries
        assert entries == first
        assert all(line["path"] == os.fspath(mixed[line["index"]]) for line in small.bad_samples())


def test_a_wrong_extension_does_not_matter(tmp_path):
    paths = write_files(tmp_path, WRONG_ENDING.values(), ".jpg")
    right = drapps.image_bytes(list(WRONG_ENDING.values())).center_crop(40)
    wrong = drapps.images(paths).center_crop(40)
    assert pieces(core(wrong)) == pieces(core(right))


def test_bad_records_in_memory_say_their_index():
    contents = [content for content, *_ in BAD.values()]
    loader = drapps.image_bytes(contents).center_crop(16).on_error("skip").batch(4)
    assert all(batch.rows == 0 for batch in loader)
    codes = {line["index"]: line["code"] for line in loader.bad_samples()}
    assert [codes[index] for index in sorted(codes)] == [code for _, code, _ in BAD.values()]


def test_the_file_of_bad_samples_gets_a_line_per_bad_sample(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "mixed"
    folder.mkdir()
    for i in range(6):
        picture = Image.new("RGB", (16, 16), (i, 0, 0))
        picture.save(folder / f"{i}.png")
    (folder / "2.png").write_bytes(b"")
    (folder / "4.png").write_bytes(b"no picture")
    paths = sorted(folder.iterdir())
    for workers_file in ("bad.jsonl", tmp_path / "missing" / "bad.jsonl"):
        pipeline = drapps.images(paths).resize((8, 8)).on_error("skip")
        loader = pipeline.batch(2, bad_samples_file=workers_file)
        if workers_file == "bad.jsonl":
            assert sum(batch.rows for _ in range(2) for batch in loader) == 8
        else:  # training goes on where the file cannot be written
            with pytest.warns(RuntimeWarning, match="cannot be written"):
                assert sum(batch.rows for batch in loader) == 4
    entries = [json.loads(line) for line in (tmp_path / "bad.jsonl").read_text().splitlines()]
    assert sorted((e["epoch"], e["index"]) for e in entries) == [(0, 2), (0, 4), (1, 2), (1, 4)]
    assert all({"stage", "code", "path", "offset", "message"} <= set(e) for e in entries)
