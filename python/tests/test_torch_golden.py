"""Lifted chains against the stock loader: where nothing is random, no value may differ."""

import numpy as np
import pytest
from PIL import Image

torch = pytest.importorskip("torch")

from torch.utils import data  # noqa: E402

import drapps.torch  # noqa: E402
from drapps import _core  # noqa: E402
from drapps.torch.lifting import chain_of  # noqa: E402
from python.tests.cells import some_full  # noqa: E402
from python.tests.test_stream_format import Draws  # noqa: E402

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)

# Elsewhere torchvision makes floats of the bytes to resize them bilinearly.
needs_avx2 = pytest.mark.skipif(
    torch.backends.cpu.get_cpu_capability() not in ("AVX2", "AVX512"), reason="torch has no AVX2"
)


CHAINS = {
    "imagenet": lambda t: [t.Resize(48), t.CenterCrop(40), t.ToTensor(), t.Normalize(MEAN, STD)],
    "bicubic": lambda t: [
        t.Resize((33, 47), interpolation=t.InterpolationMode.BICUBIC),
        t.ToTensor(),
    ],
    "upscale": lambda t: [t.Resize((210, 190)), t.ToTensor()],
    "bytes": lambda t: [t.Resize(50, max_size=60), t.CenterCrop((44, 36)), t.PILToTensor()],
    "gray": lambda t: [t.CenterCrop(64), t.Grayscale(), t.ToTensor(), t.Normalize([0.4], [0.3])],
    "gray thrice": lambda t: [t.CenterCrop(64), t.Grayscale(3), t.PILToTensor()],
    "flips": lambda t: [
        t.CenterCrop(50),
        t.RandomHorizontalFlip(1.0),
        t.ToTensor(),
        t.RandomVerticalFlip(1.0),
    ],
    "padded": lambda t: [
        t.Pad((3, 1, 2, 5), fill=(9, 8, 7)),
        t.CenterCrop(240),
        t.Pad(4, padding_mode="reflect"),
        t.PILToTensor(),
    ],
    "padded crop": lambda t: [
        t.Resize((20, 26)),
        t.RandomCrop((26, 40), padding=(7, 3), fill=5),
        t.PILToTensor(),
    ],
    "gray always": lambda t: [t.CenterCrop(30), t.RandomGrayscale(1.0), t.ToTensor()],
    "jitter": lambda t: [
        t.Resize((40, 40)),
        t.ColorJitter(brightness=(1.3, 1.3)),
        t.ColorJitter(contrast=(0.7, 0.7)),
        t.ColorJitter(saturation=(1.6, 1.6)),
        t.ColorJitter(hue=(0.2, 0.2)),
        t.PILToTensor(),
    ],
    "whole crop": lambda t: [
        t.Resize((64, 64)),
        t.RandomResizedCrop(40, scale=(1, 1), ratio=(1, 1)),
        t.ToTensor(),
    ],
    "always or never": lambda t: [
        t.Resize((40, 50)),
        t.RandomApply([t.ColorJitter(brightness=(1.3, 1.3)), t.RandomHorizontalFlip(1.0)], p=1.0),
        t.RandomApply([t.Grayscale(3), t.RandomVerticalFlip(1.0)], p=0.0),
        t.ToTensor(),
        t.RandomApply([t.CenterCrop((40, 50)), t.RandomVerticalFlip(1.0)], p=1.0),
    ],
    "converted": lambda t: [t.CenterCrop(32), t.PILToTensor(), t.ConvertImageDtype(torch.float32)],
}


def assert_equal(photos, torchvision, chain):
    folder = torchvision.datasets.ImageFolder(photos, chain)
    lifted = drapps.torch.DataLoader(folder, 5)
    report = lifted.lifted()
    assert report, str(report)
    stock = data.DataLoader(folder, 5)
    for (images, labels), (expected, expected_labels) in zip(lifted, stock, strict=True):
        assert images.dtype == expected.dtype
        assert images.shape == expected.shape
        assert int((images != expected).sum()) == 0
        assert torch.equal(labels, expected_labels)


