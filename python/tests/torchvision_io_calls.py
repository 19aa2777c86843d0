"""torchvision.io natively, and all as it is without.

`test_accelerate_torchvision_io.py` runs these in processes, and environments, that have its
decoders.
"""

from __future__ import annotations

import os
import random
import warnings
from pathlib import Path

import pytest
import torch
from torch.utils import data
from torchvision import io
from torchvision.io import ImageReadMode, read_image

import drapps.torch
from drapps.accelerate import torchvision_io
from drapps.accelerate.exif import with_orientation
from drapps.accelerate.tally import described
from python.tests import torchvision_decoders
from python.tests.cells import some_full
from python.tests.decode_files import jpeg
from python.tests.picture_files import any_file, photograph

CALLS = range(*map(int, os.environ.get("DRAPPS_TEST_CALLS", "0 300").split()))
NATIVE = os.environ.get("DRAPPS_TEST_NATIVE")  # a file for how many of a share were answered
TOGETHER = 100  # calls for which operators are replaced once
MODES = [*ImageReadMode, ImageReadMode.RGB, ImageReadMode.GRAY, "RGB", "gray", "none", None, 3]
FLAGS = [False, False, True, True, 1, None]


@pytest.fixture(scope="module", autouse=True)
def decoders(tmp_path_factory):
    torchvision_decoders.load(tmp_path_factory.mktemp("libraries"))


