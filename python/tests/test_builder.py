import json
import subprocess
import sys

import numpy as np
import pytest

import drapps
from python.tests.test_stream_format import Draws


def ops_of(pipeline):
    return pipeline.describe()["ops"]


def test_import_loads_no_framework():
    modules = subprocess.run(
        [sys.executable, "-c", "import sys, drapps; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    assert "drapps" in modules
    assert not {"torch", "torchvision", "tensorflow", "jax", "numpy", "PIL"} & set(modules)


def test_every_public_name_resolves():
    for name in drapps.__all__:
        assert getattr(drapps, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = drapps.nothing


def test_a_pipeline_is_immutable_and_shares_its_beginning(photos):
    start = drapps.image_folder(photos).center_crop(32)
    train = start.flip()
    assert len(ops_of(start)) == 1
    assert [op["op"] for op in ops_of(train)] == ["center_crop", "horizontal_flip"]
    with pytest.raises(AttributeError):
        start.source = None


def test_folder_labels_follow_the_sorted_class_names(photos):
    pipeline = drapps.image_folder(photos)
    assert pipeline.classes == ("class_0", "class_1", "class_2")
    batch = next(iter(pipeline.center_crop(32).batch(21)))
    assert np.asarray(batch["label"]).tolist() == [0] * 7 + [1] * 7 + [2] * 7


def test_folder_order_is_that_of_torchvision(photos, torchvision):
    stock = torchvision.datasets.ImageFolder(photos)
    mine = drapps.image_folder(photos).source
    assert [path.decode() for path in mine._paths] == [path for path, _ in stock.samples]
    assert mine._labels.tolist() == stock.targets


def test_a_folder_without_what_it_needs_is_refused(tmp_path, own_photos):
    with pytest.raises(drapps.DataNotFoundError, match="is not a folder"):
        drapps.image_folder(tmp_path / "absent")
    (tmp_path / "empty").mkdir()
    with pytest.raises(drapps.DataNotFoundError, match="has no class folders"):
        drapps.image_folder(tmp_path / "empty")
    (own_photos / "class_x").mkdir()
    with pytest.raises(drapps.DataNotFoundError, match=r"'class_x'.*no pictures"):
        drapps.image_folder(own_photos)
    assert issubclass(drapps.DataNotFoundError, FileNotFoundError)
    assert issubclass(drapps.DataNotFoundError, ValueError)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda p: p.random_resized_crop(0), "size"),
        (lambda p: p.random_resized_crop((1, 2, 3)), "size"),
        (lambda p: p.random_resized_crop(8, scale=(1.0, 0.1)), "scale"),
        (lambda p: p.random_resized_crop(8, interpolation="lanczos"), "interpolation"),
        (lambda p: p.resize((8, 8), max_size=9), "max_size"),
        (lambda p: p.resize(None), "resize needs"),
        (lambda p: p.center_crop("8"), "size"),
        (lambda p: p.crop(-1, 0, 8), "top"),
        (lambda p: p.crop(0, 0, (8, 0)), "size"),
        (lambda p: p.random_crop(8, padding=(1, 2, 3)), "padding"),
        (lambda p: p.pad(-1), "padding"),
        (lambda p: p.pad(1, mode="mirror"), "mode"),
        (lambda p: p.flip(1.5), "p=1.5"),
        (lambda p: p.flip(True), "p=True"),
        (lambda p: p.color_jitter(brightness=-1), "brightness"),
        (lambda p: p.random_erasing().flip(), "cannot follow random_erasing"),
        (lambda p: p.normalize([0.5], [0.5, 0.5]), "one number per channel"),
        (lambda p: p.normalize([0.5] * 3, [0.0] * 3), "zero"),
        (lambda p: p.normalize("abc", "abc"), "mean"),
        (lambda p: p.to("float64"), "dtype"),
        (lambda p: p.to("float32", layout="chw"), "layout"),
        (lambda p: p.shard(2, 2), "rank"),
        (lambda p: p.shard(0, 2, "spread"), "remainder"),
        (lambda p: p.shuffle(-1), "seed"),
        (lambda p: p.seed(2**64), "seed"),
        (lambda p: p.on_error("ignore"), "action"),
        (lambda p: p.decode(color="bgr"), "color"),
        (lambda p: p.decode(depth="shift"), "depth"),
        (lambda p: p.mixup(0.0), "alpha=0.0"),
        (lambda p: p.cutmix(float("nan")), "alpha=nan"),
        (lambda p: p.cutmix(float("inf")), "alpha=inf"),
        (lambda p: p.center_crop(8).cutmix(1e7).batch(2), "cutmix_alpha"),
        (lambda p: p.mixup(num_classes=0), "num_classes"),
        (lambda p: p.mixup(p=2), "p=2"),
        (lambda p: p.cutmix_or_mixup(cutmix_share=-1), "cutmix_share=-1"),
        (lambda p: p.mixup().cutmix(), "cutmix_or_mixup"),
        (lambda p: p.center_crop(8).mixup(num_classes=2).batch(2), "has the label 2"),
        (lambda p: p.to("uint8").mixup().batch(2), "mixup makes fractions"),
        (lambda p: p.batch(0), "size"),
        (lambda p: p.batch(2, policy="best"), "policy"),
        (lambda p: p.batch(2, cpu_budget=0), "cpu_budget"),
        (lambda p: p.batch(2, ram_budget=0.5), "ram_budget"),
        (lambda p: p.to("uint8").normalize([0.5], [0.5]).batch(2), "normalize makes floats"),
    ],
)
def test_wrong_use_is_refused_where_it_is_written(photos, wrong, message):
    with pytest.raises(drapps.PipelineError, match=message):
        wrong(drapps.image_folder(photos))


