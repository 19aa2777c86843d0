"""Transforms that make numbers of a picture, where they follow each other: in one go, or not."""

from __future__ import annotations

import io
import weakref

import pytest
import torch
from PIL import Image

from drapps.accelerate import patching
from drapps.accelerate.here import Region
from drapps.accelerate.patches import Patches
from drapps.accelerate.tally import Tally
from drapps.accelerate.views import View
from python.tests.picture_files import large_file

MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]


@pytest.fixture
def asked(monkeypatch):
    """How the pixels of pictures were asked for."""
    natively(lambda: None)  # Pillow is looked at, once
    names = []
    for name in ("to_normalized", "to_floats", "to_bytes", "interleaved", "for_pillow"):
        plain = vars(View)[name]

        def call(self, *args, name=name, plain=plain):
            names.append(name)
            return plain(self, *args)

        monkeypatch.setattr(View, name, call)
    return names


def three(v2, **options):
    return [v2.ToImage(), v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, STD, **options)]


def opened(mode="RGB"):
    return Image.open(io.BytesIO(large_file())).convert(mode).resize((50, 40), 2)


def natively(act):
    """What `act` gives as a sample of ours."""
    with Region(Tally(1).of_process(0)):
        return act()


def same(left, right):
    return (
        type(left) is type(right)
        and left.stride() == right.stride()
        and torch.equal(left, right)
        and (left._base is None) == (right._base is None)
    )


@pytest.mark.parametrize("inplace", [False, True])
@pytest.mark.parametrize("flipped", [False, True])
def test_they_are_one(v2, asked, inplace, flipped):
    before = [v2.functional.hflip] if flipped else []
    chain = v2.Compose([*before, *three(v2, inplace=inplace)])
    tensor = natively(lambda: chain(opened()))
    assert asked == ["to_normalized"]
    assert same(tensor, chain(opened()))


@pytest.mark.parametrize("inplace", [False, True])
def test_so_are_those_of_the_first_interface(v1, asked, inplace):
    numbers = [v1.ToTensor(), v1.Normalize(MEAN, STD, inplace)]
    chain = v1.Compose([v1.functional.hflip, *numbers, v1.RandomHorizontalFlip(0)])
    tensor = natively(lambda: chain(opened()))
    assert asked == ["to_normalized"]
    assert same(tensor, chain(opened()))


def test_what_a_user_has_put_on_one_of_those_is_called(v1, asked):
    called = []
    numbers = [v1.ToTensor(), v1.Normalize(MEAN, STD)]
    hooked([None, numbers[1]], called)
    chain = v1.Compose(numbers)
    tensor = natively(lambda: chain(opened()))
    assert (called, asked) == ([1], ["to_floats"])
    assert same(tensor, chain(opened()))


def test_of_gray_made_colours_too(v2, asked):
    chain = v2.Compose(three(v2))
    tensor = natively(lambda: chain(opened("L").convert("RGB")))
    assert asked == ["to_normalized"]
    assert same(tensor, chain(opened("L").convert("RGB")))


def test_one_by_one_bytes_go_straight_to_where_they_are_read(v2, asked):
    def act():
        image = v2.functional.to_image(opened())
        floats = v2.functional.to_dtype(image, torch.float32, scale=True)
        return image, floats, v2.functional.normalize(floats, MEAN, STD)

    outputs = natively(act)
    assert asked == ["to_bytes"]
    assert all(map(same, outputs, act()))


def hooked(parts, called):
    parts[1].register_forward_hook(lambda *_: called.append(1))


def on_the_object(parts, called):
    plain = parts[2].transform

    def transform(*args):
        called.append(1)
        return plain(*args)

    parts[2].transform = transform


@pytest.mark.parametrize("how", [hooked, on_the_object])
def test_what_a_user_has_put_on_one_is_called(v2, asked, how):
    parts, called = three(v2), []
    how(parts, called)
    chain = v2.Compose(parts)
    tensor = natively(lambda: chain(opened()))
    assert called == [1]
    assert "to_normalized" not in asked
    assert same(tensor, chain(opened()))


@pytest.mark.parametrize("before", [False, True])
def test_a_function_of_a_users_is_called(v2, monkeypatch, before):
    called = []
    plain = v2.ToDtype.transform

    def transform(self, *args):
        called.append(1)
        return plain(self, *args)

    def put():
        monkeypatch.setattr(v2.ToDtype, "transform", transform)

    def act():
        if not before:
            put()
        return v2.Compose(three(v2))(opened())

    if before:
        put()
    natively(act)
    assert called == [1]


def test_a_mode_of_torchs_sees_them_all(v2, asked):
    from torch.utils._python_dispatch import TorchDispatchMode

    class Seeing(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append(str(func))
            return func(*args, **(kwargs or {}))

    seen = []

    def act():
        with Seeing():
            return v2.Compose(three(v2))(opened())

    natively(act)
    assert any("div" in each for each in seen) or "to_normalized" not in asked


def test_subclasses_are_their_own(v2, asked):
    class Mine(v2.Normalize):
        def transform(self, inpt, params):
            return super().transform(inpt, params) + 1

    chain = v2.Compose([*three(v2)[:2], Mine(MEAN, STD)])
    tensor = natively(lambda: chain(opened()))
    assert "to_normalized" not in asked
    assert same(tensor, chain(opened()))


def test_what_torch_compiles_is_torchvisions(v1, v2, monkeypatch):
    pixels = torch.randint(0, 255, (3, 50, 60), dtype=torch.uint8)
    numbers = torch.rand(3, 50, 60)

    def act():
        # As if none of them had been compiled before.
        monkeypatch.setattr(torch.jit._state, "_jit_caching_layer", weakref.WeakKeyDictionary())
        functional, script = v2.functional, torch.jit.script
        chain = torch.nn.Sequential(v1.CenterCrop(20), v1.Normalize(MEAN, STD))
        resized = script(functional.resize_image)(pixels, [20, 30])
        return resized, script(chain)(numbers), script(functional.to_dtype_image)(pixels)

    with_it = natively(act)
    patches = Patches()
    try:
        for name in patching.imported():
            for then in patching.TENSORS.get(name, ()):
                then(patches)
        again = act()
    finally:
        patches.undo()
    wanted = act()
    assert all(map(torch.equal, with_it, wanted))
    assert all(map(torch.equal, again, wanted))
