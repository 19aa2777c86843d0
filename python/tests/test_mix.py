"""Batches that are mixed: against torchvision on the same draws, and where they must not differ."""

import io
import math
import statistics

import numpy as np
import pytest
from PIL import Image

import drapps
from python.tests.test_stream_format import Draws

EXTENT = HEIGHT, WIDTH = 13, 17
COUNT = 29


def png(seed):
    pixels = np.random.default_rng(seed).integers(0, 256, (*EXTENT, 3), dtype=np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "PNG")
    return buffer.getvalue()


LABELS = [7 * k % COUNT for k in range(COUNT)]


def pictures(bad=()):
    records = [b"no picture" if k in bad else png(k) for k in range(COUNT)]
    return drapps.image_bytes(records, labels=LABELS).center_crop(EXTENT).flip()


def uniform(word):
    return (word + 0.5) / 2**32


def log_gamma(shape, draws):
    """The logarithm of a gamma deviate, as docs/reference/stream.md says."""
    d = (shape + 1 if shape < 1 else shape) - 1 / 3
    c = 1 / math.sqrt(9 * d)
    while True:
        x = statistics.NormalDist().inv_cdf(uniform(draws.word()))
        log_u = math.log(uniform(draws.word()))
        t = 1 + c * x
        if t > 0 and log_u < x * x / 2 + d * (1 - t**3 + math.log(t**3)):
            g = math.log(d * t**3)
            return g + math.log(uniform(draws.word())) / shape if shape < 1 else g


def drawn_lambda(alpha, draws):
    g = log_gamma(alpha, draws)
    h = log_gamma(alpha, draws)
    return 1 / (1 + math.exp(min(h - g, 700)))


def by_torchvision(transform, images, labels, **params):
    """The batch that v2's own code makes with these draws."""
    import torch

    transform.make_params = lambda _: params
    return transform(images, torch.tensor(labels))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("alpha", [0.02, 0.2, 1.0, 5.0])
def test_mixup_equals_torchvision(v2, alpha, dtype):
    pytest.importorskip("torch")
    plain = pictures().to(dtype).shuffle(3).seed(5).batch(8)
    mixed = pictures().to(dtype).mixup(alpha, COUNT).shuffle(3).seed(5).batch(8)
    for step, (before, after) in enumerate(zip(plain.torch(), mixed.torch(), strict=True)):
        own = before["label"].tolist()
        key = (3 + 5 * 0xD1342543DE82EF95) % 2**64
        draws = Draws(key, 0, 8 * step, 3)
        assert draws.coin(1.0)
        # The share of a row's own label is λ itself.
        lam = float(after["label"][0, own[0]])
        assert lam == pytest.approx(drawn_lambda(alpha, draws), abs=1e-6)
        images, labels = by_torchvision(v2.MixUp(num_classes=COUNT), before["image"], own, lam=lam)
        assert after["image"].dtype == images.dtype
        assert after["image"].equal(images)
        assert after["label"].dtype == labels.dtype
        assert after["label"].equal(labels)


@pytest.mark.parametrize("dtype", ["float32", "uint8", "bfloat16", "float16"])
@pytest.mark.parametrize("layout", ["nchw", "nhwc"])
def test_cutmix_equals_torchvision(v2, dtype, layout):
    pytest.importorskip("torch")
    plain = pictures().to(dtype, layout).shuffle(3).batch(4)
    mixed = pictures().to(dtype, layout).cutmix(0.7, COUNT).shuffle(3).batch(4)
    boxes = set()
    for step, (before, after) in enumerate(zip(plain.torch(), mixed.torch(), strict=True)):
        draws = Draws(3, 0, 4 * step, 3)
        assert draws.coin(1.0)
        half = 0.5 * math.sqrt(1 - drawn_lambda(0.7, draws))
        x, y = draws.below(WIDTH), draws.below(HEIGHT)
        w, h = int(half * WIDTH), int(half * HEIGHT)
        box = (max(x - w, 0), max(y - h, 0), min(x + w, WIDTH), min(y + h, HEIGHT))
        boxes.add(box)
        left = 1.0 - (box[2] - box[0]) * (box[3] - box[1]) / (WIDTH * HEIGHT)
        images = before["image"] if layout == "nchw" else before["image"].permute(0, 3, 1, 2)
        images, labels = by_torchvision(
            v2.CutMix(num_classes=COUNT),
            images,
            before["label"].tolist(),
            box=box,
            lam_adjusted=left,
        )
        pixels = after["image"] if layout == "nchw" else after["image"].permute(0, 3, 1, 2)
        assert pixels.equal(images)
        assert after["label"].equal(labels)
    assert len(boxes) > 4