def seen(act):
    """What a call gives, warns of, or how it fails."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            value = act()
        except Exception as error:
            return type(error), str(error)
    forms = [
        (each.dtype, each.shape, each.stride(), each._base is None, each.numpy().tobytes())
        for each in (value if isinstance(value, list) else [value])
    ]
    return type(value), forms, [(each.category, str(each.message), each.lineno) for each in warned]


def file_of(rng):
    """A file of any kind, often one that says how it is to be turned."""
    content = photograph(rng) if rng.random() < 0.6 else any_file(rng)
    if rng.random() < 0.3 and content[:2] == b"\xff\xd8":
        content = with_orientation(content, rng.randint(0, 9))
    if rng.random() < 0.1:  # another segment of that kind before it
        content = content[:2] + b"\xff\xe1\0\x0bhttp://n\0" + content[2:]
    return content


def tensor_of(rng, content):
    """A file as a tensor of bytes, which lies somehow."""
    plain = torch.frombuffer(bytearray(content or b"\0"), dtype=torch.uint8)
    lies = rng.choice([0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5])
    if lies == 1:
        return torch.stack([plain, plain], 1)[:, 0]
    if lies == 2:
        return torch.cat([plain[:7], plain])[7:]
    if lies == 3:
        return plain[None]
    return {4: plain.float(), 5: plain[:0]}.get(lies, plain)


def call_of(rng, folder):
    """A call of one of the functions, or of an operator."""
    content = file_of(rng)
    options = {"mode": rng.choice(MODES)} if rng.random() < 0.7 else {}
    if rng.random() < 0.4:
        options["apply_exif_orientation"] = rng.choice(FLAGS)
    kind = rng.choice(["path", "path", "tensor", "tensor", "jpeg", "list", "operator"])
    if kind == "path":
        path = folder / rng.choice(["a.jpg", "a.png", "missing.jpg", "ä b"])
        if path.name != "missing.jpg":
            path.write_bytes(content)
        read = rng.choice([read_image, io.decode_image])
        given = rng.choice([str(path), str(path), path, 7])
        return lambda: read(given, **options)
    data = tensor_of(rng, content)
    if kind == "tensor":
        return lambda: io.decode_image(data, **options)
    if kind == "jpeg":
        return lambda: io.decode_jpeg(data, **options)
    if kind == "list":
        return lambda: io.decode_jpeg([data] * rng.randint(0, 2), **options)
    args = [data, rng.choice([0, 1, 3, 3, 2, 4, 9, True, 3.0]), rng.choice(FLAGS)]
    name = rng.choice(["decode_jpeg", "decode_image"])
    return lambda: getattr(torch.ops.image, name)(*args)


def test_random_calls_show_nothing_of_it(natively, tmp_path):
    for first in range(0, len(CALLS), TOGETHER):
        seeds = CALLS[first : first + TOGETHER]
        plain = [seen(call_of(random.Random(seed), tmp_path)) for seed in seeds]
        calls = [(seed, random.Random(seed)) for seed in seeds]
        answers = natively(lambda calls=calls: [seen(call_of(rng, tmp_path)) for _, rng in calls])
        for seed, ours, theirs in zip(seeds, answers, plain, strict=True):
            assert ours == theirs, f"seed {seed}"
    native = natively.counts()["native"]
    if NATIVE is None:
        assert native > len(CALLS) / 4
    else:
        Path(NATIVE).write_text(str(native))
    assert natively.counts()["by_torchvision"] > len(CALLS) / 50
    assert natively.counts()["torchvision_differs"] == 0


@pytest.mark.parametrize("turn", some_full(range(10), 0, 1, 6))
@pytest.mark.parametrize("sampling", ["4:2:0", "4:4:4", "gray"])
def test_orientations_and_modes_are_followed(natively, turn, sampling):
    file = bytearray(with_orientation(jpeg(sampling, 33, 50, quality=70), turn))
    content = torch.frombuffer(file, dtype=torch.uint8)
    for mode in (ImageReadMode.UNCHANGED, ImageReadMode.GRAY, ImageReadMode.RGB):
        for upright in (False, True):

            def act(mode=mode, upright=upright):
                return io.decode_image(content, mode, upright)

            assert seen(lambda act=act: natively(act)) == seen(act)
    assert natively.counts()["native"] == (6 if 1 <= turn <= 8 else 3)


def compiled(content: torch.Tensor) -> torch.Tensor:
    return torch.ops.image.decode_jpeg(content, 3, False)


def test_an_operator_is_one_of_torchs_all_the_same(natively):
    content = torch.frombuffer(bytearray(jpeg("4:2:0", 33, 50)), dtype=torch.uint8)
    plain = torch.ops.image.decode_jpeg

    def act():
        operator = torch.ops.image.decode_jpeg
        assert operator is not plain
        assert isinstance(operator, type(plain))
        assert (operator.default, operator.overloads()) == (plain.default, plain.overloads())
        assert str(operator) == str(plain)
        return operator(content, 3), torch.jit.script(compiled)(content)

    assert all(torch.equal(each, plain(content, 3)) for each in natively(act))
    assert torch.ops.image.decode_jpeg is plain
    assert natively.counts()["native"] == 1


def test_one_that_a_user_has_replaced_stays_his(natively, monkeypatch):
    monkeypatch.setattr(torch.ops.image, "decode_image", lambda *_: "mine")
    content = torch.frombuffer(bytearray(jpeg("4:2:0", 33, 50)), dtype=torch.uint8)
    assert natively(lambda: io.decode_image(content)) == "mine"


def test_a_torchvision_that_decodes_otherwise_is_left_alone_and_named(natively, monkeypatch):
    monkeypatch.setattr(torchvision_io, "_alike", lambda *_: False)
    content = torch.frombuffer(bytearray(jpeg("4:2:0", 33, 50)), dtype=torch.uint8)
    natively(lambda: io.decode_image(content))
    assert natively.counts()["native"] == 0
    assert "by torchvision, which decodes them otherwise" in described(natively.counts())


def test_a_mode_of_torchs_sees_it(natively):
    from torch.utils._python_dispatch import TorchDispatchMode

    class Seeing(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            called.append(str(func))
            return func(*args, **(kwargs or {}))

    called = []
    content = torch.frombuffer(bytearray(jpeg("4:2:0", 33, 50)), dtype=torch.uint8)
    with Seeing():
        natively(lambda: io.decode_image(content))
    assert any("decode_image" in each or "permute" in each for each in called)
    assert natively.counts()["native"] == 0


class Photos(data.Dataset):
    """As people write them who use torchvision alone."""

    def __init__(self, folder):
        self.paths = sorted(Path(folder).glob("*.jpg"))

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        content = io.read_file(str(self.paths[index]))
        gray = io.decode_jpeg(content, ImageReadMode.GRAY)
        picture = read_image(str(self.paths[index]), ImageReadMode.RGB)
        return picture[:, :30, :40], gray[:, ::2, ::2][:, :15, :20]


@pytest.mark.parametrize("workers", [0, 2])
def test_a_dataset_gives_the_same_and_is_counted(workers, tmp_path):
    for number, sampling in enumerate(("4:4:4", "4:2:0", "4:2:2")):
        (tmp_path / f"{number}.jpg").write_bytes(jpeg(sampling, 40 + number, 50, quality=60))
    options = {"num_workers": workers} | ({"multiprocessing_context": "fork"} if workers else {})
    loader = drapps.torch.DataLoader(Photos(tmp_path), 2, accelerate=True, **options)
    plain = drapps.torch.DataLoader(Photos(tmp_path), 2, accelerate=False, **options)
    for ours, theirs in zip(loader, plain, strict=True):
        assert all(map(torch.equal, ours, theirs))
    assert loader.explain().plan.pictures == {"native": 6}
    assert type(torch.ops.image.decode_jpeg) is torch._ops.OpOverloadPacket
