"""What a dataset returns, as a block of bytes and back."""

from __future__ import annotations

import collections
import math
import random
import struct
from typing import NamedTuple

import numpy as np
import pytest
import torch
from PIL import Image

from drapps.item_cache.values import DamagedBlockError, NotKept, UnknownHere, value_in, written

MODES = ("1", "L", "P", "RGB", "RGBA", "CMYK", "YCbCr", "LAB", "HSV", "I", "F", "LA", "PA", "I;16")
DTYPES = [
    *(np.dtype(kind) for kind in "?bBhHiIlLqQefdgFDG"),
    *map(np.dtype, (">i4", ">f8", "M8[ns]", "m8[D]", "S5", "U3", "V4")),
]
TENSORS = [
    *(torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64),
    *(torch.uint16, torch.uint32, torch.uint64, torch.float16, torch.bfloat16, torch.float32),
    *(torch.float64, torch.complex64, torch.complex128, torch.float8_e4m3fn, torch.float8_e5m2),
]


class Box(NamedTuple):
    left: int
    name: str


def block_of(value) -> bytearray:
    writer = written(value)
    block = bytearray(writer.nbytes)
    writer.write(memoryview(block), 3)
    return block


def again(value):
    return value_in(memoryview(block_of(value)))


def same(a, b) -> bool:
    """Equal in class, value, dtype and order in memory."""
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        flags = (a.flags.c_contiguous, a.flags.f_contiguous) == (
            b.flags.c_contiguous,
            b.flags.f_contiguous,
        )
        return a.dtype == b.dtype and a.shape == b.shape and flags and a.tobytes() == b.tobytes()
    if isinstance(a, torch.Tensor):
        equal = torch.equal(*(x.contiguous().reshape(-1).view(torch.uint8) for x in (a, b)))
        steps = zip(a.shape, a.stride(), b.stride(), strict=True)  # of one element there is none
        strides = a.numel() == 0 or all(size == 1 or one == two for size, one, two in steps)
        return a.dtype == b.dtype and a.shape == b.shape and strides and equal
    if isinstance(a, Image.Image):
        return a == b and a.info == b.info
    if isinstance(a, dict):
        keys = zip(a.items(), b.items(), strict=True)
        return all(same(k, m) and same(v, w) for (k, v), (m, w) in keys)
    if isinstance(a, (tuple, list)):
        return len(a) == len(b) and all(map(same, a, b))
    return a == b or (a != a and b != b)


@pytest.mark.parametrize(
    "value",
    [
        *(None, True, False, 0, -1, 1 << 63, -(1 << 63), 1 << 200, -(1 << 200), 1.5, -0.0),
        *(math.inf, math.nan, 2 - 3j, "", "text", "ä€😀", "\udcff", b"", b"bytes", b"x" * 5000),
        *((), [], {}, (1,), [1, 2.0], [1.0] * 9, [3] * 9, [True] * 9, [1 << 80] * 9, (0.5,) * 7),
        {1: "a", "b": 2, 3.5: None, None: 1, (1, "x"): [], False: {}, b"k": 1j},
        *(
            np.float32(1.5),
            np.int64(-3),
            np.bool_(True),
            np.str_("abc"),
            np.str_(""),
            np.bytes_(b"a"),
        ),
        *(np.datetime64("2020-02-03", "s"), np.timedelta64(4, "D"), np.complex64(1j)),
        *(Box(1, "x"), [Box(1, "a")] * 2, {"boxes": (Box(2, "b"), None)}),
    ],
    ids=repr,
)
def test_plain_values_come_back(value):
    assert same(again(value), value)
    if isinstance(value, float) and value == 0:
        assert math.copysign(1, again(value)) == math.copysign(1, value)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_arrays_of_every_dtype(dtype):
    rng = np.random.default_rng(1)
    for shape in ((), (0,), (7,), (3, 4), (2, 3, 4), (2, 0, 3), (1, 5, 1)):
        size = math.prod(shape) * dtype.itemsize
        data = rng.integers(48, 58, size, dtype=np.uint8)  # digits, so that texts are texts
        if dtype.kind == "U":
            data = np.frombuffer(np.array(["ab"] * math.prod(shape), dtype).tobytes(), np.uint8)
        value = np.frombuffer(data.tobytes(), dtype).reshape(shape)
        for order in (
            value,
            value.T,
            np.asfortranarray(value),
            np.moveaxis(value, 0, -1) if shape else value,
        ):
            assert same(again(order), order)


