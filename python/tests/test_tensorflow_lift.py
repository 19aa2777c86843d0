"""drapps.tensorflow.lift: what is lifted equals TensorFlow byte for byte, the rest says why not."""

import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from python.tests.conftest import picture

tf = pytest.importorskip("tensorflow", reason="TensorFlow is not installed")
from drapps.tensorflow import lift  # noqa: E402

MEAN = np.array([0.485, 0.456, 0.406], np.float32)
STD = np.array([0.229, 0.224, 0.225], np.float32)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """JPEGs and PNGs of odd sizes: colour, gray, four inks, turned by EXIF, progressive."""
    folder = tmp_path_factory.mktemp("files")
    turned = Image.Exif()
    turned[0x112] = 6
    paths = []
    for number in range(40):
        image = picture(number, 41 + 7 * number % 83, 45 + 11 * number % 71)
        options = {
            "quality": 60 + number,
            "subsampling": number % 3,
            "progressive": number % 4 == 1,
        }
        ending = "jpg"
        if number % 8 == 3:
            image = image.convert("L")
        elif number % 8 == 5:
            image = image.convert("CMYK")
        elif number % 8 == 6:
            options["exif"] = turned
        elif number % 8 == 7:
            image, ending, options = image.convert(("RGB", "P", "RGBA")[number % 3]), "png", {}
        paths.append(f"{folder}/{number:02}.{ending}")
        image.save(paths[-1], **options)
    return paths


def decoded(path):
    content = tf.io.read_file(path)
    return tf.io.decode_jpeg(content, channels=3, dct_method="INTEGER_ACCURATE")


def made_of(files, function, batch=7, **options):
    """A dataset of (function(picture), label)."""

    def load(path, label):
        return function(decoded(path)), label

    listed = tf.data.Dataset.from_tensor_slices((files, list(range(len(files)))))
    return listed.map(load, **options).batch(batch)


def middle(height, width):
    """A crop of the middle as it is written by hand."""

    def crop(image):
        shape = tf.shape(image)
        top, left = (shape[0] - height) // 2, (shape[1] - width) // 2
        return image[top : top + height, left : left + width]

    return crop


def scaled(image):
    return tf.cast(image, tf.float32) / 255.0


def same(one, other):
    if one.dtype == tf.string:
        return bool(tf.reduce_all(one == other))
    return one.dtype == other.dtype and np.asarray(one).tobytes() == np.asarray(other).tobytes()


def assert_lifted(data):
    """The result of `lift`, whose elements are those of `data`."""
    lifted = lift(data)
    assert lifted.report, str(lifted.report)
    assert lifted.loader is not None
    expected, elements = list(data), list(lifted.dataset)
    assert len(expected) == len(elements)
    for theirs, ours in zip(expected, elements, strict=True):
        tf.nest.assert_same_structure(theirs, ours)
        for one, other in zip(tf.nest.flatten(theirs), tf.nest.flatten(ours), strict=True):
            assert one.shape == other.shape
            assert same(one, other)
    for spec, other in zip(
        tf.nest.flatten(data.element_spec),
        tf.nest.flatten(lifted.dataset.element_spec),
        strict=True,
    ):
        assert spec.is_compatible_with(other)
    return lifted


def why_not(data):
    lifted = lift(data)
    assert not lifted.report
    assert lifted.dataset is data
    assert lifted.loader is None
    [reason] = lifted.report.reasons
    assert reason in str(lifted.report)
    return reason