@pytest.mark.parametrize(
    "name",
    # The others are seen under the second one.
    some_full(CHAINS, "imagenet", "bytes", "gray", "padded", "padded crop", "jitter", "converted"),
)
def test_the_first_api(photos, torchvision, v1, name):
    assert_equal(photos, torchvision, v1.Compose(CHAINS[name](v1)))


@pytest.mark.filterwarnings("ignore:The transform `ToTensor:UserWarning")
@pytest.mark.parametrize(
    "name",
    some_full(
        [name for name in CHAINS if name != "converted"],
        *("bicubic", "upscale", "gray thrice", "flips", "gray always", "whole crop"),
        *("always or never", "jitter"),
    ),
)
def test_the_second_api_on_pictures(photos, torchvision, v2, name):
    assert_equal(photos, torchvision, v2.Compose(CHAINS[name](v2)))


@pytest.mark.parametrize("mean", [(), MEAN])
def test_the_second_api_multiplies_where_the_first_divides(photos, torchvision, v2, mean):
    tail = [v2.ToImage(), v2.ToDtype(torch.float32, scale=True)]
    if mean:
        tail.append(v2.Normalize(MEAN, STD))
    assert_equal(photos, torchvision, v2.Compose([v2.Resize(40), v2.CenterCrop(32), *tail]))


TENSOR_CHAINS = {
    "recommended": lambda t: [
        t.ToImage(),
        t.Resize(48, antialias=True),
        t.CenterCrop(40),
        t.ToDtype(torch.float32, scale=True),
        t.Normalize(MEAN, STD),
    ],
    "bicubic": lambda t: [
        t.PILToTensor(),
        t.Resize((33, 47), interpolation=t.InterpolationMode.BICUBIC),
    ],
    "sharp": lambda t: [t.ToImage(), t.Resize((33, 47), antialias=False), t.ToPureTensor()],
    "sharp bicubic": lambda t: [
        t.ToImage(),
        t.Resize((210, 40), interpolation=t.InterpolationMode.BICUBIC, antialias=False),
    ],
    "upscale": lambda t: [t.ToImage(), t.ToDtype(torch.uint8, scale=True), t.Resize((210, 190))],
    "gray": lambda t: [t.Grayscale(), t.ToImage(), t.Resize((50, 51))],
    "padded": lambda t: [
        t.ToImage(),
        t.Pad((3, 1, 2, 5), fill=(9, 8, 7)),
        t.CenterCrop(240),
        t.Pad(4, padding_mode="reflect"),
        t.Pad(5, padding_mode="symmetric"),
        t.Pad(6, padding_mode="edge"),
        t.Resize((60, 70)),
    ],
    "padded crop": lambda t: [
        t.PILToTensor(),
        t.Resize((20, 26)),
        t.RandomCrop((26, 40), padding=(7, 3), fill=5),
        t.ToDtype(torch.float32, scale=True),
    ],
    "mirrored crop": lambda t: [
        t.ToImage(),
        t.Resize((20, 26)),
        t.RandomCrop((26, 40), padding=(7, 3), padding_mode="reflect"),
    ],
    "flips": lambda t: [
        t.ToImage(),
        t.RandomHorizontalFlip(1.0),
        t.Resize((41, 43)),
        t.RandomVerticalFlip(1.0),
    ],
    "whole crop": lambda t: [
        t.ToImage(),
        t.Resize((64, 64)),
        t.RandomResizedCrop(40, scale=(1, 1), ratio=(1, 1)),
        t.ToDtype(torch.float32, scale=True),
    ],
    "both arithmetics": lambda t: [t.Resize(70), t.CenterCrop(66), t.ToImage(), t.Resize(50)],
    "crops of floats": lambda t: [
        t.ToImage(),
        t.ToDtype(torch.float32, scale=True),
        t.CenterCrop(240),
        t.Normalize(MEAN, STD),
        t.RandomCrop(240),
    ],
}


@needs_avx2
@pytest.mark.parametrize("name", TENSOR_CHAINS)
def test_the_second_api_on_tensors(photos, torchvision, v2, name):
    assert_equal(photos, torchvision, v2.Compose(TENSOR_CHAINS[name](v2)))