def test_arrays_with_gaps_come_back_without():
    value = np.arange(24).reshape(4, 6)
    for view in (value[::2], value[:, ::-1], value[1:3, 2:5], np.broadcast_to(value[0], (3, 6))):
        assert np.array_equal(again(view), view)
        assert again(view).dtype == view.dtype


@pytest.mark.parametrize("dtype", TENSORS, ids=str)
def test_tensors_of_every_dtype(dtype):
    for shape in ((), (0,), (7,), (2, 3, 4, 5), (2, 0, 3), (1, 3, 1, 1)):
        value = torch.randint(0, 2, shape).to(dtype)
        orders = [value, value.permute(tuple(reversed(range(value.dim()))))]
        if len(shape) == 4:
            orders.append(value.to(memory_format=torch.channels_last))
        for order in orders:
            assert same(again(order), order)
    assert torch.equal(again(torch.arange(4).expand(3, 4)), torch.arange(4).expand(3, 4))


@pytest.mark.parametrize("mode", MODES)
def test_pictures_of_every_mode(mode):
    for size in ((5, 3), (1, 1)):
        value = Image.new(mode, size)
        bands = len(value.getbands())
        value.putpixel((0, 0), 1 if bands == 1 else tuple(range(1, bands + 1)))
        value.info = {"dpi": (72, 72), "exif": b"x" * 300, "note": "n"}
        assert same(again(value), value)


def test_pictures_keep_their_palette():
    noise = np.random.default_rng(0).integers(0, 256, (30, 30, 4), dtype=np.uint8)
    for value in (
        Image.fromarray(noise[..., :3]).quantize(16),
        Image.fromarray(noise, "RGBA").quantize(9, method=Image.Quantize.FASTOCTREE),
    ):
        value.info["transparency"] = 3
        back = again(value)
        assert same(back, value)
        assert back.getpalette("RGBA") == value.getpalette("RGBA")
        assert back.convert("RGBA") == value.convert("RGBA")


def random_value(draw: random.Random, depth: int = 0):
    kinds = 9 if depth > 3 else 13
    kind = draw.randrange(kinds)
    few = draw.randrange(6)
    if kind < 6:
        plain = (None, draw.random(), draw.getrandbits(70), "é" * few, b"z" * 100 * few, few == 1)
        return plain[kind]
    if kind == 6:
        shape = [draw.randrange(4) for _ in range(few)]
        value = np.frombuffer(draw.randbytes(4 * math.prod(shape)), "<i4").reshape(shape)
        return value.transpose(draw.sample(range(few), few))
    if kind == 7:
        value = torch.tensor([draw.random() for _ in range(6)]).reshape(2, 3)
        return value.T if few % 2 else value
    if kind == 8:
        return Image.frombytes("RGB", (few + 1, 2), draw.randbytes(6 * (few + 1)))
    parts = [random_value(draw, depth + 1) for _ in range(few)]
    if kind == 9:
        return Box(few, parts[0]) if parts else Box(0, "")
    return (parts, tuple(parts), {f"{i}": part for i, part in enumerate(parts)})[kind - 10]


def test_nested_values_at_random():
    draw = random.Random(8)
    for _ in range(400):
        value = random_value(draw)
        assert same(again(value), value)


def test_a_copy_is_new_and_may_be_written_to():
    array, tensor, inner = np.ones(4), torch.ones(4), [1]
    array.flags.writeable = False
    block = block_of({"a": array, "t": tensor, "l": inner, "p": Image.new("L", (2, 2))})
    first = value_in(memoryview(block).toreadonly())
    first["a"][:] = 7
    first["t"].zero_()
    first["l"].append(2)
    first["p"].putpixel((0, 0), 9)
    second = value_in(memoryview(block).toreadonly())
    assert second["a"].tolist() == [1] * 4
    assert second["t"].tolist() == [1] * 4
    assert second["l"] == [1]
    assert second["p"].getpixel((0, 0)) == 0
    assert first["t"].resize_(100).numel() == 100


