"""What is recognised of timm's transforms."""

import pytest

pytest.importorskip("torch")

import drapps.torch
from drapps.torch.lifting import chain_of
from drapps.torch.recognise import NotLifted
from python.tests.lifting_chains import MEAN, one_op, reject


@pytest.fixture(scope="module")
def folder(torchvision):
    return torchvision.datasets.ImageFolder


@pytest.fixture(scope="module")
def create(v1):
    return pytest.importorskip("timm.data").create_transform if v1 else None


def test_timm_training(create):
    chain = chain_of(create(24, is_training=True, re_prob=0.25, re_count=3, re_mode="pixel"))
    names = ["random_resized_crop", "horizontal_flip", "color_jitter", "random_erasing"]
    assert [op["op"] for op in chain.ops] == names
    erasing = chain.ops[-1]
    assert (erasing["mode"], erasing["min_count"], erasing["max_count"]) == (
        "normal_per_pixel",
        1,
        3,
    )
    assert erasing["ratio"] == pytest.approx([0.3, 1 / 0.3])
    assert erasing["scale"] == pytest.approx([0.02, 1 / 3])


def test_timm_random_interpolation(create):
    chain = chain_of(create(24, is_training=True, interpolation="random"))
    assert chain.ops[0]["interpolation"] == "random"


def test_timm_evaluation(create):
    chain = chain_of(create((3, 24, 24), interpolation="bicubic"))
    assert [op["op"] for op in chain.ops] == ["resize", "center_crop"]
    assert chain.mean == pytest.approx(MEAN)


def test_timm_resize_keep_ratio(v1, photos, folder):
    timm = pytest.importorskip("timm.data.transforms")

    def op_of(*arguments, **more):
        return one_op(v1.Compose, timm.ResizeKeepRatio(*arguments, **more), v1.ToTensor())

    plain = op_of(24, 1.0, "bicubic")
    assert (plain["op"], plain["height"], plain["width"]) == ("resize_keep_ratio", 24, 24)
    assert (plain["longest"], plain["interpolation"]) == (1.0, "bicubic")
    assert plain["scale_p"] == plain["aspect_p"] == 0.0
    drawn = op_of(
        (24, 30),
        interpolation="random",
        random_scale_prob=0.25,
        random_scale_range=(0.5, 1.5),
        random_scale_area=True,
        random_aspect_prob=0.75,
        random_aspect_range=(0.8, 1.25),
    )
    assert (drawn["height"], drawn["width"], drawn["interpolation"]) == (24, 30, "random")
    assert (drawn["scale_p"], drawn["scale"], drawn["scale_area"]) == (0.25, [0.5, 1.5], True)
    assert (drawn["aspect_p"], drawn["aspect"]) == (0.75, [0.8, 1.25])

    def ordered(*arguments, **more):
        steps = [timm.ResizeKeepRatio(*arguments, **more), v1.CenterCrop(9), v1.ToTensor()]
        chain = folder(photos, v1.Compose(steps))
        return drapps.torch.DataLoader(chain, torch_order=True).lifted().reasons

    assert not ordered(24)
    assert "resize_keep_ratio draws" in ordered(24, interpolation="random")[0]
    assert "resize_keep_ratio draws" in ordered(24, random_aspect_prob=0.1)[0]
    reject(v1.Compose([timm.ResizeKeepRatio(24, 1.5), v1.ToTensor()]), "longest=1.5 must be")
    reject(v1.Compose([v1.ToTensor(), timm.ResizeKeepRatio(24)]), "runs on a tensor of floats")


def test_timm_borders(create, v1):
    chain = chain_of(create((3, 24, 30), crop_mode="border", mean=(0.5, 0.25, 0.125)))
    keep, crop = chain.ops
    assert (keep["op"], keep["longest"]) == ("resize_keep_ratio", 1.0)
    assert crop == {"op": "center_crop", "height": 24, "width": 30, "fill": [128, 64, 32]}
    chain = chain_of(create(24, is_training=True, train_crop_mode="rkrc"))
    assert [op["op"] for op in chain.ops[:2]] == ["resize_keep_ratio", "center_crop"]
    assert (chain.ops[0]["aspect_p"], chain.ops[1]["mode"]) == (0.5, "reflect")
    timm = pytest.importorskip("timm.data.transforms")
    reject(v1.Compose([v1.PILToTensor(), timm.CenterCropOrPad(8)]), "runs on a tensor of bytes")


def test_timm_bytes_for_its_prefetcher(create):
    assert chain_of(create(24, use_prefetcher=True)).form.name == "BYTES"


def test_timm_policies_are_named(create):
    with pytest.raises(NotLifted, match=r"timm\.data\.auto_augment\.RandAugment"):
        chain_of(create(24, is_training=True, auto_augment="rand-m9-mstd0.5"))