@needs_avx2
@pytest.mark.parametrize(
    ("antialias", "interpolation"),
    some_full(
        [(True, "bilinear"), (True, "bicubic"), (False, "bilinear"), (False, "bicubic")],
        *((True, "bilinear"), (False, "bicubic")),
    ),
)
def test_random_crops_of_tensors_are_torchvisions(v2, interpolation, antialias):
    """The rectangles that the native op drew, resized by the user's own function."""
    mode = v2.InterpolationMode(interpolation)
    crop = v2.RandomResizedCrop((56, 48), interpolation=mode, antialias=antialias)
    chain = chain_of(v2.Compose([v2.ToImage(), crop]))
    draw = np.random.default_rng(7)
    for position in range(200):
        height, width = (int(side) for side in draw.integers(8, 400, 2))
        pixels = draw.integers(0, 256, (height, width, 3), dtype=np.uint8)
        output = _core.augment.run(chain.ops[0], pixels, seed=3, epoch=1, position=position)
        expected = v2.functional.resized_crop(
            v2.functional.to_image(Image.fromarray(pixels)),
            *output["region"],
            size=[56, 48],
            interpolation=mode,
            antialias=antialias,
        )
        np.testing.assert_array_equal(output["pixels"].transpose(2, 0, 1), expected)


def test_the_first_api_moves_tensors_too(photos, torchvision, v1):
    chain = [v1.PILToTensor(), v1.CenterCrop(70), v1.Pad(3, fill=9), v1.RandomCrop(76)]
    assert_equal(photos, torchvision, v1.Compose(chain))


@pytest.mark.parametrize("api", ["v1", "v2"])
def test_some_of_the_samples(request, photos, torchvision, api):
    """The coins that were drawn say what the transforms of RandomApply do to a sample."""
    t = request.getfixturevalue(api)
    inner = t.RandomApply([t.ColorJitter(contrast=(0.6, 0.6))], p=0.25)
    outer = t.RandomApply([t.Resize((40, 40)), t.RandomHorizontalFlip(1.0), inner], p=0.6)
    ends = [t.CenterCrop(50), t.PILToTensor()]
    folder = torchvision.datasets.ImageFolder(photos, t.Compose([outer, *ends]))
    lifted = drapps.torch.DataLoader(folder, 4, seed=8)
    assert lifted.lifted(), str(lifted.lifted())
    seen = set()
    for position, image in enumerate(image for images, _ in lifted for image in images):
        coins = Draws(8, 0, position, 1).coin(0.6), Draws(8, 0, position, 4).coin(0.25)
        picture = folder.loader(folder.samples[position][0])
        steps = list(outer.transforms[:2]) if coins[0] else []
        steps += list(inner.transforms) if all(coins) else []
        for step in [*steps, *ends]:
            picture = step(picture)
        assert torch.equal(image, picture)
        seen.add(coins)
    assert len(seen) == 4


class Drawn:
    """Stands for the module ``random`` in timm, with the words of one op."""

    def __init__(self, *coordinate):
        self.draws = Draws(*coordinate)

    def random(self):
        return self.draws.word() / 2**32

    def uniform(self, low, high):
        return low + (high - low) * self.random()

    def choice(self, both):
        return both[0] if self.draws.coin(0.5) else both[1]


@pytest.mark.parametrize("longest", [0.0, 0.35, 1.0])
@pytest.mark.parametrize("interpolation", ["bilinear", "bicubic", "random"])
@pytest.mark.parametrize(
    ("p", "area"), [((0.0, 0.0), False), ((0.4, 0.7), False), ((1.0, 0.3), True)]
)
def test_timm_resize_keep_ratio(v1, monkeypatch, longest, interpolation, p, area):
    timm = pytest.importorskip("timm.data.transforms")
    keep = timm.ResizeKeepRatio(
        (44, 57),
        longest,
        interpolation,
        random_scale_prob=p[0],
        random_scale_area=area,
        random_aspect_prob=p[1],
    )
    (op,) = chain_of(v1.Compose([keep, v1.ToTensor()])).ops
    draw = np.random.default_rng(5)
    for position in range(25):
        height, width = (int(side) for side in draw.integers(20, 150, 2))
        pixels = draw.integers(0, 256, (height, width, 3), dtype=np.uint8)
        output = _core.augment.run(op, pixels, seed=2, epoch=1, position=position)["pixels"]
        words = Drawn(2, 1, position, 1)
        for name, coin in (("scale", p[0]), ("aspect", p[1])):
            if coin == 0:  # timm draws nothing then, the op does
                assert not words.draws.coin(getattr(keep, f"random_{name}_prob"))
        monkeypatch.setattr(timm, "random", words)
        np.testing.assert_array_equal(output, np.asarray(keep(Image.fromarray(pixels))))