def test_what_stands_twice_is_one_object():
    x, names = torch.ones(3), ["a"]
    value = again((x, x, {"n": names}, names, np.ones(1), x))
    assert value[0] is value[1] is value[5]
    assert value[2]["n"] is value[3]


class Number(int):
    pass


def deep():
    value: list = []
    for _ in range(500):
        value = [value]
    return value


def endless():
    value: list = []
    value.append({"again": value})
    return value


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda: {1, 2}, "builtins.set"),
        (lambda: Number(3), "Number"),
        (lambda: [object()], "builtins.object"),
        (lambda: collections.OrderedDict(a=1), "collections.OrderedDict"),
        (lambda: {frozenset(): 1}, "a dict with a frozenset as a key"),
        (lambda: bytearray(3), "bytearray"),
        (lambda: np.array([None]), "an array of object"),
        (lambda: np.zeros(2, [("a", "i4")]), "an array of"),
        (lambda: np.ma.zeros(3), "MaskedArray"),
        (lambda: torch.ones(2, requires_grad=True), "requires a gradient"),
        (lambda: torch.nn.Parameter(torch.ones(2)), "Parameter"),
        (lambda: torch.ones(2, device="meta"), "on meta"),
        (lambda: torch.eye(3).to_sparse(), "layout"),
        (lambda: torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]), "is nested"),
        (lambda: torch.ones(2, dtype=torch.complex64).conj(), "conjugate"),
        (lambda: collections.namedtuple("Local", "a")(1), "Local"),
        (lambda: torch.ones(3).max(0), "torch.return_types.max"),
        (lambda: Image.new("L", (0, 4)), "without pixels"),
        (deep, "nested more than"),
        (endless, "holds itself"),
    ],
)
def test_what_is_of_another_class_is_not_kept(make, why):
    with pytest.raises(NotKept, match=why):
        written(make())


def test_a_picture_of_a_file_is_not_kept(photos):
    with Image.open(next(photos.rglob("*.jpg"))) as picture, pytest.raises(NotKept, match="Jpeg"):
        written(picture)
    written(picture.convert("RGB")) if picture.fp else None


def test_a_named_tuple_is_found_by_its_name_or_not_at_all(monkeypatch):
    block = block_of(Box(1, "a"))
    monkeypatch.delitem(globals(), "Box")
    with pytest.raises(UnknownHere):
        value_in(memoryview(block))


def test_damage_is_an_error_or_shows_in_numbers_alone():
    value = {"a": np.arange(20.0), "t": torch.ones(2, 3), "l": [1, 2.5, "x", (None, [b"y"])]}
    block = block_of(value)
    for place in range(len(block)):
        for bit in (1, 128):
            damaged = bytearray(block)
            damaged[place] ^= bit
            try:
                content = value_in(memoryview(damaged))
            except DamagedBlockError:
                continue
            assert content["l"] == value["l"]
            assert content["a"].shape == (20,)
            assert content["t"].shape == (2, 3)


def test_any_bytes_are_an_error_and_never_more():
    draw = random.Random(4)
    block = block_of([np.ones(3), {"k": (1, "two")}, Image.new("P", (2, 2)), [7] * 10])
    for length in range(0, len(block), 3):
        with pytest.raises(DamagedBlockError):
            value_in(memoryview(block)[:length])
    for _ in range(300):
        with pytest.raises(DamagedBlockError):
            value_in(memoryview(draw.randbytes(draw.randrange(200))))


def test_a_structure_of_nonsense_is_an_error_though_its_checksum_is_right():
    import zlib

    draw = random.Random(5)
    base = block_of(
        [np.ones(3), torch.ones(2), {"k": (1, "two")}, Image.new("P", (2, 2)), Box(1, "")]
    )
    _, _, size, _ = struct.unpack_from("<4sBxxxIQ", base)
    failed = 0
    for _ in range(3000):
        block = bytearray(base)
        for _ in range(draw.randrange(1, 4)):
            block[24 + draw.randrange(size)] = draw.randrange(256)
        struct.pack_into("<I", block, 20, zlib.crc32(block[24 : 24 + size], zlib.crc32(block[:20])))
        try:
            value_in(memoryview(block))
        except (DamagedBlockError, UnknownHere):
            failed += 1
    assert failed > 1000