def contents(loader):
    return [{name: array.copy() for name, array in batch.items()} for batch in loader.numpy()]


def assert_same(actual, expected):
    assert len(actual) == len(expected)
    for mine, theirs in zip(actual, expected, strict=True):
        for name in theirs:
            assert np.array_equal(mine[name], theirs[name]), name


def test_one_of_both_takes_either_in_its_share():
    pipeline = pictures().cutmix_or_mixup(COUNT, 1.0, 0.4, cutmix_share=0.3, p=0.8).shuffle(1)
    loader = pipeline.batch(3)
    kinds = {"none": 0, "cut": 0, "mix": 0}
    for epoch in range(12):
        loader.set_epoch(epoch)
        for step, batch in enumerate(loader.numpy()):
            draws = Draws(1, epoch, 3 * step, 3)
            if not draws.coin(0.8):
                kinds["none"] += 1
                assert set(batch["label"].flat) == {0.0, 1.0}
            elif draws.coin(0.3):
                kinds["cut"] += 1
            else:
                kinds["mix"] += 1
                own = LABELS[batch["index"][0]]
                assert batch["label"][0, own] == pytest.approx(drawn_lambda(0.4, draws), abs=1e-6)
    assert min(kinds.values()) > 5, kinds


def test_the_stream_is_the_same_for_any_workers_and_on_resuming():
    pipeline = pictures().cutmix_or_mixup(COUNT).shuffle(2)
    expected = contents(pipeline.batch(4, cpu_budget=1))
    assert_same(contents(pipeline.batch(4, cpu_budget=2, policy="random")), expected)
    for steps in range(len(expected)):
        first = pipeline.batch(4)
        iterator = iter(first)
        for _ in range(steps):
            next(iterator)
        second = pipeline.batch(4)
        second.load_state_dict(first.state_dict())
        assert_same(contents(second), expected[steps:])


def test_ranks_mix_apart():
    whole = pictures().mixup(1.0, COUNT)
    shares = [
        {round(float(max(row)), 5) for batch in rank.numpy() for row in batch["label"]}
        for rank in (whole.shard(0, 2).batch(4), whole.shard(1, 2).batch(4))
    ]
    assert not shares[0] & shares[1]


def test_a_state_of_other_mixing_is_refused():
    state = pictures().mixup(0.2, COUNT).batch(4).state_dict()
    with pytest.raises(drapps.PipelineError, match="pipeline"):
        pictures().mixup(0.4, COUNT).batch(4).load_state_dict(state)
    with pytest.raises(drapps.PipelineError, match="pipeline"):
        pictures().batch(4).load_state_dict(state)


@pytest.mark.parametrize("bad", [(3, 4, 9), tuple(range(8)), tuple(range(COUNT))])
def test_a_skipped_row_is_not_mixed_in(v2, bad):
    pytest.importorskip("torch")
    plain = pictures(bad).on_error("skip").batch(8)
    mixed = pictures(bad).on_error("skip").mixup(1.0, COUNT).batch(8)
    rows = 0
    for before, after in zip(plain.torch(), mixed.torch(), strict=True):
        assert after["index"].equal(before["index"])
        own = before["label"].tolist()
        rows += len(own)
        if own:
            lam = float(after["label"][0, own[0]])
            images, labels = by_torchvision(
                v2.MixUp(num_classes=COUNT), before["image"], own, lam=lam
            )
            assert after["image"].equal(images)
            assert after["label"].equal(labels)
        else:
            assert after["image"].shape[0] == 0
            assert after["label"].shape == (0, COUNT)
    assert rows == COUNT - len(bad)


