"""The builder on arrays: batches of the same columns, and what makes no sense of them."""

import json

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import drapps  # noqa: E402


def test_arrays_become_batches_of_the_same_columns():
    columns = {
        "image": np.random.default_rng(1).integers(0, 256, (30, 8, 9, 3), np.uint8),
        "label": np.arange(30, dtype=np.int16),
        "weight": np.random.default_rng(2).random((30, 2)),
    }
    batches = list(drapps.arrays(columns).batch(7).numpy())
    for name, array in columns.items():
        assert np.array_equal(np.concatenate([batch[name] for batch in batches]), array)
        assert batches[0][name].dtype == array.dtype
    assert [len(batch["index"]) for batch in batches] == [7, 7, 7, 7, 2]
    pictures = drapps.arrays(columns, pictures="image").normalize([0.5] * 3, [0.25] * 3)
    (batch,) = pictures.batch(30).torch()
    expected = (torch.from_numpy(columns["image"]).permute(0, 3, 1, 2) / 255 - 0.5) / 0.25
    assert torch.equal(batch["image"], expected)
    assert batch["weight"].dtype == torch.float64
    planes = {"image": columns["image"].transpose(0, 3, 1, 2)}
    (same,) = drapps.arrays(planes, "image", "nchw").center_crop(4).to("uint8").batch(30).numpy()
    assert np.array_equal(same["image"], planes["image"][:, :, 2:6, 2:6])  # of 9 columns, from 2


def test_the_builder_shards_shuffles_and_resumes_arrays():
    numbers = {"x": np.arange(100)}
    source = drapps.arrays(numbers).shuffle(3)
    whole = np.concatenate([b["x"] for b in source.batch(8).numpy()])
    assert sorted(whole.tolist()) == list(range(100))
    ranks = [source.shard(r, 3).batch(4) for r in range(3)]
    together = np.concatenate([b["x"] for rank in ranks for b in rank.numpy()])
    assert sorted(together.tolist()) == list(range(100))
    batches = source.batch(8)
    iterator = iter(batches)
    next(iterator)
    state = json.loads(json.dumps(batches.state_dict()))
    again = source.batch(8)
    again.load_state_dict(state)
    assert np.concatenate([b["x"] for b in again.numpy()]).tolist() == whole[8:].tolist()


@pytest.mark.parametrize(
    ("columns", "more", "message"),
    [
        ({}, {}, "no array"),
        ({"x": [1, 2]}, {}, "is a list"),
        ({"x": np.zeros(())}, {}, r"shape is \(\)"),
        ({"x": np.zeros((0, 3))}, {}, "empty"),
        ({"x": np.zeros(3, complex)}, {}, "complex128"),
        ({"x": np.array(["a"])}, {}, "dtype <U1"),
        ({"x": np.zeros(3, ">i4")}, {}, "native byte order"),
        ({"x": np.zeros((4, 6))[:, ::2]}, {}, "gaps"),
        ({"x": np.zeros(3), "y": np.zeros(4)}, {}, "4 rows"),
        ({"flags": np.zeros(3)}, {}, "flags"),
        ({"x": np.zeros(3)}, {"pictures": "y"}, "none of the arrays"),
        ({"x": np.zeros((3, 4, 4))}, {"pictures": "x"}, "uint8"),
        ({"x": np.zeros((3, 4, 4, 2), "u1")}, {"pictures": "x"}, "2 channels as nhwc"),
        ({"x": np.zeros((3, 4, 4, 3), "u1")}, {"pictures": "x", "layout": "hwc"}, "layout"),
        (np.zeros((900, 900)), {}, "^columns is ndarray, and must be a mapping from names to .*$"),
    ],
)
def test_arrays_that_make_no_sense_are_named(columns, more, message):
    with pytest.raises(drapps.PipelineError, match=message):
        drapps.arrays(columns, **more)


def test_ops_need_pictures():
    with pytest.raises(drapps.PipelineError, match="no pictures to work on"):
        drapps.arrays({"x": np.zeros((3, 4))}).flip().batch(2)
    tall = drapps.arrays({"x": np.zeros((3, 4, 4), "u1")}, "x").random_crop(8)
    with pytest.raises(drapps.PipelineError, match="does not fit"):
        tall.batch(2)