LIFTED = {
    "crop or pad": lambda x: tf.image.resize_with_crop_or_pad(x, 64, 71),
    "crop or pad, odd": lambda x: tf.image.resize_with_crop_or_pad(x, 63, 50),
    "box": lambda x: tf.image.crop_to_bounding_box(x, 3, 5, 30, 31),
    "slice": lambda x: x[2:34, 3:37],
    "tf.slice": lambda x: tf.slice(x, [1, 2, 0], [30, 30, -1]),
    "middle by hand": middle(32, 36),
    "one pixel": middle(1, 1),
    "left and right": lambda x: tf.image.flip_left_right(x[1:31, 2:32]),
    "upside down, before": lambda x: tf.image.flip_up_down(middle(31, 30)(x)),
    "both, twice": lambda x: tf.image.flip_left_right(middle(9, 8)(x)[::-1, ::-1])[::-1],
    "crop of a mirrored crop": lambda x: tf.image.flip_left_right(
        tf.slice(x, [0, 1, 0], [40, 40, 3])
    )[5:40, 0:20],
    "ensured": lambda x: tf.ensure_shape(middle(8, 9)(x), [8, 9, 3]),
    "float": lambda x: tf.cast(middle(8, 9)(x), tf.float32),
    "scaled": lambda x: scaled(middle(32, 32)(x)),
    "scaled before": lambda x: tf.image.resize_with_crop_or_pad(scaled(x), 64, 71),
    "to [-1, 1]": lambda x: tf.cast(middle(32, 32)(x), tf.float32) / 127.5 - 1.0,
    "converted": lambda x: tf.image.convert_image_dtype(middle(32, 32)(x), tf.float32),
    "normalised": lambda x: (scaled(middle(32, 32)(x)) - MEAN) / STD,
    "constants that fold": lambda x: scaled(middle(20, 20)(x)) * 3.3 * 0.7 + 0.1 - 0.7,
    "constants that fold elsewhere": lambda x: scaled(x[:20, :20]) * 3.3 * 0.7 + 0.1 - 0.7,
    "means of bytes": lambda x: tf.cast(x[:20, :20], tf.float32) - MEAN * 255,
    "few pixels": lambda x: scaled(middle(3, 5)(x)) * MEAN,
    "bfloat16": lambda x: tf.cast(middle(16, 16)(x), tf.bfloat16) / 255,
}


@pytest.mark.parametrize("case", LIFTED)
def test_what_is_lifted_is_tensorflows_byte_for_byte(files, case):
    lifted = assert_lifted(made_of(files, LIFTED[case]))
    assert 'decode_jpeg(channels=3, dct_method="INTEGER_ACCURATE")' in str(lifted.report)
    assert f"{len(files)} files" in lifted.report.source


@pytest.mark.parametrize(
    "side",
    [1, 32, 33, 66]
    + [pytest.param(side, marks=pytest.mark.full) for side in (2, 31, 34, 35, 36, 37, 63, 64, 65)],
)
def test_every_remainder_of_a_crop_is_tensorflows(side, tmp_path):
    paths = []
    for width in range(28, 38):
        paths.append(f"{tmp_path}/{width}.png")
        picture(width, side, width).save(paths[-1])
    assert_lifted(made_of(paths, lambda x: tf.image.resize_with_crop_or_pad(x, 33, 32)))
    if side >= 33:
        assert_lifted(made_of(paths[6:], middle(33, 32)))


def test_functions_of_functions_and_several_maps(files):
    @tf.function
    def load(path):
        return decoded(path)

    listed = tf.data.Dataset.from_tensor_slices(files)
    data = listed.map(lambda path: (load(path), path))
    data = data.map(lambda image, path: (tf.function(middle(20, 21))(image), path))
    data = data.map(lambda image, path: {"image": scaled(image), "path": path}, 2)
    assert_lifted(data.batch(6, drop_remainder=True).prefetch(2))


def test_fields_beside_the_picture(files):
    def load(path, label):
        name = tf.strings.split(tf.strings.split(path, "/")[-1], ".")[0]
        return {
            "image": middle(8, 9)(decoded(path)),
            "more": (path, tf.one_hot(label, 3), tf.strings.to_number(name, tf.int32)),
            "constant": tf.constant([1.5, 2.5]),
            "label": tf.cast(label, tf.uint8),
        }

    listed = tf.data.Dataset.from_tensor_slices((files, np.arange(len(files)) % 3))
    assert_lifted(listed.map(load).batch(7))


def test_lists_of_samples(files):
    def lifted(listed):
        return assert_lifted(listed.map(lambda p: middle(8, 8)(decoded(p))).batch(3))

    folder = files[0].rpartition("/")[0]
    lifted(tf.data.Dataset.list_files(f"{folder}/*.jpg", shuffle=False))
    listed = tf.data.Dataset.from_tensor_slices(files)
    lifted(listed.take(9))
    lifted(listed.skip(30))
    lifted(listed.shard(3, 1))
    lifted(listed.take(4).concatenate(listed.skip(35)))
    lifted(listed.cache())
    both = tf.data.Dataset.zip((listed, tf.data.Dataset.range(40)))
    assert_lifted(both.map(lambda p, i: (middle(8, 8)(decoded(p)), i)).batch(3))


