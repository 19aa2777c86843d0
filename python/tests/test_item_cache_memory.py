"""What comes from a block is what went in: arrays that share memory, pictures with EXIF data."""

from __future__ import annotations

import random
import struct
import zlib

import numpy as np
import pytest
import torch
from PIL import Image, ImageOps

import drapps
from drapps.item_cache.values import DamagedBlockError, NotKept, UnknownHere, value_in, written
from python.tests.test_item_cache_values import again, block_of, same


def numbers(value):
    """All that can be seen of a value's arrays, in order."""
    if isinstance(value, dict):
        return [numbers(one) for one in value.values()]
    if isinstance(value, (list, tuple)):
        return [numbers(one) for one in value]
    return value.tolist() if hasattr(value, "tolist") else value


def rows():
    x = torch.arange(12.0).reshape(3, 4)
    return {"x": x, "row": x[1], "column": x[:, 2], "again": x}


def overlapping():
    x = torch.arange(10)
    return [x[2:6], x[4:9], x.flip(0), x[::3]]


def of_numpy():
    x = np.arange(12, dtype=np.int32).reshape(3, 4)
    return {"x": x, "t": torch.from_numpy(x), "back": x[::-1, ::2], "bytes": x.view(np.uint8)}


def apart():
    x = np.arange(20, dtype=np.complex128)
    return [x[:3], x[10:12], np.arange(4), x[2:11]]


def repeated():
    return [torch.arange(3).expand(4, 3), np.broadcast_to(np.arange(3), (2, 3)).copy()]


def windows():
    return [np.lib.stride_tricks.sliding_window_view(np.arange(6), 3, writeable=True), 1]


def other_dtypes():
    x = torch.arange(8, dtype=torch.float32)
    return [x, x.view(torch.uint8), x.view(torch.int32)[3:], x.view(torch.complex64)]


SHARING = [rows, overlapping, of_numpy, apart, repeated, windows, other_dtypes]


@pytest.mark.parametrize("make", SHARING)
def test_arrays_that_share_memory_come_back_sharing_it(make):
    """Whatever is done to one shows in the same others as without a cache."""
    assert numbers(again(make())) == numbers(make())
    many = make()
    keys = list(many) if isinstance(many, dict) else range(len(many))
    for key in keys:
        expected, copy = make(), again(make())
        for value in (expected, copy):
            if isinstance(value[key], (torch.Tensor, np.ndarray)):
                value[key][(0,) * value[key].ndim] = 77
        assert numbers(copy) == numbers(expected), key


def test_tensors_of_one_storage_come_back_in_one():
    x = torch.arange(1_000_000)
    copy = again({"a": x[5:8], "b": x[999_990:], "c": torch.ones(2), "n": x[6:9].numpy()})
    assert numbers(copy) == [[5, 6, 7], list(range(999_990, 1_000_000)), [1, 1], [6, 7, 8]]
    storages = [copy[name].untyped_storage() for name in "abc"]
    assert storages[0].data_ptr() == storages[1].data_ptr() != storages[2].data_ptr()
    assert storages[0].nbytes() < 300, "what lies between is not kept"
    copy["n"][1] = 9
    assert copy["a"].tolist() == [5, 6, 9]


def test_columns_of_a_large_table_are_kept_alone():
    table = torch.arange(100_000).reshape(1000, 100)
    value = {"a": table[:, 3], "b": table[:, 7]}
    block = block_of(value)
    assert len(block) < 20_000
    assert same(value_in(memoryview(block))["a"], value["a"].contiguous())


def test_a_shared_copy_is_new_and_its_storage_can_grow():
    block = block_of(rows())
    first = value_in(memoryview(block).toreadonly())
    first["x"].mul_(0)
    assert first["row"].tolist() == [0.0] * 4
    assert first["x"] is first["again"]
    assert value_in(memoryview(block))["row"].tolist() == [4.0, 5.0, 6.0, 7.0]
    assert first["x"].resize_(100).numel() == 100