def test_timm_keeps_the_ratio_of_files(photos, torchvision, v1):
    timm = pytest.importorskip("timm.data.transforms")
    for longest in (0.0, 0.5, 1.0):
        keep = timm.ResizeKeepRatio((40, 55), longest)
        assert_equal(photos, torchvision, v1.Compose([keep, v1.CenterCrop(60), v1.ToTensor()]))


def test_timm_evaluation(photos, torchvision):
    create = pytest.importorskip("timm.data").create_transform
    for mode in ("center", "squash", "border"):
        assert_equal(photos, torchvision, create(48, crop_mode=mode, interpolation="bicubic"))
        assert_equal(photos, torchvision, create((3, 48, 67), crop_mode=mode, crop_pct=1.0))


@pytest.mark.parametrize(
    ("size", "padding_mode"),
    some_full(
        [
            (size, mode)
            for size in (70, (251, 30), (30, 250), (253, 252))
            for mode in ("constant", "edge", "reflect", "symmetric")
        ],
        *((70, "symmetric"), ((251, 30), "edge"), ((30, 250), "reflect"), ((253, 252), "constant")),
    ),
)
def test_timm_center_crop_or_pad(photos, torchvision, v1, padding_mode, size):
    timm = pytest.importorskip("timm.data.transforms")
    crop = timm.CenterCropOrPad(size, fill=(4, 90, 200), padding_mode=padding_mode)
    assert_equal(photos, torchvision, v1.Compose([crop, v1.PILToTensor()]))


def test_a_subset_in_the_users_order(photos, torchvision, v1):
    chain = v1.Compose([v1.CenterCrop(32), v1.ToTensor()])
    folder = torchvision.datasets.ImageFolder(photos, chain)
    part = data.Subset(folder, [20, 0, 7, 7])
    sampler = [3, 1, 1, 0]
    ((mine, labels),) = drapps.torch.DataLoader(part, 4, sampler=sampler)
    ((stock, expected),) = data.DataLoader(part, 4, sampler=sampler)
    assert torch.equal(mine, stock)
    assert torch.equal(labels, expected)


@pytest.fixture(scope="module")
def odd_files(tmp_path_factory):
    """One class of files in every mode and dialect that a folder may hold."""
    folder = tmp_path_factory.mktemp("odd") / "only"
    folder.mkdir()
    draw = np.random.default_rng(1).integers(0, 256, (6, 8, 3), dtype=np.uint8)
    base = Image.fromarray(draw).resize((83, 61), Image.Resampling.BICUBIC)
    for mode in ("CMYK", "L"):
        base.convert(mode).save(folder / f"{mode}.jpg", quality=90)
    base.save(folder / "progressive.JPEG", quality=90, progressive=True)
    exif = Image.Exif()
    exif[0x0112] = 6
    base.save(folder / "turned.jpg", quality=90, exif=exif)
    for mode in ("1", "L", "LA", "P", "RGBA"):
        base.convert(mode).save(folder / f"{mode}.png")
    base.convert("P").save(folder / "transparent.png", transparency=3)
    deep = np.asarray(base.convert("L")).astype(np.uint16) * 9
    Image.fromarray(deep).save(folder / "deep.png")
    base.save(folder / "lossy.webp", quality=80)
    base.convert("RGBA").save(folder / "exact.webp", lossless=True)
    Image.fromarray(np.full((1, 1, 3), 200, np.uint8)).save(folder / "single.png")
    base.crop((0, 0, 1, 61)).save(folder / "narrow.jpg")
    return folder.parent


@pytest.mark.parametrize("crop", [False, True])
def test_every_kind_of_file_gives_the_pixels_of_pillow(odd_files, torchvision, v1, crop):
    shape = v1.CenterCrop(40) if crop else v1.Resize((37, 41))
    assert_equal(odd_files, torchvision, v1.Compose([shape, v1.PILToTensor()]))