def test_a_shuffled_epoch_has_all_samples_in_another_order_each_time(files):
    def load(path, index):
        return scaled(middle(12, 12)(decoded(path))), index

    listed = tf.data.Dataset.from_tensor_slices((files, range(40)))
    plain = {int(i): image for image, i in listed.map(load)}
    data = listed.shuffle(40, seed=5).map(load).batch(7).prefetch(1).repeat(2)
    lifted = lift(data)
    assert "shuffled" in str(lifted.report)
    assert len(lifted.report.notes) == 1
    orders = []
    for _ in range(2):
        order = []
        for images, indices in lifted.dataset:
            for image, index in zip(images, indices.numpy().tolist(), strict=True):
                assert same(image, plain[index])
                order.append(index)
        orders += [order[:40], order[40:]]
    assert all(sorted(order) == list(range(40)) for order in orders)
    assert len({tuple(order) for order in orders}) == 4
    again = [i for _, batch in lift(data).dataset for i in batch.numpy().tolist()]
    assert [again[:40], again[40:]] == orders[:2]


def stages(files, change):
    listed = tf.data.Dataset.from_tensor_slices(files)
    return change(listed, lambda path: middle(8, 8)(decoded(path)))


def with_size(path):
    image = decoded(path)
    return middle(8, 8)(image), tf.shape(image)


STAY = {
    r"shuffle\(39\) of 40": lambda d, f: d.shuffle(39).map(f).batch(4),
    "reshuffle_each_iteration": lambda d, f: (
        d.shuffle(40, reshuffle_each_iteration=False).map(f).batch(4)
    ),
    "RepeatDataset has no native form before": lambda d, f: d.map(f).repeat(2).batch(4),
    "FilterDataset|FilterParallel": lambda d, f: d.filter(lambda p: p != "").map(f).batch(4),
    "MapDataset follows batch": lambda d, f: d.map(f).batch(4).map(lambda x: x),
    "TakeDataset follows batch": lambda d, f: d.map(f).batch(4).take(1),
    "not batched": lambda d, f: d.map(f),
    "has 0 pictures": lambda d, _: d.map(lambda p: p).batch(4),
    "no map": lambda d, _: d.batch(4),
    "is empty": lambda d, f: d.take(0).map(f).batch(4),
    "not from a list in memory": lambda _, f: (
        tf.data.Dataset.from_generator(
            lambda: [b"x"], output_signature=tf.TensorSpec([], tf.string)
        )
        .map(f)
        .batch(4)
    ),
    "is no file of this machine": lambda _, f: (
        tf.data.Dataset.from_tensor_slices(["gs://bucket/a.jpg"]).map(f).batch(1)
    ),
    "2 pictures|more than one file": lambda d, f: d.map(lambda p: (f(p), f(p))).batch(4),
    "size or the bytes": lambda d, _: d.map(with_size).batch(1),
}


@pytest.mark.parametrize("reason", STAY)
def test_a_stage_that_stays_is_named(files, reason):
    assert re.search(reason, why_not(stages(files, STAY[reason])))


def in_python(image):
    return tf.ensure_shape(tf.py_function(lambda x: x, [image], tf.uint8), [8, 8, 3])


def printed(image):
    tf.print("looked at", output_stream="file:///dev/null")
    return image


def checked(image):
    tf.debugging.assert_less(tf.reduce_max(image), tf.constant(255, tf.uint8))
    return image


