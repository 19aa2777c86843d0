"""The description that the core reads has one writer."""

import json

import drapps
from drapps import ops
from drapps.spec import Decode, Mask, Sampler, Spec, Tensor


def test_the_defaults_are_the_builders():
    described = drapps.image_bytes([b""]).describe()
    assert described == Spec().to_json()
    assert list(described) == ["version", "decode", "ops", "tensor", "sampler", "seed", "on_error"]
    assert described["tensor"] == {
        "dtype": "float32",
        "layout": "nchw",
        "scale": True,
        "mean": [],
        "std": [],
    }


def test_what_is_none_is_left_to_the_core():
    described = Spec(tensor=Tensor(mean=None, std=None, reciprocal=True)).to_json()
    assert described["tensor"] == {
        "dtype": "float32",
        "layout": "nchw",
        "scale": True,
        "reciprocal": True,
    }
    assert "mask" not in described


def test_all_of_it_is_json():
    spec = Spec(
        decode=Decode(cmyk="tensorflow"),
        ops=(ops.horizontal_flip(), ops.with_torch_masks(ops.resize(8))),
        tensor=Tensor(mean=(0.5,), std=(0.25,)),
        mask=Mask("int64", channel=True),
        sampler=Sampler(batch=4, rank=1, world=2),
        mix=ops.mix(10, 1.0, 0.0, 1.0),
        max_boxes=3,
    )
    described = spec.to_json()
    assert json.loads(json.dumps(described)) == described
    assert described["ops"][1]["mask_nearest"] == "torch"
    assert described["mask"] == {"dtype": "int64", "channel": True}
    assert described["sampler"]["world"] == 2
    assert spec.sampler.global_batch == 8