def test_a_bad_sample_raises_and_the_next_batch_is_as_ever():
    good = contents(pictures().mixup(1.0, COUNT).batch(8))
    iterator = iter(pictures((3,)).mixup(1.0, COUNT).batch(8))
    with pytest.raises(drapps.SampleError):
        next(iterator)
    assert_same([batch.numpy() for batch in iterator], good[1:])


def test_replaced_and_padded_rows_are_mixed_like_any_other(v2):
    pytest.importorskip("torch")
    make = lambda pipeline: (  # noqa: E731
        pipeline.on_error("replace").shuffle(1).shard(1, 2, "pad").batch(4)
    )
    flags = set()
    for before, after in zip(
        make(pictures((2, 5, 11))).torch(),
        make(pictures((2, 5, 11)).mixup(1.0, COUNT)).torch(),
        strict=True,
    ):
        flags |= set(after["flags"].tolist())
        own = before["label"].tolist()
        lam = float(after["label"][0, own[0]])
        if own[0] == own[-1]:
            continue
        images, labels = by_torchvision(v2.MixUp(num_classes=COUNT), before["image"], own, lam=lam)
        assert after["image"].equal(images)
        assert after["label"].equal(labels)
    assert flags == {0, 1, 2}


def test_batches_of_one_row_mix_with_themselves():
    plain = contents(pictures().batch(1))
    for before, after in zip(plain, contents(pictures().mixup(1.0, COUNT).batch(1)), strict=True):
        assert np.allclose(after["image"], before["image"], atol=1e-6)
        assert after["label"][0].argmax() == before["label"][0]
    for before, after in zip(plain, contents(pictures().cutmix(1.0, COUNT).batch(1)), strict=True):
        assert np.array_equal(after["image"], before["image"])


@pytest.mark.parametrize("alpha", [1e-6, 1e6])
def test_extreme_alphas(alpha):
    loader = pictures().mixup(alpha, COUNT).batch(5)
    for batch in loader.numpy():
        assert np.isfinite(batch["image"]).all()
        assert np.allclose(batch["label"].sum(axis=1), 1)
        if alpha < 1:
            assert set(batch["label"].flat) == {0.0, 1.0}
        else:
            assert np.allclose(np.sort(batch["label"])[:, -2:], 0.5, atol=0.01)


def test_one_class_and_default_classes(photos):
    single = drapps.image_bytes([png(0)] * 5, labels=[0] * 5).center_crop(EXTENT)
    for batch in single.cutmix(1.0, 1).batch(2).numpy():
        assert batch["label"].shape[1] == 1
        assert np.allclose(batch["label"], 1)
    folder = drapps.image_folder(photos).center_crop(8).mixup(0.5).batch(4)
    assert next(folder.numpy())["label"].shape == (4, 3)
    with pytest.raises(drapps.PipelineError, match="num_classes"):
        single.mixup()


@pytest.mark.parametrize("label", [-1, COUNT, 2**62])
def test_a_label_that_is_no_class_is_refused_before_the_first_batch(label):
    records = drapps.image_bytes([png(0)] * 3, labels=[0, label, 1]).center_crop(EXTENT)
    with pytest.raises(drapps.PipelineError, match=f"sample 1 has the label {label}"):
        records.mixup(1.0, COUNT).batch(2)


def test_what_cannot_be_mixed_is_refused():
    records = [png(0)] * 2
    with pytest.raises(drapps.PipelineError, match="no labels"):
        drapps.image_bytes(records).center_crop(EXTENT).mixup(1.0, 2).batch(2)
    masked = drapps.image_bytes(records, labels=[0, 1], masks=records).center_crop(EXTENT)
    with pytest.raises(drapps.PipelineError, match="masks or boxes"):
        masked.mixup(1.0, 2).batch(2)