def test_pictures_of_different_sizes_are_refused_before_the_first_batch(photos):
    with pytest.raises(drapps.PipelineError):
        drapps.image_folder(photos).resize(32).batch(2)


@pytest.mark.parametrize(
    ("labels", "message"),
    [([1], "2 integers"), ([0.5, 1.0], "integers"), ([[1], [2]], "integers")],
)
def test_labels_must_be_one_integer_per_sample(labels, message):
    with pytest.raises(drapps.PipelineError, match=message):
        drapps.image_bytes([b"a", b"b"], labels)


def test_sources_that_cannot_be_meant_are_refused():
    with pytest.raises(drapps.PipelineError, match="empty"):
        drapps.images([])
    with pytest.raises(drapps.PipelineError, match="list of files"):
        drapps.images("photo.jpg")
    with pytest.raises(drapps.PipelineError, match="record 1 is str"):
        drapps.image_bytes([b"a", "b"])
    with pytest.raises(drapps.PipelineError, match="1 masks for 2"):
        drapps.images(["a", "b"], masks=["c"])
    with pytest.raises(drapps.PipelineError, match="offsets"):
        drapps.images(["a"], boxes=([0], np.zeros((0, 4)), []))
    with pytest.raises(drapps.PipelineError, match="last offset"):
        drapps.images(["a"], boxes=([0, 2], np.zeros((1, 4)), [0]))


def test_the_description_is_json_with_every_default(photos):
    pipeline = drapps.image_folder(photos).random_resized_crop(24, scale=(0.5, 1)).shuffle(3)
    described = pipeline.describe()
    assert json.loads(json.dumps(described)) == described
    assert described["ops"][0]["scale"] == [0.5, 1.0]
    assert described["sampler"]["shuffle"] is True
    assert described["sampler"]["seed"] == 3
    assert described["decode"] == {"color": "rgb", "exif": "ignore", "depth": "raise"}


def test_every_op_of_the_builder_is_known_to_the_core(photos):
    pipeline = (
        drapps.image_folder(photos)
        .decode(exif="apply", depth="clip")
        .pad((1, 2), fill=(1, 2, 3), mode="constant")
        .random_crop((64, 72), padding=4, pad_if_needed=True, mode="reflect")
        .resize(40, max_size=50, interpolation="bicubic")
        .resize_keep_ratio((40, 44), 0.5, "random", scale_p=0.5, scale_area=True, aspect_p=0.5)
        .random_resized_crop((36, 38), interpolation="random", pass_order="pillow13")
        .crop(2, 3, (34, 33))
        .center_crop((36, 30), fill=(4, 5, 6), mode="edge", mask_fill=9)
        .center_crop((32, 30))
        .flip(0.3)
        .flip_vertical(0.2)
        .color_jitter(0.1, (0.5, 1.5), 0.2, 0.1)
        .random_grayscale(0.4)
        .grayscale(3)
        .random_erasing(0.5, mode="normal_per_pixel", count=(1, 3))
        .normalize([0.5, 0.4, 0.3], [0.2, 0.2, 0.3])
        .to("float32", layout="nhwc")
        .shuffle(1)
        .shard(0, 1, "pad")
        .seed(5)
        .on_error("skip")
    )
    batch = next(iter(pipeline.batch(4)))
    image = np.asarray(batch["image"])
    assert image.shape == (4, 32, 30, 3)
    assert image.dtype == np.float32
    assert np.isfinite(image).all()


def test_ops_that_run_sometimes(photos):
    def some(pipeline):
        return pipeline.flip(1.0).random_apply(lambda inner: inner.grayscale(3), p=0.5)

    whole = drapps.image_folder(photos).center_crop(20)
    described = whole.random_apply(some, p=0.25).flip_vertical().describe()["ops"]
    assert [(op["op"], op.get("count")) for op in described] == [
        ("center_crop", None),
        ("random_apply", 3),
        ("horizontal_flip", None),
        ("random_apply", 1),
        ("grayscale", None),
        ("vertical_flip", None),
    ]
    assert (described[1]["p"], described[3]["p"]) == (0.25, 0.5)
    for wrong in (lambda same: same, lambda _: whole.flip(), lambda more: more.flip().seed(3)):
        with pytest.raises(drapps.PipelineError, match="adds ops, and nothing else"):
            whole.grayscale(1).random_apply(wrong)


def test_the_ops_that_run_sometimes_draw_with_their_own_ordinals(photos):
    """A sample has either all of them or none, and is what they would make of it without a gate."""
    count, seed = 21, 3
    whole = drapps.image_folder(photos).center_crop((50, 60)).to("uint8").seed(seed)

    def pictures(pipeline):
        return np.concatenate([np.asarray(batch["image"]) for batch in pipeline.batch(4)])

    gated = pictures(whole.random_apply(lambda some: some.color_jitter(0.5, 0.5), 0.5).flip(0.5))
    plain = pictures(whole)
    jittered = pictures(whole.flip(0.0).color_jitter(0.5, 0.5))  # op 3 here as well
    applied = 0
    for position in range(count):
        key = seed * 0xD1342543DE82EF95 % 2**64
        coin = Draws(key, 0, position, 2).coin(0.5)
        expected = (jittered if coin else plain)[position]
        if Draws(key, 0, position, 4).coin(0.5):
            expected = expected[..., ::-1]
        np.testing.assert_array_equal(gated[position], expected)
        applied += coin
    assert 0 < applied < count


def test_sample_errors_survive_pickling():
    import pickle

    error = drapps.SampleError("decode", "truncated", "a.jpg", 12, 3, "the data ends early")
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == "decode: truncated: a.jpg (sample 3) at byte 12: the data ends early"
    assert (again.path, again.offset, again.stage, again.index) == ("a.jpg", 12, "decode", 3)