OPS_THAT_STAY = {
    "RandomUniform": lambda x: tf.image.random_flip_left_right(middle(8, 8)(x)),
    "RandomUniformInt": lambda x: tf.image.random_crop(x, [8, 8, 3]),
    "ResizeBilinear": lambda x: tf.image.resize(x, [8, 8]),
    "Pow": lambda x: scaled(middle(8, 8)(x)) ** 2.2,
    "Max": lambda x: checked(middle(8, 8)(x)),
    "Mean|Prod": lambda x: tf.image.per_image_standardization(middle(8, 8)(x)),
    "EagerPyFunc": lambda x: in_python(middle(8, 8)(x)),
    "PrintV2": lambda x: printed(middle(8, 8)(x)),
    "StridedSlice.*ellipsis": lambda x: middle(8, 8)(x)[..., ::-1],
    "reverses the channels": lambda x: tf.reverse(middle(8, 8)(x), [-1]),
    "some of the channels": lambda x: middle(8, 8)(x)[:, :, 0:1],
    "stride of 2": lambda x: middle(8, 8)(x)[::2],
    "Transpose": lambda x: tf.transpose(middle(8, 8)(x), [2, 0, 1]),
    "not of one picture": lambda x: x[:8, :8] + x[1:9, 1:9],
    "end as float64": lambda x: tf.cast(middle(8, 8)(x), tf.float64),
    "end as uint8": lambda x: 255 - middle(8, 8)(x),
    "not finite": lambda x: scaled(middle(8, 8)(x)) / 0.0,
    "zeros are put around": lambda x: tf.image.resize_with_crop_or_pad(scaled(x) - 0.5, 60, 60),
    "operand of shape": lambda x: scaled(middle(8, 8)(x)) * np.ones((8, 8, 1), np.float32),
    "height and width together": lambda x: x[: tf.minimum(tf.shape(x)[0], tf.shape(x)[1]), :8],
    "height is not cropped": lambda x: x,
    "a smaller crop of a smaller picture|width is not cropped": lambda x: tf.image.flip_left_right(
        x[0:40, 0:40]
    )[2:12, 3:23],
    "the width is not cropped": lambda x: x[:8, : tf.shape(x)[1] // 2],
    "by different rules": lambda x: middle_of_rows(x),
    "height is not cropped to": lambda x: tf.image.central_crop(x, 0.5),
}


def middle_of_rows(image):
    top = (tf.shape(image)[0] - 8) // 2
    return image[top : top + 8, 0:8]


@pytest.mark.parametrize("reason", OPS_THAT_STAY)
def test_an_operation_that_stays_is_named(files, reason):
    assert re.search(reason, why_not(made_of(files, OPS_THAT_STAY[reason], 1)))


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"channels": 3}, "dct_method=''"),
        ({"channels": 3, "dct_method": "INTEGER_FAST"}, "dct_method='INTEGER_FAST'"),
        ({"channels": 1, "dct_method": "INTEGER_ACCURATE"}, "channels=1"),
        ({"channels": 3, "ratio": 2, "dct_method": "INTEGER_ACCURATE"}, "ratio=2"),
        (
            {"channels": 3, "fancy_upscaling": False, "dct_method": "INTEGER_ACCURATE"},
            "fancy_upscaling=False",
        ),
        (
            {"channels": 3, "try_recover_truncated": True, "dct_method": "INTEGER_ACCURATE"},
            "try_recover_truncated=True",
        ),
    ],
)
def test_other_ways_to_decode_stay(files, options, reason):
    def load(path):
        return middle(8, 8)(tf.io.decode_jpeg(tf.io.read_file(path), **options))

    assert reason in why_not(tf.data.Dataset.from_tensor_slices(files).map(load).batch(2))


CROPS = {
    "box": lambda x: tf.image.crop_to_bounding_box(x, 0, 0, 24, 24),
    "middle": middle(24, 24),
}


@pytest.mark.parametrize("crop", CROPS)
@pytest.mark.parametrize("kind", ["small", "cut", "absent"])
def test_a_file_that_cannot_be_made_is_an_error_that_names_it(files, tmp_path, crop, kind):
    bad = f"{tmp_path}/{kind}.jpg"
    if kind == "small":
        picture(1, 20, 100).save(bad)
    elif kind == "cut":
        Path(bad).write_bytes(Path(files[0]).read_bytes()[:500])
    data = made_of([*files[:4], bad], CROPS[crop], 2)
    lifted = lift(data)
    assert lifted.report
    for each in (data, lifted.dataset):
        assert len(list(each.take(2))) == 2
    with pytest.raises(tf.errors.OpError, match=f"{kind}.jpg"):
        list(lifted.dataset)
    # Among the first, it is a reason to leave everything as it is.
    assert "one of the first" in why_not(made_of([bad, *files[:4]], CROPS[crop], 1))


def test_what_differs_is_not_lifted(files, monkeypatch):
    from drapps.tensorflow import lifting

    monkeypatch.setattr(lifting, "_flips", lambda *_: [])
    data = made_of(files, lambda x: tf.image.flip_left_right(middle(8, 8)(x)))
    assert "sample 0 comes out differently" in why_not(data)


def test_a_budget_reaches_the_loader(files):
    lifted = lift(made_of(files, middle(8, 8)), cpu_budget=1.0)
    assert lifted.loader.explain()["plan"]["budget"]["cpus"] == 1.0
