"""The boxes of random crops: the same draws, in both of torchvision's interfaces."""

from __future__ import annotations

import pytest
import torch
from PIL import Image
from torchvision import transforms

from drapps.accelerate import cropping
from drapps.accelerate.patches import Patches
from drapps.accelerate.watched import is_watched

SIZES = [(1, 1), (1, 90), (17, 4), (500, 375), (640, 480)]
ARGUMENTS = [
    {},
    {"scale": (0.4, 0.4)},
    {"scale": [0.9, 1.0], "ratio": [0.5, 4.0]},
    {"ratio": (1, 2)},
    {"ratio": (7.0, 9.0)},
]


@pytest.fixture(params=["v1", "v2"])
def crops(request, v2):
    """RandomResizedCrop of an interface, and what patches it."""
    first = request.param == "v1"
    module, patch = (transforms, cropping.patch_first) if first else (v2, cropping.patch_second)
    name = "get_params" if first else "make_params"
    plain = vars(module.RandomResizedCrop)[name]
    patches = Patches()
    patch(patches)
    assert vars(module.RandomResizedCrop)[name] is not plain
    yield module.RandomResizedCrop
    patches.undo()
    assert vars(module.RandomResizedCrop)[name] is plain


def boxes(transform, size, count=6):
    """What it draws, and the state of the generator behind that; or how it failed."""
    torch.manual_seed(11)
    image = Image.new("RGB", size)
    try:
        if hasattr(transform, "make_params"):
            drawn = [transform.make_params([image]) for _ in range(count)]
        else:
            drawn = [
                transform.get_params(image, transform.scale, transform.ratio) for _ in range(count)
            ]
    except Exception as error:
        return type(error), str(error)
    return drawn, torch.get_rng_state().tolist()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_boxes_are_the_same(crops, dtype):
    torch.set_default_dtype(dtype)
    try:
        ours = [boxes(crops(8, **each), size) for each in ARGUMENTS for size in SIZES]
        name = "make_params" if hasattr(crops, "make_params") else "get_params"
        standing = vars(crops)[name]
        plain = getattr(crops, name).__wrapped__
        setattr(crops, name, plain if name == "make_params" else staticmethod(plain))
        theirs = [boxes(crops(8, **each), size) for each in ARGUMENTS for size in SIZES]
        setattr(crops, name, standing)
    finally:
        torch.set_default_dtype(torch.float32)
    assert ours == theirs


def test_putting_it_there_draws_nothing(v2):  # noqa: ARG001
    torch.manual_seed(5)
    before = torch.get_rng_state()
    patches = Patches()
    cropping.patch_first(patches)
    cropping.patch_second(patches)
    patches.undo()
    assert torch.equal(before, torch.get_rng_state())


def test_what_torch_compiles_is_torchvisions(crops):
    transform = crops(8)
    picture = torch.rand(3, 20, 30)
    torch.manual_seed(3)
    plain = transform(picture)
    torch.manual_seed(3)
    assert torch.equal(torch.jit.script(transform)(picture), plain)


def test_who_watches_torch_sees_all(crops):
    class Watch(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            names.append(func.__name__)
            return func(*args, **(kwargs or {}))

    names = []
    with Watch():
        assert is_watched()
        boxes(crops(8), (50, 40), 1)
    assert names.count("__getitem__") >= 2  # of the tensor of logarithms


def test_a_users_function_stays(monkeypatch):
    mine = staticmethod(lambda *_: (0, 0, 1, 1))
    monkeypatch.setattr(transforms.RandomResizedCrop, "get_params", mine)
    cropping.patch_first(Patches())
    assert vars(transforms.RandomResizedCrop)["get_params"] is mine