def test_damage_of_shared_memory_is_an_error_or_shows_in_numbers_alone():
    draw = random.Random(6)
    base = block_of([rows(), of_numpy(), windows()])
    _, _, size, _ = struct.unpack_from("<4sBxxxIQ", base)
    failed = 0
    for _ in range(4000):
        block = bytearray(base)
        for _ in range(draw.randrange(1, 4)):
            block[24 + draw.randrange(size)] = draw.randrange(256)
        struct.pack_into("<I", block, 20, zlib.crc32(block[24 : 24 + size], zlib.crc32(block[:20])))
        try:
            numbers(value_in(memoryview(block)))
        except (DamagedBlockError, UnknownHere):
            failed += 1
    assert failed > 1000


def with_exif(**tags):
    picture = Image.new("RGB", (4, 3))
    exif = Image.Exif()
    exif[0x010F] = "maker"
    exif[0x0112] = 6
    exif[0x8769] = {0x9003: "2020:01:01 00:00:00"}
    picture.info = {"exif": exif.tobytes(), **tags}
    return picture


def test_exif_data_come_back_unless_they_were_edited():
    read = with_exif()
    assert read.getexif()[0x0112] == 6
    assert read.getexif().get_ifd(0x8769)[0x9003]
    turned = ImageOps.exif_transpose(with_exif())
    for picture in (with_exif(), read, turned, Image.new("L", (2, 2))):
        copy = again(picture)
        assert copy.getexif().get(0x0112) == picture.getexif().get(0x0112)
        assert copy.getexif().tobytes() == picture.getexif().tobytes()
    assert same(again(read), read), "as it was asked for, it still is"


def edit_tag(picture):
    picture.getexif()[0x0112] = 3


def edit_inner_tag(picture):
    picture.getexif().get_ifd(0x8769)[0x9003] = "2021"


def edit_info(picture):
    picture.getexif()
    del picture.info["exif"]


@pytest.mark.parametrize("edit", [edit_tag, edit_inner_tag, edit_info])
def test_a_picture_with_edited_exif_data_is_not_kept(edit):
    picture = with_exif()
    edit(picture)
    with pytest.raises(NotKept, match="EXIF data were edited"):
        written(picture)


def test_a_picture_over_the_memory_of_an_array_is_not_kept_with_it():
    array = np.arange(20, dtype=np.uint8).reshape(4, 5)
    picture = Image.fromarray(array)
    assert same(again([picture, np.ones(40)]), [picture, np.ones(40)])
    for other in (array, torch.from_numpy(array), array[1:]):
        if isinstance(other, np.ndarray) and len(other) < 4:
            continue
        with pytest.raises(NotKept, match="a picture, and an array with the pixels of that"):
            written({"picture": picture, "array": other})
    assert same(again([picture.copy(), array]), [picture, array])


def test_a_hit_is_what_a_miss_is_under_a_step_in_place():
    class Rows(torch.utils.data.Dataset):
        def __len__(self):
            return 8

        def __getitem__(self, index):
            x = torch.arange(12.0).reshape(3, 4) + index
            return {"x": x, "row": x[1]}

    def erased(sample):
        sample["x"].mul_(0)
        return sample["row"].tolist()

    dataset = drapps.cached(Rows(), 1, budget=1 << 20)
    for _ in range(2):
        assert [erased(dataset[index]) for index in range(8)] == [[0.0] * 4] * 8
    assert dataset.stats()["hits"] == 8


def test_what_cannot_be_written_is_not_kept(caplog):
    class Odd(torch.utils.data.Dataset):
        def __len__(self):
            return 3

        def __getitem__(self, index):
            return torch.nested.nested_tensor([torch.ones(2), torch.ones(index + 1)])

    class Refusing(Odd):
        def __getitem__(self, index):
            return torch._C._functorch._add_batch_dim(torch.ones(2, 3), 0, 1)

    for dataset in (Odd(), Refusing()):
        cached = drapps.cached(dataset, 1, budget=1 << 20)
        for index in (1, 1):
            assert type(cached[index]) is torch.Tensor
        assert cached.stats()["items"] == 0
    assert "is nested" in caplog.text
    assert "cannot be written" in caplog.text
